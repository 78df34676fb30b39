"""The firewall: no other spelling, place or form of an argument passes it."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.calls import Call
from callblocks.gateway.firewall import PolicyFirewall, Rewrite
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule

SECRETS = Policy((Rule(decide="deny", path=("**/.env",), because="secret"),))
PATCH = "*** Begin Patch\n*** Update File: a/.env\n@@\n-a\n+b\n*** End Patch"


def passes(policy: Policy, **given: Any) -> bool:
    return PolicyFirewall(policy).judge(Call(id="", name="t", input=given), None).call is not None


@pytest.mark.parametrize(
    "given",
    [
        {"path": ".env"},
        {"path": "/home/a/.env"},
        {"path": "a/../.env"},
        {"path": "./a//./.env"},
        {"path": "../../.env"},
        {"path": "a\\.env"},
        {"path": "~/.env"},
        {"path": ".env/"},
        {"path": ".ENV"},
        {"path": ".env. "},
        {"path": ".env\0.txt"},
        {"path": "file:///home/a/.env"},
        {"uri": "file:///home/a/%2eenv"},
        {"uri": "FILE:/home/a/.env"},
        {"uri": "file://[/.env"},
        {"filePath": ".env"},
        {"path1": "a", "path2": ".env"},
        {"source": ".env", "destination": "a"},
        {"paths": ["a", [".env"]]},
        {"edits": [{"file": {"path": ".env"}}]},
        {"files": [{"name": ".env"}]},
        {"files": {".env": "KEY=1"}},
        {"input": PATCH},
    ],
)
def test_no_spelling_of_a_denied_path_passes(given: dict[str, Any]) -> None:
    assert not passes(SECRETS, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"path": "a.py"},
        {"path": "..env"},
        {"content": ".env"},
        {"command": "cat .env"},
        {"files": [{"name": "a.py", "content": "x"}]},
        {"files": 7},
    ],
)
def test_another_path_passes(given: dict[str, Any]) -> None:
    assert passes(SECRETS, **given)


def test_a_path_that_an_earlier_rule_allows_is_not_denied_by_another_spelling() -> None:
    rules = (Rule(decide="allow", path=("Docs/**",)), Rule(decide="deny", path=("docs/**",)))
    assert passes(Policy(rules), path="Docs/a")
    assert not passes(Policy(rules), path="DOCS/a")


@pytest.mark.parametrize(
    "given", [{"url": "HTTP://evil.example/"}, {"text": "HTTPS://evil.example"}]
)
def test_no_spelling_of_a_denied_host_passes(given: dict[str, Any]) -> None:
    assert not passes(Policy((Rule(decide="deny", host=("evil.example",)),)), **given)


def test_texts_within_an_argument_are_rewritten_and_then_judged() -> None:
    rewrite = Rewrite(tool="t", argument="path", pattern="^public/", replacement="secret/")
    policy = Policy((Rule(decide="deny", path=("secret/b",)),))
    firewall = PolicyFirewall(policy, [rewrite])
    verdict = firewall.judge(Call(id="", name="t", input={"edits": [{"path": "public/a"}]}), None)
    assert verdict.call is not None
    assert verdict.call.input == {"edits": [{"path": "secret/a"}]}
    assert firewall.judge(Call(id="", name="t", input={"path": ["public/b"]}), None).call is None

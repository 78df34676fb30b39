from __future__ import annotations

import pytest

from callblocks.policy.policy import Policy, is_denied, path_refusal
from callblocks.policy.rules import Facts, Rule
from callblocks.tools.tool import Traits

FACTS = Facts(tool="search", traits=Traits(read_only=True, destructive=False), paths=(".",))
ALLOW = Rule(decide="allow", tool=("search",))


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ((ALLOW,), False),
        ((Rule(decide="deny", path=("keys/**",)), ALLOW), True),
        ((Rule(decide="ask", path=("keys/**",)), ALLOW), True),
        ((Rule(decide="deny", path=("notes/**",)), ALLOW), False),
        ((Rule(decide="deny", tool=("file_read",), path=("keys/**",)), ALLOW), True),
        ((Rule(decide="deny", tool=("file_*",), path=("keys/**",)), ALLOW), True),
        # Who wants to be asked before a file is read is not asked in the middle of a search.
        ((Rule(decide="ask", tool=("file_read",), path=("keys/**",)), ALLOW), True),
        ((Rule(decide="ask", tool=("file_read",)), ALLOW), False),
        # No rule about this path: what is said of other tools is not said of this one.
        ((ALLOW, Rule(decide="deny", tool=("*",))), False),
        ((Rule(decide="allow", path=("keys/**",)),), False),
        ((Rule(decide="allow", tool=("search",), path=(".", "notes/**")),), True),
    ],
)
def test_a_file_that_a_call_meets_is_judged_by_its_path(
    rules: tuple[Rule, ...], kept: bool
) -> None:
    refusal = path_refusal(Policy(rules), FACTS, "keys/k")
    assert (refusal is not None) == kept
    if refusal is not None:
        assert refusal.startswith("keys/k was not read: rule ") or "no rule" in refusal


def test_what_a_person_was_asked_about_is_not_asked_again() -> None:
    assert path_refusal(Policy.ask_all(), FACTS, "keys/k") is None
    denied = Policy((Rule(decide="deny", path=("keys/**",)), Rule(decide="ask")))
    assert path_refusal(denied, FACTS, "keys/k")
    assert path_refusal(denied, FACTS, "notes/a") is None


def test_a_search_that_was_asked_about_may_read_what_is_asked_about() -> None:
    rules = (Rule(decide="ask", tool=("file_read",), path=("keys/**",)), Rule(decide="ask"))
    assert path_refusal(Policy(rules), FACTS, "keys/k") is None


@pytest.mark.parametrize(
    ("rules", "denied"),
    [
        ((ALLOW,), False),
        ((Rule(decide="deny", path=("keys/**",)), ALLOW), True),
        ((Rule(decide="deny", tool=("file_read",), path=("keys/**",)), ALLOW), True),
        ((Rule(decide="deny", path=("notes/**",)), ALLOW), False),
        # What can be asked for must have a name.
        ((Rule(decide="ask", path=("keys/**",)), ALLOW), False),
        ((Rule(decide="allow", tool=("search",), path=(".", "notes/**")),), False),
        # A rule without a path says nothing of this one.
        ((ALLOW, Rule(decide="deny", tool=("file_read",))), False),
    ],
)
def test_only_what_a_rule_denies_has_no_name(rules: tuple[Rule, ...], denied: bool) -> None:
    assert is_denied(Policy(rules), FACTS, "keys/k") is denied

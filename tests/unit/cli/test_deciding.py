from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callblocks.cli.exits import Fault
from callblocks.cli.options.tool_setup import DecidingOptions, given_policy


def options(**given: Any) -> DecidingOptions:
    base: DecidingOptions = {
        "ask": False,
        "allow": (),
        "allow_trait": (),
        "policy": None,
        "tainted": False,
    }
    return {**base, **given}  # pyright: ignore[reportReturnType] the rest is the same


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text('[[rule]]\ndecide = "deny"\ntool = "rm"\n')
    return path


def test_nothing_given_is_off() -> None:
    assert not given_policy(options()).enabled


def test_asking_is_a_policy_without_rules() -> None:
    policy = given_policy(options(ask=True))
    assert policy.enabled
    assert policy.rules == ()


def test_what_is_allowed_comes_after_the_file(file: Path) -> None:
    policy = given_policy(options(policy=str(file), allow=("rm", "ls"), allow_trait=("read_only",)))
    assert [(rule.decide, rule.tool or rule.trait) for rule in policy.rules] == [
        ("deny", ("rm",)),
        ("allow", ("rm",)),
        ("allow", ("ls",)),
        ("allow", ("read_only",)),
    ]
    assert policy.name == str(file)


def test_a_file_that_is_off_is_not_switched_on(file: Path) -> None:
    file.write_text("autoexec = false\n")
    assert not given_policy(options(policy=str(file), ask=True, allow=("*",))).enabled


@pytest.mark.parametrize("given", [{"allow": ("",)}, {"allow_trait": ("quick",)}])
def test_what_makes_no_rule_is_said(given: dict[str, Any]) -> None:
    with pytest.raises(Fault, match="--allow"):
        given_policy(options(**given))


def test_a_file_that_cannot_be_read_is_named_once(file: Path) -> None:
    file.write_bytes(b"\xff")
    with pytest.raises(Fault) as raised:
        given_policy(options(policy=str(file)))
    assert raised.value.message.count(str(file)) == 1

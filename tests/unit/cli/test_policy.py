from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.cli.commands.policy import EXAMPLE
from support.command import run
from support.command_home import TOOLS, move_in


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (move_in(tmp_path, monkeypatch) / "tools.py").write_text(TOOLS)


def check(content: str, *args: str) -> tuple[int, str, str]:
    Path("policy.toml").write_text(content)
    result = run("policy", "check", "policy.toml", *args)
    return result.exit_code, result.stdout, result.stderr


def test_the_example_has_nothing_odd_in_it() -> None:
    result = run("policy", "example")
    assert result.stdout == EXAMPLE
    code, shown, _ = check(result.stdout)
    assert code == 0
    assert "   1  deny   path **/.env, **/*.pem  secrets stay where they are" in shown


def test_what_is_odd_is_said_with_exit_code_1() -> None:
    code, shown, _ = check('[[rule]]\ndecide = "allow"\ntool = "file_raed"\n')
    assert code == 1
    assert "warning" in shown
    assert "unknown_tool" in shown


def test_rules_may_name_the_tools_that_were_given() -> None:
    rule = '[[rule]]\ndecide = "allow"\ntool = "note"\n'
    assert check(rule)[0] == 1
    assert check(rule, "-T", "tools.py")[0] == 0


def test_a_policy_that_is_off_is_said_and_is_no_fault() -> None:
    code, shown, _ = check("autoexec = false\n")
    assert code == 0
    assert shown.startswith("off: nothing runs")


def test_a_bad_policy_is_one_line() -> None:
    code, shown, said = check("[[rule")
    assert (code, shown) == (2, "")
    assert said.startswith("callblocks: policy.toml: not TOML")
    assert len(said.splitlines()) == 1


def test_a_file_that_is_not_there_is_usage() -> None:
    assert run("policy", "check", "none.toml").exit_code == 2

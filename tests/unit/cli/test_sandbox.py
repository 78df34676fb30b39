from __future__ import annotations

import pytest

from callblocks.cli.commands import policy as sandbox
from callblocks.guard.sandbox.sandbox import Missing
from support.command import run


def test_it_says_where_commands_run_what_holds_and_the_limits() -> None:
    result = run("sandbox")
    assert result.exit_code == 0
    name, *rest = result.stdout.splitlines()
    assert name in ("bubblewrap", "landlock")
    assert [line.split()[-1] for line in rest[: len(sandbox.HELD)]] == [*sandbox.HELD]
    assert {line[:4] for line in rest[: len(sandbox.HELD)]} <= {"  ✓ ", "  ✗ "}
    limits = " ".join(rest[len(sandbox.HELD) :])
    assert "limits: seconds 60, " in limits
    assert "memory 512 MiB" in limits


def test_where_there_is_none_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def find() -> Missing:
        return Missing("bubblewrap is not installed")

    monkeypatch.setattr(sandbox, "find_sandbox", find)
    result = run("sandbox")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "callblocks: bubblewrap is not installed\n"


def test_what_does_not_hold_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        name = "half"
        holds = frozenset({"filesystem"})

    async def find() -> Half:
        return Half()

    monkeypatch.setattr(sandbox, "find_sandbox", find)
    shown = run("sandbox").stdout.splitlines()
    assert shown[:3] == ["half", "  ✓ filesystem", "  ✗ network"]

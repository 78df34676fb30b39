"""The help of each command is pinned: `pytest --accept` writes it anew; read every difference."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from callblocks.cli.main import COMMANDS, cli
from support.command import run

HELP = Path(__file__).parent / "help"


@pytest.mark.parametrize("name", ["callblocks", *COMMANDS])
def test_the_help_is_pinned(name: str, request: pytest.FixtureRequest) -> None:
    result = run(*([] if name == "callblocks" else [name]), "--help")
    path = HELP / f"{name}.txt"
    if request.config.getoption("--accept"):
        path.write_text(result.stdout, "utf-8")
    assert result.exit_code == 0
    assert result.stdout == path.read_text("utf-8")


def test_no_help_is_left_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in HELP.iterdir()} == {"callblocks", *COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    with click.Context(cli) as ctx:
        command = cli.get_command(ctx, name)
    assert command is not None
    assert command.name == name
    assert command.short_help == COMMANDS[name][1]


def test_an_unknown_command_is_usage() -> None:
    result = run("nothing")
    assert result.exit_code == 2
    assert "No such command 'nothing'" in result.stderr


def test_the_version_is_said() -> None:
    assert run("--version").stdout.startswith("callblocks ")

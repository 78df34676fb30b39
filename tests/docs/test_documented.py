"""Nothing that a user can meet is undocumented: names, options, commands, events, codes."""

from __future__ import annotations

import inspect
import re
from typing import get_args

import click
import pytest

import callblocks
from callblocks import Parser, dialects
from callblocks.cli.main import cli
from callblocks.model import errors
from callblocks.model.events import Event
from callblocks.parsing.codes import GENERAL_CODES
from support.pages import PAGES, ROOT

CONTEXT = click.Context(cli, info_name="callblocks")
COMMANDS = {name: cli.get_command(CONTEXT, name) for name in cli.list_commands(CONTEXT)}
OPTIONS = [
    spelling
    for command in COMMANDS.values()
    if command is not None
    for parameter in command.params
    if isinstance(parameter, click.Option)
    for spelling in (*parameter.opts, *parameter.secondary_opts)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section(command: str) -> None:
    assert f"### callblocks {command}\n" in _page("docs/cli.md")


@pytest.mark.parametrize("option", sorted(set(OPTIONS)))
def test_every_option_of_a_command_is_listed(option: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", _page("docs/cli.md"))


@pytest.mark.parametrize("event", [event.__name__ for event in get_args(Event)])
def test_every_event_has_a_row(event: str) -> None:
    assert f"\n| `{event}` |" in _page("docs/model.md")


@pytest.mark.parametrize(
    "code",
    [*GENERAL_CODES, *(code for dialect in dialects.values() for code in dialect.codes)],
)
def test_every_code_has_a_row(code: str) -> None:
    assert f"\n| `{code}` |" in _page("docs/tasks/handle-problems.md")


@pytest.mark.parametrize("dialect", dialects)
def test_every_dialect_has_a_section(dialect: str) -> None:
    assert f"\n## {dialect}\n" in _page("docs/dialects.md")


@pytest.mark.parametrize("error", errors.__all__)
def test_every_error_stands_in_the_tree(error: str) -> None:
    assert re.search(rf"^[│├└─ ]*{error}\b", _page("docs/model.md"), re.MULTILINE)


@pytest.mark.parametrize("name", callblocks.__all__)
def test_every_public_name_is_listed(name: str) -> None:
    assert f"\n| `{name}` |" in _page("docs/index.md")


@pytest.mark.parametrize("option", list(inspect.signature(Parser).parameters))
def test_every_option_of_a_parser_has_a_row(option: str) -> None:
    assert f"\n| `{option}` |" in _page("docs/parsing.md")


@pytest.mark.parametrize(
    "package", sorted(path.parent.name for path in ROOT.glob("src/callblocks/*/__init__.py"))
)
def test_every_package_has_a_page(package: str) -> None:
    assert (ROOT / "docs" / f"{package}.md") in PAGES


def _page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")

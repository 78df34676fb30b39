"""The command line as Markdown: each command with its options, and those below it."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click
from page_text import code, fence, spaced, table

from callblocks.cli.exits import EXIT_CODES
from callblocks.cli.main import cli

__all__ = ("command_tables", "exit_codes")

HELP_OPTION = "--help"


def command_tables() -> str:
    """Each command, what it does, and its options."""
    return "\n\n".join(_below(cli, click.Context(cli, info_name="callblocks")))


def exit_codes() -> str:
    """How the command ends."""
    rows = [line.split(maxsplit=1) for line in EXIT_CODES.splitlines() if line.startswith("  ")]
    return table(["exit code", "means"], rows)


def _below(group: click.Group, parent: click.Context) -> Iterator[str]:
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=parent)
        yield _command(command, context)
        if isinstance(command, click.Group):
            yield from _below(command, context)


def _command(command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    rows = [
        [code(record[0]), spaced(record[1])]
        for option in command.get_params(context)
        if isinstance(option, click.Option)
        and HELP_OPTION not in option.opts
        and (record := option.get_help_record(context))
    ]
    words, _, example = cleandoc(command.help or "").partition("\b\n")
    path = context.command_path
    parts = [f"### {path}", fence(f"{path} {usage}"), words.strip()]
    parts += [fence(example)] if example else []
    parts += [table(["option", "says"], rows)] if rows else []
    return "\n\n".join(parts)

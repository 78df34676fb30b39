"""A group of commands that are imported when they are called, not to list them.

The table gives each command its module and its one line of help. A test holds that line equal
to the command's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from callblocks.cli.exits import reported

__all__ = ("LazyGroup",)


class LazyGroup(click.Group):
    """`commands` maps a name to `(module, short help)`; the module has `command`."""

    def __init__(self, *, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        return import_module(self.table[cmd_name][0]).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.table.items()])

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        # `--help` and `--version` write while the arguments are read.
        with reported():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with reported():
            return super().invoke(ctx)

"""A group of commands that are imported when they are called, not to list them.

The table gives each command its module and its one line of help. A test holds that line equal
to the command's own. Each `--help` page works without any extra; a command that lacks its extra
says so when it would begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any

import click

from callblocks.cli.exits import reported
from callblocks.model.extras import needing

__all__ = ("LazyGroup",)


class LazyGroup(click.Group):
    """`table` maps a name to `(module, short help)`; the module has `command`.

    `extras` maps a command, or a path such as `models test`, to the extra that it needs.
    """

    def __init__(
        self,
        *,
        table: Mapping[str, tuple[str, str]],
        extras: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(**attributes)
        self.table = table
        self.extras = extras or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        with needing("", f"{ctx.command_path} {cmd_name}"):
            command: click.Command = import_module(self.table[cmd_name][0]).command
        return _guarded(command, cmd_name, self.extras)

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
        with reported(), needing("", ctx.command_path):
            return super().invoke(ctx)


def _guarded(
    command: click.Command, path: str, extras: Mapping[str, str], inherited: str = ""
) -> click.Command:
    """Have a command, and each below it, check its extra before it begins."""
    extra = extras.get(path, inherited)
    if isinstance(command, LazyGroup):
        command.extras = {name: extras.get(f"{path} {name}", extra) for name in command.table}
    elif isinstance(command, click.Group):
        for name, below in command.commands.items():
            _guarded(below, f"{path} {name}", extras, extra)
    elif command.callback is not None and not hasattr(command.callback, _MARK):
        command.callback = _checked(command.callback, extra)
    return command


_MARK = "checks_extra"


def _checked(callback: Callable[..., Any], extra: str) -> Callable[..., Any]:
    @wraps(callback)
    def run(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context(silent=True)
        with needing(extra, context.command_path if context else "callblocks"):
            return callback(*args, **kwargs)

    setattr(run, _MARK, True)
    return run

"""Toolkits: groups of tools that are made for one workplace.

The toolkits that come with callblocks stand in a table (`standard`); those of others are entry
points (`callblocks.plugins`). Both are made in the same way: a function takes a `Workplace` and
returns tools. A plug-in may also be the tools themselves, in any shape that `Registry` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from callblocks.core.errors import CallblocksError
from callblocks.plugins import TOOLKITS, load_plugins, warn_left_out
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

if TYPE_CHECKING:
    from callblocks.guard.files.root import Root
    from callblocks.guard.net.client import Client
    from callblocks.toolkits.office.backend import Office

__all__ = ("Toolkit", "Workplace", "add_plugins")


class Workplace(msgspec.Struct, frozen=True):
    """The resources that tools work on.

    `root` is the workspace, `office` the mail, files and events there are, `client` reaches the
    network if it is given, `pages` is a folder for pages of the web that were read, if one is kept.
    """

    root: Root
    office: Office
    client: Client | None = None
    pages: Path | None = None


class Toolkit(msgspec.Struct, frozen=True):
    """Tools that are known by name, and made together when one of them is asked for.

    `extra` is the extra of callblocks that they need.
    """

    tools: tuple[str, ...]
    make: Callable[[Workplace], Iterable[Tool]]
    extra: str = "run"


def add_plugins(registry: Registry, workplace: Workplace) -> None:
    """Add the tools of every plug-in; one that fails or takes a known name is left out whole."""
    for name, plugin in load_plugins(TOOLKITS):
        try:
            tools = _made(plugin, workplace)
        except Exception as error:  # a plug-in's own code may raise anything
            words = str(error) if isinstance(error, CallblocksError) else repr(error)
            warn_left_out(TOOLKITS, name, words)
            continue
        taken = [tool.name for tool in tools if tool.name in registry]
        if taken:
            warn_left_out(TOOLKITS, name, f"a tool named {taken[0]} exists")
            continue
        for tool in tools:
            registry.add(tool)


def _made(plugin: object, workplace: Workplace) -> list[Tool]:
    given = plugin
    if callable(plugin) and not isinstance(plugin, Tool):
        given = cast("Callable[[Workplace], Any]", plugin)(workplace)
    # What is trusted because it comes with callblocks is not claimed by anything else.
    return [
        replace(tool, origin="function") if tool.origin == "builtin" else tool
        for tool in Registry(cast("Any", given)).tools
    ]

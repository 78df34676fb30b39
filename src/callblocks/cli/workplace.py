"""The workspace that tools work in, and every tool there is in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from callblocks.cli.exits import Fault

if TYPE_CHECKING:
    from callblocks.cli.tools_file import Tools
    from callblocks.runtime.files.root import Root
    from callblocks.tools.registry import Registry

__all__ = ("every_tool", "open_workspace", "source_files", "workspace_option")

F = TypeVar("F", bound=Callable[..., Any])


def workspace_option(command: F) -> F:
    """Add `--workspace`."""
    return click.option(
        "--workspace",
        "-w",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        show_default=True,
        help="The folder that files and commands are kept to.",
    )(command)


def open_workspace(folder: str, *own: str | None) -> Root:
    """The workspace; `own` are files that steer callblocks, which no call may write."""
    from callblocks.cli.state import state_folder
    from callblocks.model.errors import CallerError
    from callblocks.runtime.files.root import Root

    try:
        return Root(folder, own=(state_folder(), *(path for path in own if path)))
    except CallerError as error:
        raise Fault(str(error)) from error


def source_files(given: Tools) -> set[str]:
    """The files that tools were loaded from: what stands in them runs outside of every sandbox."""
    codes = [getattr(tool.function, "__code__", None) for tool in getattr(given, "tools", ())]
    return {code.co_filename for code in codes if code is not None}


def every_tool(given: Tools, root: Root) -> Registry:
    """The tools that were given, and those that come with callblocks under other names."""
    from callblocks.toolkits.standard import standard_tools
    from callblocks.tools.registry import Registry

    standard = standard_tools(root)
    if not isinstance(given, Registry):
        return standard
    return given | Registry(tool for tool in standard.tools if tool.name not in given)

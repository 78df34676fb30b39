"""The workspace that tools work in, its office, and every tool there is in it.

-w FOLDER           what files and commands are kept to
--office google     mail, events and the like are at Google, not in the folder `office/` there
--only 'gmail_*'    no other tools are known
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from callblocks.cli.exits import Fault, say
from callblocks.cli.tools_file import TOOL_FILES

if TYPE_CHECKING:
    from callblocks.cli.tools_file import Tools
    from callblocks.runtime.files.root import Root
    from callblocks.toolkits.workspace.backend import Office
    from callblocks.tools.registry import Registry
    from callblocks.tools.tool import Tool

__all__ = (
    "WorkplaceOptions",
    "code_files",
    "every_tool",
    "given_office",
    "office_option",
    "open_workspace",
    "workplace_options",
    "workspace_option",
)

F = TypeVar("F", bound=Callable[..., Any])
_OFFICE = "CALLBLOCKS_OFFICE"


class WorkplaceOptions(TypedDict):
    """What `workplace_options` give to a command."""

    workspace: str
    office: str
    only: tuple[str, ...]


def workplace_options(command: F) -> F:
    """Add `--workspace`, `--office` and `--only`."""
    only = click.option(
        "--only",
        multiple=True,
        metavar="TOOL",
        help="Know this tool and no other; a pattern such as gmail_*; may be given again.",
    )
    return workspace_option(office_option(only(command)))


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


def office_option(command: F) -> F:
    """Add `--office`."""
    return click.option(
        "--office",
        type=click.Choice(("local", "google")),
        default="local",
        envvar=_OFFICE,
        help="Where mail, files, events and tasks are: in the workspace, or at Google."
        f"  [default: local; environment: {_OFFICE}]",
    )(command)


def given_office(choice: str) -> Office | None:
    """The office that was chosen; None is the one of the workspace."""
    if choice == "local":
        return None
    from callblocks.cli.state import GOOGLE, state_folder
    from callblocks.toolkits.workspace.opening import google_office

    return google_office(state_folder() / GOOGLE)


def open_workspace(folder: str, *own: str | None) -> Root:
    """The workspace; `own` are files that steer callblocks, which no call may write."""
    from callblocks.cli.state import state_folder
    from callblocks.model.errors import CallerError
    from callblocks.runtime.files.root import Root

    try:
        return Root(folder, own=[path for path in own if path], hidden=[state_folder()])
    except CallerError as error:
        raise Fault(str(error)) from error


def code_files(folder: str) -> set[str]:
    """The files in a folder that run outside of every sandbox: -T, and all that was imported.

    A call that could write one of them could run anything, the next time.
    """
    context = click.get_current_context(silent=True)
    given: list[str] = [] if context is None else context.meta.get(TOOL_FILES, [])
    below = os.path.join(os.path.realpath(folder), "")
    ours = (sys.prefix, os.path.dirname(os.path.dirname(__file__)))
    # Only a folder that is itself in the workspace stands for the modules in it.
    roots = [root for root in ours if os.path.realpath(root).startswith(below)]
    covered = tuple(os.path.join(root, "") for root in roots)
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    others = [path for path in loaded if path and not path.startswith(covered)]
    return {*given, *roots, *(path for path in others if _real(path).startswith(below))}


def _real(path: str) -> str:
    """The real path of one file of many in few folders."""
    if os.path.islink(path):
        return os.path.realpath(path)
    return os.path.join(_real_folder(os.path.dirname(path)), os.path.basename(path))


_real_folder = cache(os.path.realpath)


def every_tool(
    given: Tools, root: Root, added: Iterable[Tool] = (), office: Office | None = None
) -> Registry:
    """The tools that were given, and those that come with callblocks under other names."""
    from callblocks.toolkits.standard import standard_tools
    from callblocks.tools.registry import Registry

    standard = standard_tools(root, office=office)
    own = Registry(added)
    if not own.names:
        _add_writers(standard, root)
    standard = standard | own
    if not isinstance(given, Registry):
        return standard
    for name in standard.names:
        if name in given:
            say(f"{name} is the one of -T, not the one that comes with callblocks")
    return given | standard.without(given.names)


def _add_writers(registry: Registry, root: Root) -> None:
    """Where no timeline is, documents are written into the workspace."""
    from callblocks.toolkits.rendering.places import FolderPlace
    from callblocks.toolkits.rendering.tools import RENDERING_TOOLS, rendering_tools

    registry.add_later(RENDERING_TOOLS, lambda: rendering_tools(FolderPlace(root)))

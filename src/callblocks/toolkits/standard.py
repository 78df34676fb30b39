"""Every tool that comes with callblocks, and those of plug-ins, for one workspace.

A new toolkit is a module of this package and a row of `_TOOLKITS` here.

They are known by name; the modules of a kit are imported, and its tools made, when one of them is
asked for. A program that runs one call pays for one kit. A kit whose extra is not installed is left
out, and its tools are noted as absent.

The toolkits that come with callblocks stand in that table; those of others are entry
points (`callblocks.plugins`). Both are made in the same way: a function takes a `Workplace` and
returns tools. A plug-in may also be the tools themselves, in any shape that `Registry` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from callblocks.core.errors import CallblocksError
from callblocks.core.extras import fault_of, install_line
from callblocks.guard.files.root import Root
from callblocks.plugins import TOOLKITS, load_plugins, warn_left_out
from callblocks.toolkits.office.open_office import SERVICES, local_office, service_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

if TYPE_CHECKING:
    from callblocks.guard.net.client import Client
    from callblocks.toolkits.office.backend import Office

__all__ = (
    "EXEC_TOOLS",
    "RENDERING_TOOLS",
    "Toolkit",
    "Workplace",
    "add_plugins",
    "standard_tools",
)


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
        for one in tools:
            registry.add(one)


def _made(plugin: object, workplace: Workplace) -> list[Tool]:
    given = plugin
    if callable(plugin) and not isinstance(plugin, Tool):
        given = cast("Callable[[Workplace], Any]", plugin)(workplace)
    # What is trusted because it comes with callblocks is not claimed by anything else.
    return [
        replace(tool, origin="function") if tool.origin == "builtin" else tool
        for tool in Registry(cast("Any", given)).tools
    ]


EXEC_TOOLS = ("exec_tools.execute_code_python", "exec_tools.execute_code_shell")
RENDERING_TOOLS = tuple(
    f"rendering_tools.write_{kind}" for kind in ("pdf", "png", "docx", "pptx", "xlsx")
)


def standard_tools(
    root: Root,
    client: Client | None = None,
    office: Office | None = None,
    pages: Path | None = None,
) -> Registry:
    """Return the registry of all standard tools for the workspace `root`.

    `office` is the office backend; by default the local one in the folder `office/` of the
    workspace. `pages` is the folder of the web page cache; without it pages are not cached.
    """
    # `add_later` registers names only: importing every kit is slow, and most programs run one.
    registry = Registry()
    workplace = Workplace(root, office or local_office(root), client, pages)
    for kit in _TOOLKITS:
        if fault_of(kit.extra):
            registry.note_absent(kit.tools, install_line(kit.extra))
        else:
            registry.add_later(kit.tools, partial(kit.make, workplace))
    add_plugins(registry, workplace)
    return registry


def _file_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.toolkits.file_tools import file_tools

    return file_tools(place.root)


def _terminal_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.toolkits.terminal_tools import terminal_tools

    return terminal_tools(place.root)


def _http_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.guard.net.client import Client
    from callblocks.toolkits.http_tools import http_tools

    return http_tools(place.client or Client())


def _finding_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.toolkits.search_tools import finding_tools
    from callblocks.toolkits.web.web_tools import environment_engines

    return finding_tools(place.root, environment_engines)


def _web_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.guard.net.client import Client
    from callblocks.toolkits.web.web_tools import WebSettings, web_tools

    return web_tools(place.root, place.client or Client(), settings=WebSettings(cache=place.pages))


def _custom_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.toolkits.custom_tools import custom_tools

    return custom_tools()


def _exec_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.toolkits.exec.exec_tools import exec_tools
    from callblocks.toolkits.exec.workdir import WorkspacePlace

    return exec_tools(WorkspacePlace(place.root))


def _rendering_tools(place: Workplace) -> Iterable[Tool]:
    from callblocks.toolkits.documents.document_tools import rendering_tools
    from callblocks.toolkits.documents.write_document import FolderPlace

    return rendering_tools(FolderPlace(place.root))


def _office_tools(service: str, place: Workplace) -> Iterable[Tool]:
    return service_tools(service, place.office, place.root)


_TOOLKITS = (
    Toolkit(("file_read", "file_list", "file_write", "file_upload"), _file_tools),
    Toolkit(("terminal_execute",), _terminal_tools),
    Toolkit(("api_call",), _http_tools, "web"),
    Toolkit(("search", "file_ingest", "web_search"), _finding_tools),
    *(
        Toolkit(names, partial(_office_tools, service), "office")
        for service, names in SERVICES.items()
    ),
    Toolkit(("web_tools.web_search", "web_tools.web_fetch"), _web_tools, "web"),
    Toolkit(("custom",), _custom_tools),
    Toolkit(EXEC_TOOLS, _exec_tools),
    Toolkit(RENDERING_TOOLS, _rendering_tools, "documents"),
)
"""The kits that come with callblocks, in the order in which they are listed."""

"""Every tool that comes with callblocks, and those of plug-ins, for one workspace.

They are known by name; the modules of a kit are imported, and its tools made, when one of them is
asked for. A program that runs one call pays for one kit. A kit whose extra is not installed is left
out, and its tools are noted as absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from callblocks.core.extras import fault_of, install_line
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.open_office import SERVICES, local_office, service_tools
from callblocks.toolkits.toolkit import Toolkit, Workplace, add_plugins
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

if TYPE_CHECKING:
    from pathlib import Path

    from callblocks.guard.net.client import Client
    from callblocks.toolkits.office.backend import Office

__all__ = ("EXEC_TOOLS", "RENDERING_TOOLS", "standard_tools")

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

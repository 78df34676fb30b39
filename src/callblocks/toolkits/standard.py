"""Every tool that comes with callblocks, for one workspace.

They are known by name; the modules of a kit are imported, and its tools made, when one of them is
asked for. A program that runs one call pays for one kit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from callblocks.runtime.files.root import Root
from callblocks.toolkits.workspace.catalogue import add_workspace_tools
from callblocks.toolkits.workspace.opening import local_office
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

if TYPE_CHECKING:
    from pathlib import Path

    from callblocks.runtime.net.client import Client
    from callblocks.toolkits.workspace.backend import Office

__all__ = ("EXEC_TOOLS", "RENDERING_TOOLS", "standard_tools")

EXEC_TOOLS = ("exec_tools.execute_code_python", "exec_tools.execute_code_shell")
RENDERING_TOOLS = tuple(
    f"rendering_tools.write_{kind}" for kind in ("pdf", "png", "docx", "pptx", "xlsx")
)

_FILES = ("file_read", "file_list", "file_write", "file_upload")
_FINDING = ("search", "file_ingest", "web_search")
_WEB = ("web_tools.web_search", "web_tools.web_fetch")


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
    kits: dict[tuple[str, ...], Callable[[], Iterable[Tool]]] = {
        _FILES: lambda: _file_tools(root),
        ("terminal_execute",): lambda: _terminal_tools(root),
        ("api_call",): lambda: _http_tools(client),
        _FINDING: lambda: _finding_tools(root),
    }
    for names, make in kits.items():
        registry.add_later(names, make)
    add_workspace_tools(registry, office or local_office(root), root)
    registry.add_later(_WEB, lambda: _web_tools(root, client, pages))
    registry.add_later(("custom",), _custom_tools)
    registry.add_later(EXEC_TOOLS, lambda: _exec_tools(root))
    registry.add_later(RENDERING_TOOLS, lambda: _rendering_tools(root))
    return registry


def _file_tools(root: Root) -> Iterable[Tool]:
    from callblocks.toolkits.files import file_tools

    return file_tools(root)


def _terminal_tools(root: Root) -> Iterable[Tool]:
    from callblocks.toolkits.terminal import terminal_tools

    return terminal_tools(root)


def _http_tools(client: Client | None) -> Iterable[Tool]:
    from callblocks.runtime.net.client import Client
    from callblocks.toolkits.http import http_tools

    return http_tools(client or Client())


def _finding_tools(root: Root) -> Iterable[Tool]:
    from callblocks.toolkits.finding.tools import finding_tools
    from callblocks.toolkits.web.tools import environment_engines

    return finding_tools(root, environment_engines)


def _web_tools(root: Root, client: Client | None, pages: Path | None) -> Iterable[Tool]:
    from callblocks.runtime.net.client import Client
    from callblocks.toolkits.web.tools import WebSettings, web_tools

    return web_tools(root, client or Client(), settings=WebSettings(cache=pages))


def _custom_tools() -> Iterable[Tool]:
    from callblocks.toolkits.custom import custom_tools

    return custom_tools()


def _exec_tools(root: Root) -> Iterable[Tool]:
    from callblocks.toolkits.exec.places import WorkspacePlace
    from callblocks.toolkits.exec.tools import exec_tools

    return exec_tools(WorkspacePlace(root))


def _rendering_tools(root: Root) -> Iterable[Tool]:
    from callblocks.toolkits.rendering.places import FolderPlace
    from callblocks.toolkits.rendering.tools import rendering_tools

    return rendering_tools(FolderPlace(root))

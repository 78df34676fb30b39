"""Every tool that comes with callblocks, for one workspace."""

from __future__ import annotations

from callblocks.runtime.files.root import Root
from callblocks.runtime.net.client import Client
from callblocks.toolkits.files import file_tools
from callblocks.toolkits.http import http_tools
from callblocks.toolkits.terminal import terminal_tools
from callblocks.tools.registry import Registry

__all__ = ("standard_tools",)


def standard_tools(root: Root, client: Client | None = None) -> Registry:
    """The registry of them; the workspace is `root`."""
    return Registry((*file_tools(root), *terminal_tools(root), *http_tools(client or Client())))

"""The MCP servers of a program, for its page: what they offer, and switches.

    GET  /api/mcp
    POST /api/mcp/git.git_log    {"on": false}       a server, or one of its tools

A switch holds from the next turn of each chat on, and after a restart. Nothing is started by
looking: a server is as it was seen last.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.protocols.mcp.server_link import McpServers, ServerReport
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.request import read_body
from callblocks.server.service import Service, service_of

__all__ = ("McpList", "SwitchBody", "list_mcp", "switch_mcp")


class McpList(msgspec.Struct, frozen=True):
    """Every configured server with its tools."""

    servers: list[ServerReport]


class SwitchBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a server or a tool is offered."""

    on: bool


async def list_mcp(request: Request) -> Response:
    """List the MCP servers with their tools, as they were seen last."""
    service = service_of(request)
    return answer_json(McpList(await service.read(lambda: _reports(service))))


async def switch_mcp(request: Request) -> Response:
    """Switch a server or one of its tools on or off."""
    service, name = service_of(request), request.path_params["name"]
    body = await read_body(request, SwitchBody, service.settings)
    servers = service.host.settings.mcp
    if servers is None or name not in await service.read(lambda: _names(servers)):
        raise ApiFault("not_found", "no MCP server, and no tool of one, has that name")
    await service.read(lambda: servers.pins.switch(name, on=body.on))
    # A server that is switched on for the first time is connected to, which takes a while.
    service.host.renew_tools(await service.read(servers.tools))
    return answer_json(McpList(await service.read(lambda: _reports(service))))


def _reports(service: Service) -> list[ServerReport]:
    servers = service.host.settings.mcp
    return [] if servers is None else servers.reports()


def _names(servers: McpServers) -> set[str]:
    reports = servers.reports()
    return {one.name for one in reports} | {tool.name for one in reports for tool in one.tools}

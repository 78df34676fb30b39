"""How our MCP server is served: over standard input and output, or over HTTP with a token.

    stdio    one client, which started us; standard output carries messages and nothing else
    http     POST /mcp on one address; every request carries `Authorization: Bearer …`, and Host and
             Origin are checked, so that no page of a browser reaches it

The sealing key lies in the state folder, for its owner alone, or comes from `CALLBLOCKS_MCP_KEY`
where replicas on several machines are to share it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from callblocks.core.errors import CallerError
from callblocks.protocols.mcp.tool_server import ToolServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ("HttpSettings", "http_app", "kept_key", "serve_http", "serve_stdio")

KEY = "CALLBLOCKS_MCP_KEY"
_FILE = "mcp-key"
_BYTES = 32
_LARGEST_BODY = 4 << 20


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens, and what clients send. `names` are further names of the host."""

    host: str = "127.0.0.1"
    port: int = 8766
    token: str
    names: tuple[str, ...] = ()


def kept_key(state: Path) -> bytes:
    """Return the sealing key: of the environment, of the state folder, or a new one there."""
    if given := os.environ.get(KEY):
        if len(given) < _BYTES:
            raise CallerError(f"{KEY} is shorter than {_BYTES} characters")
        return given.encode()
    file = state / _FILE
    try:
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        kept = file.read_bytes()
        if len(kept) != _BYTES or file.stat().st_mode & 0o077:
            raise CallerError(f"{file} is no key of its owner alone; remove it") from None
        return kept
    with os.fdopen(made, "wb") as opened:
        key = secrets.token_bytes(_BYTES)
        opened.write(key)
    return key


def serve_stdio(server: ToolServer, key: bytes) -> None:
    """Serve the client that started us, until it closes our input."""
    import asyncio

    from mcp.server.stdio import stdio_server

    async def run() -> None:
        sdk = server.sdk_server(key)
        async with stdio_server() as (incoming, outgoing):
            # What a tool prints must not get among the messages.
            with redirect_stdout(sys.stderr):
                await sdk.run(incoming, outgoing, sdk.create_initialization_options())

    asyncio.run(run())


def http_app(server: ToolServer, key: bytes, settings: HttpSettings) -> ASGIApp:
    """Return the application that answers at /mcp."""
    from mcp.server.transport_security import TransportSecuritySettings

    own = ("127.0.0.1", "localhost", "[::1]", settings.host, *settings.names)
    hosts = [name for host in dict.fromkeys(own) for name in (host, f"{host}:*")]
    sdk = server.sdk_server(key)
    app = sdk.streamable_http_app(
        stateless_http=True,
        json_response=False,
        max_request_body_size=_LARGEST_BODY,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[
                f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")
            ],
        ),
    )
    return _TokenCheck(app, settings.token)


class _TokenCheck:
    """Lets requests with the token pass."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_known(scope["headers"]):
            from starlette.responses import JSONResponse

            words = {"error": "unauthorized", "message": "send Authorization: Bearer TOKEN"}
            refusal = JSONResponse(words, 401, {"www-authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


def serve_http(
    server: ToolServer, key: bytes, settings: HttpSettings, said: Callable[[str], None]
) -> None:
    """Serve over HTTP until Ctrl-C; `said` is called with the address."""
    import asyncio

    import uvicorn

    from callblocks.guard.net.listen import address_of, listen_at

    with listen_at(settings.host, settings.port) as bound:
        said(f"{address_of(bound)}/mcp")
        config = uvicorn.Config(
            http_app(server, key, settings), log_level="warning", server_header=False
        )
        asyncio.run(_serve(uvicorn.Server(config), [bound]))


async def _serve(server: Any, sockets: list[Any]) -> None:
    await server.serve(sockets=sockets)

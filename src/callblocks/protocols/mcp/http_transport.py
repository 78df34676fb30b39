"""MCP servers behind a URL: streamable HTTP through our network guard, and signing in to them.

The address that a person configured may be on this machine or in their network: that host and port
is opened, and those of `allow`. Every other address that a server names (a redirect, its OAuth
servers) must be public. A response has at most 64 MiB, is never decompressed, and is not followed
to another origin. Proxies and `.netrc` of the environment are not used.

    tokens     in the server's own folder, for its owner alone, bound to the URL: an entry whose URL
               changes signs in anew
    signing    a browser, by `callblocks mcp test NAME`, or by itself with `client_secret_env`
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import httpcore2
import httpx2
import msgspec
from httpx2._transports.default import map_httpcore_exceptions

from callblocks.core.errors import ToolError
from callblocks.core.urls import read_url
from callblocks.guard.files.replace_file import replace_private
from callblocks.guard.net.addresses import read_allowed
from callblocks.guard.net.net_guard import Guard
from callblocks.guard.sandbox.sandbox import MIB
from callblocks.protocols.mcp.servers import OAuth, ServerEntry

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

__all__ = ("BrowserSignIn", "GuardedTransport", "http_transport")

MAX_RESPONSE = 64 * MIB
MAX_EVENT = 16 * MIB
_CONNECT = 20.0

# Shows a person the address where they sign in.
ShowAddress = Callable[[str], None]


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport of httpx2 whose connections the guard makes, and whose responses are bounded."""

    def __init__(self, guard: Guard) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpcore2.default_ssl_context(),
            max_connections=16,
            keepalive_expiry=10.0,
            network_backend=guard,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        sent = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            with map_httpcore_exceptions():
                answer = await self._pool.handle_async_request(sent)
        except ToolError as error:
            # httpx2 closes what it holds only for its own kind of errors.
            raise httpx2.ConnectError(f"{error.code}: {error.message}") from error
        encoding = dict(answer.headers).get(b"content-encoding", b"identity")
        if encoding.lower() not in (b"identity", b""):
            await answer.aclose()
            raise httpx2.RemoteProtocolError("the response is packed, which was not asked")
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Bounded(answer.stream),
            extensions=cast("dict[str, Any]", cast("Any", answer).extensions),
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        with map_httpcore_exceptions():
            async for piece in self._stream:
                size += len(piece)
                if size > MAX_RESPONSE:
                    raise httpx2.ReadError(f"the response passes {MAX_RESPONSE // MIB} MiB")
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def http_transport(
    entry: ServerEntry, folder: Path, sign_in: BrowserSignIn | None = None
) -> AsyncGenerator[TransportStreams]:
    """Yield the incoming and outgoing messages of a server; `folder` keeps its tokens."""
    from mcp.client.streamable_http import streamable_http_client

    url = read_url(entry.url)
    guard = Guard(frozenset({(url.host, url.port)}) | read_allowed(entry.allow))
    if sign_in is not None:
        await sign_in.listen()
    headers = {"accept-encoding": "identity", "user-agent": "callblocks"}
    auth = _auth(entry, folder, sign_in) if entry.oauth else None
    async with (
        httpx2.AsyncClient(
            transport=GuardedTransport(guard),
            headers=headers | {name.lower(): value for name, value in entry.all_headers().items()},
            auth=auth,
            timeout=httpx2.Timeout(entry.timeout, connect=_CONNECT, read=None),
            follow_redirects=False,
            trust_env=False,
        ) as client,
        streamable_http_client(
            entry.url, http_client=client, max_sse_event_size=MAX_EVENT
        ) as streams,
    ):
        yield streams


# --- Signing in ---


class _Kept(msgspec.Struct, kw_only=True):
    """The file of tokens: JSON of the SDK's own models, for one URL."""

    url: str
    tokens: str = ""
    client: str = ""


class _TokenFile:
    """The tokens of one server, as the SDK stores and reads them.

    `client_id` is that of a client which somebody registered before. `port` is where a browser
    comes back to, if one is used: a registration with another port is made anew.
    """

    def __init__(self, path: Path, url: str, client_id: str = "", port: int | None = None) -> None:
        self._path = path
        self._url = url
        self._client_id = client_id
        self._port = port

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        text = self._read().tokens
        return OAuthToken.model_validate_json(text) if text else None

    async def set_tokens(self, tokens: Any) -> None:
        self._write(msgspec.structs.replace(self._read(), tokens=tokens.model_dump_json()))

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        if self._client_id:
            return OAuthClientInformationFull(
                client_id=self._client_id,
                redirect_uris=[callback_address(self._port)],
                token_endpoint_auth_method="none",
            )
        text = self._read().client
        info = OAuthClientInformationFull.model_validate_json(text) if text else None
        wanted = callback_address(self._port)
        if info is None or self._port is None or wanted in (info.redirect_uris or []):
            return info
        return None

    async def set_client_info(self, client_info: Any) -> None:
        self._write(msgspec.structs.replace(self._read(), client=client_info.model_dump_json()))

    def _read(self) -> _Kept:
        with suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
            if kept.url == self._url:
                return kept
        return _Kept(url=self._url)

    def _write(self, kept: _Kept) -> None:
        replace_private(self._path, msgspec.json.encode(kept))


def callback_address(port: int | None) -> Any:
    """Return the address that a browser comes back to; it is not used where there is no port."""
    from pydantic import AnyUrl

    return AnyUrl(f"http://127.0.0.1:{port or 1}/callback")


class BrowserSignIn:
    """Signing in with a browser: an address to open, and one of this machine that it returns to."""

    def __init__(self, show: ShowAddress, seconds: float = 300.0) -> None:
        self._show = show
        self._seconds = seconds
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[dict[str, str]] | None = None
        self.port = 0

    async def listen(self) -> None:
        """Open a port of this machine for the browser to come back to, once."""
        if self._server is not None:
            return
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def redirect(self, url: str) -> None:
        """Show the address, unless it is none that a person may be sent to."""
        parts = urlsplit(url)
        is_near = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_near):
            raise ToolError("address_refused", "the server sends to an address without https")
        self._answer = asyncio.get_running_loop().create_future()
        self._show(url)

    async def answer(self) -> Any:
        """Wait for the browser; return the code that it brought."""
        from mcp.shared.auth import AuthorizationCodeResult

        assert self._answer is not None
        try:
            query = await asyncio.wait_for(self._answer, self._seconds)
        except TimeoutError as error:
            raise ToolError("sign_in_needed", "nobody signed in") from error
        return AuthorizationCodeResult(
            code=query.get("code", ""), state=query.get("state"), iss=query.get("iss")
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            line = await asyncio.wait_for(reader.readline(), 10)
            path = line.decode("ascii", "replace").split(" ")[1] if line.count(b" ") > 1 else "/"
            parts = urlsplit(path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            is_ours = parts.path == "/callback" and ("code" in query or "error" in query)
            words = b"Signed in. You can close this page." if "code" in query else b"Not signed in."
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(words), words)
            )
            await writer.drain()
            if is_ours and self._answer is not None and not self._answer.done():
                self._answer.set_result(query)
        writer.close()


def _auth(entry: ServerEntry, folder: Path, sign_in: BrowserSignIn | None) -> httpx2.Auth:
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
    from mcp.shared.auth import OAuthClientMetadata

    given = entry.oauth if isinstance(entry.oauth, OAuth) else OAuth()
    port = None if sign_in is None else sign_in.port
    client_id = "" if given.client_secret_env else given.client_id
    storage = _TokenFile(folder / "oauth.json", entry.url, client_id, port)
    if given.client_secret_env:
        secret = os.environ.get(given.client_secret_env)
        if secret is None:
            words = f"{entry.name}: the variable {given.client_secret_env} is not set"
            raise ToolError("bad_setting", words)
        return ClientCredentialsOAuthProvider(
            entry.url,
            storage,
            client_id=given.client_id,
            client_secret=secret,
            scope=given.scope or None,
        )
    metadata = OAuthClientMetadata(
        client_name="callblocks",
        redirect_uris=[callback_address(port)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
        scope=given.scope or None,
    )
    refuse = _refuse_sign_in(entry.name)
    return OAuthClientProvider(
        entry.url,
        metadata,
        storage,
        redirect_handler=sign_in.redirect if sign_in is not None else refuse,
        callback_handler=sign_in.answer if sign_in is not None else refuse,
    )


def _refuse_sign_in(name: str) -> Callable[..., Awaitable[Any]]:
    async def refuse(url: str = "") -> Any:
        words = f"{name} wants a sign-in: a person runs `callblocks mcp test {name}`"
        raise ToolError("sign_in_needed", words)

    return refuse

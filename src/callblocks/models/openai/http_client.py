"""The HTTP clients for one model's server: their headers, proxies and trust.

No redirect is followed, so that the key goes nowhere else. A server on this machine is asked
without the proxies of the environment; every other one with them. Replies come over a transport of
their own (`stream_transport`); over httpx2 come lists of models, and all that a proxy passes on.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies

import httpx2
import msgspec

from callblocks.core.errors import CallerError, ModelError
from callblocks.core.text import brief
from callblocks.models.openai.endpoint import EndpointSettings, is_loopback_url
from callblocks.models.openai.endpoint_faults import Faults
from callblocks.models.openai.stream_transport import (
    ConnectTimeout,
    StreamFault,
    StreamReply,
    StreamTransport,
    UnreadableReply,
)

__all__ = (
    "ModelHttp",
    "ProxiedReply",
    "ask_models",
    "ask_owner",
    "check_host",
    "full_url",
    "list_models",
    "models_at",
    "new_http",
    "unreachable",
    "words_of_error",
)


class ProxiedReply:
    """A reply that httpx2 reads, as `StreamReply` is one."""

    def __init__(self, response: httpx2.Response) -> None:
        self.status = response.status_code
        self.headers = dict(response.headers)
        self._response = response
        self._pieces = response.aiter_bytes()

    async def piece(self, seconds: float | None = None) -> bytes:
        """Return the next bytes, at least one; b"" at the end."""
        try:
            async with asyncio.timeout(seconds):
                async for piece in self._pieces:
                    if piece:
                        return piece
        except httpx2.DecodingError as error:
            raise UnreadableReply(str(error)) from None
        except httpx2.HTTPError as error:
            raise _fault(error) from None
        return b""

    async def aclose(self) -> None:
        """End the exchange."""
        await self._pieces.aclose()
        await self._response.aclose()


class ModelHttp:
    """The connections to one model's server, in one event loop."""

    def __init__(self, settings: EndpointSettings, tls: ssl.SSLContext) -> None:
        self._settings = settings
        self._headers = _headers(settings)
        self._stream = StreamTransport(settings.connect_seconds, tls)
        self._is_proxied = _is_proxied(settings)
        self._tls = tls
        self._client: httpx2.AsyncClient | None = None
        self._urls: dict[str, httpx2.URL] = {}

    async def post(self, path: str, content: bytes) -> StreamReply | ProxiedReply:
        """Send a request; return its reply once its head has arrived."""
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = httpx2.URL(full_url(self._settings, path))
        if not self._is_proxied:
            return await self._stream.post(url, self._headers, content)
        try:
            request = self.client.build_request("POST", url, content=content)
            return ProxiedReply(await self.client.send(request, stream=True))
        except httpx2.HTTPError as error:
            raise _fault(error) from None

    @property
    def client(self) -> httpx2.AsyncClient:
        """Return the client for all but replies."""
        if self._client is None:
            self._client = _client(self._settings, self._headers, self._tls)
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        self._stream.close()
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


async def new_http(settings: EndpointSettings) -> ModelHttp:
    """Return the connections to the server of these settings; raise `ModelError` where the proxy of
    the environment cannot be used.
    """
    http = ModelHttp(settings, await _trust(settings))
    try:
        # It reads the proxies.
        _ = http.client
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise Faults(settings).bad_proxy() from None
    return http


def _client(
    settings: EndpointSettings, headers: dict[str, str], tls: ssl.SSLContext
) -> httpx2.AsyncClient:
    """Return a client with any number of connections; only connecting has a time limit of
    its own.
    """
    return httpx2.AsyncClient(
        headers=headers,
        verify=tls,
        timeout=httpx2.Timeout(None, connect=settings.connect_seconds),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        follow_redirects=False,
        trust_env=not is_loopback_url(settings.base_url),
    )


def _is_proxied(settings: EndpointSettings) -> bool:
    """Return whether the environment may have a proxy for this server; httpx2 decides which."""
    proxies = getproxies()
    names = (urlsplit(settings.base_url).scheme, "all")
    return not is_loopback_url(settings.base_url) and any(map(proxies.get, names))


def _fault(error: httpx2.HTTPError) -> StreamFault:
    kind = ConnectTimeout if isinstance(error, httpx2.TimeoutException) else StreamFault
    return kind(str(error) or type(error).__name__)


async def _trust(settings: EndpointSettings) -> ssl.SSLContext:
    """Return the TLS context; an empty one where there is no TLS, because loading all certificates
    is slow.
    """
    if is_loopback_url(settings.base_url) and settings.base_url.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return await asyncio.to_thread(httpx2.create_ssl_context)


def _headers(settings: EndpointSettings) -> dict[str, str]:
    ours = {
        "accept": "text/event-stream, application/json",
        # A compressing proxy would buffer the stream, and pieces would arrive in bursts.
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "callblocks",
    }
    if settings.key and settings.key_header:
        ours[settings.key_header] = settings.key
    elif settings.key:
        ours["authorization"] = f"Bearer {settings.key}"
    elif login := _login(settings):
        ours["authorization"] = login
    return ours | {name.lower(): value for name, value in settings.headers.items()}


def _login(settings: EndpointSettings) -> str:
    """Return the header for the login of the address; "" where it has none."""
    address = urlsplit(settings.base_url)
    if not (address.username or address.password):
        return ""
    pair = f"{unquote(address.username or '')}:{unquote(address.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def full_url(settings: EndpointSettings, path: str) -> str:
    """Return the URL of a path of the API; the login is sent as a header instead."""
    address = urlsplit(settings.base_url)
    host = address.netloc.rpartition("@")[2]
    place = f"{address.path.rstrip('/')}/{path}"
    return urlunsplit((address.scheme, host, place, address.query, ""))


def check_host(settings: EndpointSettings) -> None:
    """Refuse an address that the client cannot ask."""
    try:
        httpx2.URL(full_url(settings, ""))
    except httpx2.InvalidURL:
        raise CallerError(f"no address of a model: {brief(settings.shown_url)}") from None


def unreachable(faults: Faults, error: Exception) -> ModelError:
    """Return the error for a failed connection, with what may not be running."""
    if isinstance(error, httpx2.TimeoutException | ConnectTimeout):
        return faults.error("model_timeout", "gave no connection in time; check the address")
    said = f"cannot be reached: {words_of_error(faults, error)}"
    return faults.error("model_unreachable", f"{said}; {faults.starting()}")


def words_of_error(faults: Faults, error: Exception) -> str:
    """Return the network library's message without secrets, or else the kind of the error."""
    return faults.short(str(error)) or type(error).__name__


# --- The list of a server's models: `GET {base_url}/models` ---
#
#     models_at(EndpointSettings(base_url="http://127.0.0.1:11434/v1"))
#
# Servers answer in three shapes: OpenAI's `{"data": [{"id": …}]}`, Ollama's `{"models": [{"name":
# …}]}`, and a bare list of either.

_SECONDS = 5.0
_LARGEST = 8 << 20
_NAMES = ("id", "name", "model")


async def ask_models(
    client: httpx2.AsyncClient, settings: EndpointSettings, seconds: float = _SECONDS
) -> tuple[str, ...]:
    """Ask over an existing client; raise `ModelError` where there is no list."""
    # A server may echo what it was sent: a name that contains a secret is dropped.
    hide = Faults(settings).hide
    return tuple(name for name, _ in await _listed(client, settings, seconds) if hide(name) == name)


async def ask_owner(
    client: httpx2.AsyncClient, settings: EndpointSettings, seconds: float = _SECONDS
) -> str:
    """Return who owns the model by the list of its server; "" where the list does not say it.

    A model that is not in the list has the owner of all that are: llama.cpp answers to any name.
    """
    owners = dict(await _listed(client, settings, seconds))
    if settings.model in owners:
        return owners[settings.model]
    return owners.popitem()[1] if len(set(owners.values())) == 1 else ""


async def _listed(
    client: httpx2.AsyncClient, settings: EndpointSettings, seconds: float
) -> tuple[tuple[str, str], ...]:
    """Ask for the list of models; return each with its owner."""
    faults = Faults(settings)
    try:
        async with asyncio.timeout(seconds):
            # Streamed and bounded like a reply: the list may come from any server.
            request = client.build_request("GET", full_url(settings, "models"))
            response = await client.send(request, stream=True)
            try:
                body = await _body(response)
            finally:
                await response.aclose()
    except TimeoutError:
        raise faults.error("model_timeout", f"said nothing for {seconds:g} s") from None
    except (httpx2.HTTPError, OSError, UnicodeError) as error:
        raise unreachable(faults, error) from None
    if response.status_code != 200:
        raise faults.status(response.status_code, body, response.headers.get("location", ""))
    try:
        return _rows(msgspec.json.decode(body))
    except (ValueError, RecursionError):
        raise faults.unreadable("no list of models", body.decode("utf-8", "replace")) from None


async def list_models(settings: EndpointSettings) -> tuple[str, ...]:
    """Ask over a connection of its own."""
    check_host(settings)
    http = await new_http(settings)
    try:
        return await ask_models(http.client, settings)
    finally:
        await http.close()


# A thread of its own runs the coroutine, because the caller's thread may already run an event loop.
def models_at(settings: EndpointSettings) -> tuple[str, ...]:
    """Ask, and block for the answer; also where an event loop runs in this thread."""
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(lambda: asyncio.run(list_models(settings))).result()


async def _body(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _LARGEST:
            break
    return bytes(body)


def _rows(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the names in a list of any known shape, each once, with the owners; raise `ValueError`
    for any other.
    """
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        value = next((given[key] for key in ("data", "models") if key in given), None)
    if not isinstance(value, list):
        raise ValueError("no list")
    rows = [(_name(one), _owner(one)) for one in cast("list[Any]", value)]
    # The first of a name counts.
    return tuple({name: (name, owner) for name, owner in reversed(rows) if name}.values())[::-1]


def _owner(entry: Any) -> str:
    owner: Any = cast("dict[str, Any]", entry).get("owned_by") if isinstance(entry, dict) else ""
    return owner if isinstance(owner, str) else ""


def _name(entry: Any) -> str:
    if isinstance(entry, dict):
        given = cast("dict[str, Any]", entry)
        entry = next((given[key] for key in _NAMES if given.get(key)), "")
    # A name is shown on a screen and used in a command, so it must be printable.
    return entry if isinstance(entry, str) and entry.isprintable() else ""

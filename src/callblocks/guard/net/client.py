"""An HTTP client that trusts nobody.

    client = Client(NetLimits(deadline=20))
    response = await client.request("https://api.example.com/v1/items")

Nothing is kept from one request to the next, neither cookies nor connections, so that no answer can
influence another request. Settings of the environment (proxies, `.netrc`) are not read: a proxy
would connect where the guard does not look. Every fault is a `ToolError` with a network code.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

import httpcore2
import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.core.urls import Url, follow_url
from callblocks.guard.net.http_messages import (
    Headers,
    Hop,
    HttpRequest,
    NetLimits,
    Response,
    read_request,
)
from callblocks.guard.net.net_guard import read_allowed

if TYPE_CHECKING:
    import asyncio

    from callblocks.guard.net.net_guard import Guard, Resolver

__all__ = (
    "CheckUrl",
    "Client",
    "EnterUrl",
    "Heard",
    "OpenResponse",
    "Redirect",
    "Unpacker",
    "exchange",
    "read_redirect",
)

# --- Redirects: the new URL, and the parts of the request that are sent there ---
#
#     301, 302   POST becomes GET, without its body
#     303        all but HEAD become GET, without their body
#     307, 308   the same method and body
#
# Another origin gets only headers that do not identify the sender, so a redirect cannot collect an
# Authorization header or a cookie. A redirect is not followed, and is itself the response, where it
# would leave https for http, or would send a body or an unsafe method to another origin: the caller
# must then make that request explicitly.

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_HARMLESS = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "cache-control", "range", "user-agent"),
        *("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"),
    )
)


class Redirect(msgspec.Struct, frozen=True):
    """The target of a response. `request` is `None` where following is left to the caller."""

    url: Url
    request: HttpRequest | None = None


def read_redirect(request: HttpRequest, status: int, location: str | None) -> Redirect | None:
    """Return the redirect of a response; `None` where it has none.

    A location that is no URL raises `ToolError` with the code `invalid_url`.
    """
    if status not in (301, 302, 303, 307, 308) or location is None:
        return None
    url = follow_url(request.url, location)
    method = _method(request.method, status)
    body, headers = request.body, request.headers
    if method != request.method:
        body, headers = b"", _without_content(headers)
    # Another origin did not earn the caller's trust: it gets no body, no unsafe method and no
    # credentials.
    if url.origin != request.url.origin:
        if body or method not in _SAFE_METHODS or _leaves_tls(request.url, url):
            return Redirect(url)
        headers = tuple((name, value) for name, value in headers if name in _HARMLESS)
    return Redirect(url, HttpRequest(url, method, headers, body))


def _method(method: str, status: int) -> str:
    if status == 303 and method != "HEAD":
        return "GET"
    if status in (301, 302) and method == "POST":
        return "GET"
    return method


def _without_content(headers: Headers) -> Headers:
    dropped = ("idempotency-key", "digest")
    return tuple(
        (name, value)
        for name, value in headers
        if not name.startswith("content-") and name not in dropped
    )


def _leaves_tls(url: Url, following: Url) -> bool:
    return url.scheme == "https" and following.scheme == "http"


# --- An HTTP client that trusts nobody ---

# Return why a redirect to a URL is not followed; `None` where it may be.
CheckUrl: TypeAlias = Callable[[str], str | None]

# Awaited before a URL is requested; raises `ToolError` where it must not be.
EnterUrl: TypeAlias = Callable[[str], Awaitable[None]]


class Client:
    """A sender of requests to public addresses, and to those that `allow` lists as host:port.

    `resolver`, `backend` and `tls` replace name resolution, connecting, and the trusted
    certificates.
    """

    def __init__(
        self,
        limits: NetLimits | None = None,
        allow: Iterable[str] = (),
        resolver: Resolver | None = None,
        *,
        backend: httpcore2.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.limits = limits or NetLimits()
        self._opened = tuple(allow)
        self._allow = read_allowed(self._opened)
        self._resolver = resolver
        self._backend = backend
        self._given_tls = tls
        # A semaphore belongs to one event loop; a client may be used in several.
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    async def request(
        self,
        url: str,
        method: str = "GET",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        check: CheckUrl | None = None,
        enter: EnterUrl | None = None,
        heard: Heard | None = None,
    ) -> Response:
        """Send a request, follow its redirects, and return the answer, whatever its status.

        `check` judges every URL that a redirect leads to, so that a server cannot lead a permitted
        request elsewhere. `enter` is awaited for the first URL too. `heard` is called with the
        number of body bytes received.
        """
        import asyncio

        request = read_request(url, method, headers or {}, body, self.limits)
        try:
            async with asyncio.timeout(self.limits.deadline), self._slot():
                return await self._follow(request, check, enter, heard)
        except TimeoutError as error:
            raise ToolError(
                "timeout",
                f"{request.url.origin} did not finish within {self.limits.deadline:g} seconds",
            ) from error

    def check(
        self,
        url: str,
        method: str = "GET",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        """Raise what `request` would raise before it connects; nothing is sent or resolved."""
        request = read_request(url, method, headers or {}, body, self.limits)
        self._guard.refuse_inside(request.url.host, request.url.port)

    def with_limits(self, **limits: float) -> Client:
        """Return a client for the same network with some other limits."""
        return Client(
            msgspec.structs.replace(self.limits, **limits),
            self._opened,
            self._resolver,
            backend=self._backend,
            tls=self._given_tls,
        )

    async def _follow(
        self,
        request: HttpRequest,
        check: CheckUrl | None,
        enter: EnterUrl | None,
        heard: Heard | None,
    ) -> Response:

        history: list[Hop] = []
        while len(history) <= self.limits.redirects:
            # Not for the first URL, which the gate has judged already.
            if check is not None and history and (why := check(str(request.url))):
                raise ToolError("policy_denied", why)
            if enter is not None:
                await enter(str(request.url))
            tls = self._tls if request.url.scheme == "https" else None
            async with exchange(request, self._guard, tls, self.limits) as answer:
                redirect = read_redirect(request, answer.status, answer.first("location"))
                following = None if redirect is None else redirect.request
                if following is None:
                    return Response(
                        status=answer.status,
                        url=str(request.url),
                        headers=answer.headers,
                        body=await answer.read(heard),
                        history=tuple(history),
                        not_followed="" if redirect is None else str(redirect.url),
                    )
            history.append(Hop(answer.status, str(request.url)))
            request = following
        raise ToolError(
            "too_many_redirects",
            f"{history[0].url} was sent on more than {self.limits.redirects} times",
        )

    @cached_property
    def _guard(self) -> Guard:
        from callblocks.guard.net.net_guard import Guard

        return Guard(self._allow, self._resolver, self._backend)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpcore2

        return self._given_tls or httpcore2.default_ssl_context()

    def _slot(self) -> asyncio.Semaphore:
        import asyncio

        loop = asyncio.get_running_loop()
        return self._slots.setdefault(loop, asyncio.Semaphore(self.limits.connections))


# --- Incremental decompression of a response, never beyond the limit ---
#
#     Content-Encoding: gzip | deflate | identity
#
# A small body may expand to any size (a zip bomb): output is requested with a limit, and the first
# byte beyond it ends the response. Other encodings were not requested and are refused.

_GZIP = zlib.MAX_WBITS | 16
_GZIP_START = b"\x1f\x8b"
# Files of many gzip members exist; a body of nothing but empty members is an attack, because each
# costs time and yields no byte that the limit could count.
_PARTS = 1000


class Unpacker:
    """A decoder of a body in pieces. `feed` and `close` raise `ToolError`; `close` returns the
    whole.

    `taken` counts the received bytes, before decompression.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(
                "network_error", f"the response is encoded as {brief(coding)}, which was not asked"
            )
        self._limit = limit
        self._gzip = coding.endswith("gzip")
        self._packed = self._gzip or coding == "deflate"
        self._inflater = zlib.decompressobj(_GZIP)
        self._start = b""
        self._parts = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self.taken = 0

    def expect(self, length: int) -> None:
        """Refuse a body that is announced as too large, before any of it is taken."""
        if length > self._limit:
            self._refuse()

    def feed(self, piece: bytes) -> None:
        """Process the next piece as it came over the wire."""
        self.taken += len(piece)
        # Compressed bytes that expand to nothing count as well.
        if self.taken > self._limit:
            self._refuse()
        if not self._packed:
            self._add(piece)
            return
        try:
            self._unpack(piece)
        except zlib.error as error:
            raise ToolError("network_error", f"the response cannot be unpacked: {error}") from error

    def close(self) -> bytes:
        """Return the whole body, once nothing more comes."""
        if self._start or (self._parts and not self._inflater.eof):
            raise ToolError("network_error", "the packed response broke off before its end")
        return b"".join(self._pieces)

    def _unpack(self, piece: bytes) -> None:
        if not self._parts:
            piece = self._start + piece
            self._start = piece if len(piece) < 2 else b""
            if self._start or not piece:
                return
            self._begin(piece)
        while piece:
            if self._inflater.eof:
                if not (self._gzip and piece.startswith(_GZIP_START)):
                    return  # what follows the end is padding
                self._begin(piece)
            # One byte more than the limit is enough to know that it is exceeded; the rest is never
            # produced.
            self._add(self._inflater.decompress(piece, self._limit - self._size + 1))
            piece = self._inflater.unused_data

    def _begin(self, piece: bytes) -> None:
        self._parts += 1
        if self._parts > _PARTS:
            raise ToolError("network_error", f"the response has more than {_PARTS} packed parts")
        # Some servers send raw deflate without the zlib header. The header's checksum (a multiple
        # of 31) tells the two apart.
        wrapped = piece[0] & 0x0F == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
        bits = zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS
        self._inflater = zlib.decompressobj(_GZIP if self._gzip else bits)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._refuse()
        self._pieces.append(piece)

    def _refuse(self) -> NoReturn:
        raise ToolError(
            "response_too_large",
            f"the response passes the limit of {self._limit} bytes; ask for less of it",
            limit=self._limit,
        )


# --- One request and its answer on a connection of its own ---
#
#     async with exchange(request, guard, tls, limits) as answer:
#         answer.status, answer.headers, await answer.read()
#
# The body is read only on request, and never beyond the limit. Every fault is a `ToolError` with a
# network code.

# Callback with the number of body bytes received so far, before decompression.
Heard: TypeAlias = Callable[[int], None]

_WITH_BODY = ("POST", "PUT", "PATCH")
_TOO_LARGE = 431  # how HTTP itself calls headers without end


class OpenResponse:
    """A response whose headers have arrived, and whose body has not been read."""

    def __init__(
        self, request: HttpRequest, response: httpcore2.Response, limits: NetLimits
    ) -> None:
        self.status = response.status
        self.headers = _read_headers(response, limits)
        self._method = request.method
        self._response = response
        self._limit = limits.body

    def first(self, name: str) -> str | None:
        """Return the first value of a header, by its name in lower case."""
        return next((value for known, value in self.headers if known == name), None)

    async def read(self, heard: Heard | None = None) -> bytes:
        """Return the decompressed body."""
        if self._method == "HEAD":
            return b""
        encoding = ",".join(value for name, value in self.headers if name == "content-encoding")
        unpacker = Unpacker(encoding, self._limit)
        length = self.first("content-length") or ""
        # A hint only: `expect` refuses early. The length of the digits is bounded, because `int` of
        # a huge number is slow.
        if length.isdecimal() and len(length) < 20:
            unpacker.expect(int(length))
        async for piece in self._response.aiter_stream():
            unpacker.feed(piece)
            if heard is not None:
                heard(unpacker.taken)
        return unpacker.close()


@asynccontextmanager
async def exchange(
    request: HttpRequest,
    guard: httpcore2.AsyncNetworkBackend,
    tls: ssl.SSLContext | None,
    limits: NetLimits,
) -> AsyncGenerator[OpenResponse, None]:
    """Send a request through the guard; the connection is closed at the end of the block.

    `tls` holds the trusted certificates; http needs none.
    """
    # A new pool for each request: a reused connection would skip the guard, and an answer could
    # leak into another request.
    pool = httpcore2.AsyncConnectionPool(tls, max_connections=1, network_backend=guard)
    try:
        async with pool, pool.stream(**_arguments(request, limits)) as response:
            yield OpenResponse(request, response, limits)
    except httpcore2.TimeoutException as error:
        raise ToolError("timeout", f"{request.url.origin} did not answer in time") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        raise _failure(request.url, error) from error


def _arguments(request: HttpRequest, limits: NetLimits) -> dict[str, Any]:
    url = request.url
    steps = {"connect": limits.connect, "pool": limits.connect}
    return {
        "method": request.method,
        "url": httpcore2.URL(
            scheme=url.scheme.encode(),
            host=url.host.encode(),
            port=url.port,
            target=url.target.encode(),
        ),
        "headers": [("host", url.authority), *request.headers],
        "content": request.body if request.body or request.method in _WITH_BODY else None,
        "extensions": {"timeout": {**steps, "read": limits.read, "write": limits.read}},
    }


def _read_headers(response: httpcore2.Response, limits: NetLimits) -> Headers:
    size = sum(len(name) + len(value) for name, value in response.headers)
    if len(response.headers) > limits.headers or size > limits.header_bytes:
        raise _too_many_headers()
    return tuple((_text(name).lower(), _text(value)) for name, value in response.headers)


def _text(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _failure(url: Url, error: Exception) -> ToolError:
    cause = error.args[0] if error.args else error
    if getattr(cause, "error_status_hint", 0) == _TOO_LARGE:
        return _too_many_headers()
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ToolError(
            "network_error",
            f"the certificate of {url.host} is not trusted: {cause.verify_message}",
        )
    return ToolError("network_error", f"the connection to {url.origin} failed: {_words(cause)}")


def _too_many_headers() -> ToolError:
    return ToolError("response_too_large", "the response has too many headers, or too long ones")


def _words(cause: object) -> str:
    return " ".join(str(cause).split())[:200] or type(cause).__name__

"""One request and its answer on a connection of its own.

    async with exchange(request, guard, tls, limits) as answer:
        answer.status, answer.headers, await answer.read()

The body is read only on request, and never beyond the limit. Every fault is a `ToolError` with a
network code.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeAlias

import httpcore2

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.core.urls import Url
from callblocks.guard.net.client import Headers, HttpRequest, NetLimits

__all__ = (
    "Heard",
    "OpenResponse",
    "Unpacker",
    "exchange",
)

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

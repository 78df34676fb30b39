"""One request and its answer on a connection of its own.

    async with exchange(request, guard, tls, limits) as answer:
        answer.status, answer.headers, await answer.read()

The body is read only on request, and never beyond the limit. Every fault is a `ToolError` with a
network code.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpcore2

from callblocks.model.errors import ToolError
from callblocks.runtime.net.limits import NetLimits
from callblocks.runtime.net.request import Headers, Request
from callblocks.runtime.net.unpacking import Unpacker
from callblocks.runtime.net.url import Url

__all__ = ("Answer", "Heard", "exchange")

# Callback with the number of body bytes received so far, before decompression.
Heard: TypeAlias = Callable[[int], None]

_WITH_BODY = ("POST", "PUT", "PATCH")
_TOO_LARGE = 431  # how HTTP itself calls headers without end


class Answer:
    """A response whose headers have arrived, and whose body has not been read."""

    def __init__(self, request: Request, response: httpcore2.Response, limits: NetLimits) -> None:
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
    request: Request,
    guard: httpcore2.AsyncNetworkBackend,
    tls: ssl.SSLContext | None,
    limits: NetLimits,
) -> AsyncGenerator[Answer, None]:
    """Send a request through the guard; the connection is closed at the end of the block.

    `tls` holds the trusted certificates; http needs none.
    """
    # A new pool for each request: a reused connection would skip the guard, and an answer could
    # leak into another request.
    pool = httpcore2.AsyncConnectionPool(tls, max_connections=1, network_backend=guard)
    try:
        async with pool, pool.stream(**_arguments(request, limits)) as response:
            yield Answer(request, response, limits)
    except httpcore2.TimeoutException as error:
        raise ToolError("timeout", f"{request.url.origin} did not answer in time") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        raise _failure(request.url, error) from error


def _arguments(request: Request, limits: NetLimits) -> dict[str, Any]:
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

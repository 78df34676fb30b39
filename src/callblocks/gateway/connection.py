"""The connection of one request: its body, its answer, and when its client goes.

Strategy. The reply runs in the task of the request, and one other task waits for the client to go.
When it does, that task cancels the request: wherever it waits (for the upstream, too), generators
are closed at once, and with them the connection to the upstream. The same task sends what keeps
the connection alive while nothing comes, and cancels where the client takes nothing for too long.

A gateway without keys is open to every program of this machine, and to no page of the web: a page
whose name was made to lead here (DNS rebinding), and one of another origin, get nothing. A program
sends no `Origin`. With keys a page needs one, too; but only the origins that the config names get
the headers with which their browser shows them an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from starlette.types import Receive, Scope, Send

from callblocks.core.urls import host_of, is_loopback
from callblocks.gateway.config import GatewayConfig
from callblocks.gateway.exchange import GatewayFault

__all__ = (
    "Connection",
    "Gone",
    "allowed_origin",
    "check_host",
    "encode_json",
    "preflight_headers",
    "read_json",
    "shown_headers",
)

_Headers = list[tuple[bytes, bytes]]

_ALWAYS: _Headers = [
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


class Gone(Exception):
    """The client went away, so there is nobody to answer."""


class Connection:
    """One request as ASGI gives it.

    `quiet` is how many seconds nothing may be sent, `slow` how many a client may take for a piece.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, *, quiet: float, slow: float
    ) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        # More headers of the answer, whatever it is.
        self.more: _Headers = []
        self.status = 0
        # What the log says of the request, beside its path and status.
        self.notes: list[str] = []
        self._receive = receive
        self._send = send
        self._quiet = quiet
        self._slow = slow
        self._lock = asyncio.Lock()
        self._sent = 0.0
        self._sends_since: float | None = None

    @property
    def has_begun(self) -> bool:
        """Return whether the head of the answer was sent."""
        return bool(self.status)

    async def body(self, limit: int, seconds: float) -> bytes:
        """Return the body of the request; raise `GatewayFault` where it is too large or late."""
        said = self.headers.get("content-length", "")
        if said.isdecimal() and (len(said) > 18 or int(said) > limit):
            raise self._too_large(limit)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    if size > limit:
                        raise self._too_large(limit)
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            self.more.append((b"connection", b"close"))
            words = "the body of the request did not arrive in time"
            raise GatewayFault("invalid_request", words, code="body_timeout") from None

    async def answer(self, status: int, content: bytes, kind: str, headers: _Headers) -> None:
        """Send a whole answer."""
        self.status = status
        sent = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(content)).encode()),
            *_ALWAYS[:1],
            *_ALWAYS[2:],
            *headers,
            *self.more,
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": sent})
        shown = b"" if self.method == "HEAD" else content
        await self._send({"type": "http.response.body", "body": shown})

    async def write(self, content: bytes, kind: str = "", *, more: bool = True) -> None:
        """Send a piece of a stream; the first one sends the head with it."""
        async with self._lock:
            now = asyncio.get_running_loop().time
            self._sends_since = now()
            if not self.status:
                self.status = 200
                headers = [(b"content-type", kind.encode()), *_ALWAYS, *self.more]
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": content, "more_body": more})
            self._sends_since, self._sent = None, now()

    @asynccontextmanager
    async def watched(
        self, keep_alive: Callable[[], tuple[bytes, str]] | None = None
    ) -> AsyncGenerator[None, None]:
        """Raise `Gone` from the block as soon as the client goes.

        `keep_alive` gives what is sent while nothing comes, with the media type of the stream.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request runs in a task")
        watch = asyncio.create_task(self._watch(task, keep_alive))
        try:
            yield
        except asyncio.CancelledError:
            # `_watch` returns only where it cancelled the request: then it is this cancellation.
            if watch.done() and not watch.cancelled():
                task.uncancel()
                raise Gone from None
            raise
        finally:
            watch.cancel()

    async def _watch(
        self, task: asyncio.Task[Any], keep_alive: Callable[[], tuple[bytes, str]] | None
    ) -> None:
        now = asyncio.get_running_loop().time
        self._sent = now()
        try:
            while True:
                try:
                    async with asyncio.timeout(min(self._quiet, self._slow) / 2):
                        message = await self._receive()
                except TimeoutError:
                    if self._sends_since is not None:
                        if now() - self._sends_since >= self._slow:
                            break
                    elif keep_alive and now() - self._sent >= self._quiet / 2:
                        content, kind = keep_alive()
                        if content:
                            await self.write(content, kind)
                    continue
                if message["type"] == "http.disconnect":
                    break
        except OSError:
            pass
        task.cancel()

    def _too_large(self, limit: int) -> GatewayFault:
        # What else comes of it is not read.
        self.more.append((b"connection", b"close"))
        words = f"the body is larger than {limit} bytes, which is the limit here"
        return GatewayFault("too_large", words, code="request_too_large")


def read_json(content: bytes) -> dict[str, Any]:
    """Return the object in a body; raise `GatewayFault` where there is none."""
    # Programs on Windows write a mark before it.
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        value = _with_half_characters(content, error)
    except RecursionError:
        raise _no_json("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise _no_json("it is no object")
    return cast("dict[str, Any]", value)


def _with_half_characters(content: bytes, error: Exception) -> Any:
    """Decode again: programs in JavaScript cut texts in the middle of a character.

    JSON then has half of a surrogate pair, which becomes U+FFFD.
    """
    import json

    from callblocks.core.json_values import plain

    if rb"\u" not in content:
        raise _no_json(str(error)) from None
    try:
        return plain(json.loads(content))
    except (ValueError, RecursionError):
        raise _no_json(str(error)) from None


def _no_json(problem: str) -> GatewayFault:
    words = f"the body is not a JSON object: {problem[:200]}"
    return GatewayFault("invalid_request", words, code="invalid_json")


def encode_json(value: object) -> bytes:
    """Return the value as JSON, whatever characters it has."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json

        # Half a character can only be written as an escape.
        return json.dumps(msgspec.to_builtins(value)).encode()


# --- Pages and names ---


_METHODS = b"GET, HEAD, POST, OPTIONS"


def check_host(headers: Mapping[str, str], config: GatewayConfig, *, is_open: bool) -> None:
    """Refuse a request that was sent to another name than this machine's, where no key is asked."""
    name = host_of(headers.get("host", ""))
    if name is None:
        raise GatewayFault("invalid_request", "the Host header is missing, or names no host")
    if is_open and not is_loopback(name) and name not in config.hosts:
        words = (
            f"{name} is not a name of this machine; ask for localhost or 127.0.0.1, or add the "
            "name to `hosts` in the gateway's file"
        )
        raise GatewayFault("permission", words, code="foreign_host")


def allowed_origin(headers: Mapping[str, str], config: GatewayConfig) -> str:
    """Return the foreign origin that may ask; "" for our own, and where no page asks."""
    given = headers.get("origin", "")
    if not given:
        if headers.get("sec-fetch-site") == "cross-site":
            raise _foreign_origin("a page of another site")
        return ""
    if given in config.origins:
        return given
    try:
        parts = urlsplit(given)
    except ValueError:
        raise _foreign_origin("a page of an origin that cannot be read") from None
    is_own = parts.netloc.lower() == headers.get("host", "").lower()
    if is_own and parts.scheme in ("http", "https"):
        return ""
    raise _foreign_origin(given[:200])


def preflight_headers(origin: str, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return the answer to a browser that asks whether a page may ask."""
    wanted = headers.get("access-control-request-headers", "")
    return [
        *shown_headers(origin),
        (b"access-control-allow-methods", _METHODS),
        # The SDKs send many headers of their own; none of them acts here.
        (b"access-control-allow-headers", wanted.encode("latin-1", "replace")),
        (b"access-control-max-age", b"600"),
    ]


def shown_headers(origin: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that let a page of this origin read an answer."""
    if not origin:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1", "replace")),
        (b"access-control-expose-headers", b"x-request-id, request-id, retry-after"),
        (b"vary", b"origin"),
    ]


def _foreign_origin(who: str) -> GatewayFault:
    words = f"{who} may not ask here; add its origin to `origins` in the gateway's file"
    return GatewayFault("permission", words, code="foreign_origin")

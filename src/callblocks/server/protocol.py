"""HTTP as uvicorn reads it, with limits on what has no limit there.

- The line of the request and its headers together pass `max_headers` bytes: 400.
- A connection whose first request does not begin in time is closed.
- One connection more than `max_connections` is told so, and closed.
- A client that takes nothing can be cut off, with all that waits to be sent to it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from callblocks.server.dropping import droppable
from callblocks.server.faults import ApiFault
from callblocks.server.settings import ServerSettings

__all__ = ("LimitedHttp", "limited_http")


class LimitedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        settings: ServerSettings,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = settings
        self._head = 0
        self._is_crowded = False
        self._slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._is_crowded = len(self.connections) > self._settings.max_connections
        self._slow = self.loop.call_later(self._settings.read_timeout, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._hurry()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_crowded:
            # Only now: closing with unread bytes would cut the answer off.
            self.transport.write(_CROWDED)
            self.transport.close()
            return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        self.scope["extensions"] = droppable(self.transport.abort)

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._hurry()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self.transport.write(_UNREADABLE)
        self.transport.close()

    def _count(self, part: bytes) -> None:
        # Each costs some memory beside its bytes.
        self._head += len(part) + 32
        if self._head > self._settings.max_headers:
            raise ValueError("the headers pass the limit")

    def _hurry(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None


def limited_http(settings: ServerSettings) -> Any:
    """The protocol for uvicorn's `http`."""
    return partial(LimitedHttp, settings=settings)


def _response(status: str, fault: ApiFault) -> bytes:
    content = bytes(fault.response().body)
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
    more = "".join(f"{name}: {value}\r\n" for name, value in fault.headers.items())
    return f"{head}{more}content-length: {len(content)}\r\n\r\n".encode() + content


_CROWDED = _response(
    "503 Service Unavailable",
    ApiFault("too_many_streams", "too many connections are open", {"retry-after": "5"}),
)
_UNREADABLE = _response(
    "400 Bad Request",
    ApiFault("bad_header", "this is no HTTP request, or its headers are too long"),
)

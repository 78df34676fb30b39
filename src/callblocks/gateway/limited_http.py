"""HTTP as uvicorn reads it, with limits on the head of a request, which has none there.

- A head of more than `MOST_HEADER_BYTES` is refused with a 400; one that never ends is cut off.
- A connection whose head does not arrive within `HEAD_SECONDS` is cut off, also where nothing comes
  at all. The body has a time and a size of its own (`gateway.connection`).
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ("HEAD_SECONDS", "MOST_HEADER_BYTES", "LimitedHttp")

HEAD_SECONDS = 30.0
MOST_HEADER_BYTES = 64 * 1024
# What may arrive of a head that is not complete. More than one read brings, which may begin with
# the end of an earlier body.
_MOST_UNREAD = 1024 * 1024


class LimitedHttp(HttpToolsProtocol):
    """One connection."""

    _head = 0
    _unread = 0
    _is_in_head = True
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._begin()
        super().data_received(data)
        if self._is_in_head:
            self._unread += len(data)
            if self._unread > _MOST_UNREAD:
                self.transport.abort()

    def on_message_begin(self) -> None:
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head, self._unread = False, 0
        self._end()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        super().on_message_complete()

    def _count(self, part: bytes) -> None:
        # Each costs some memory beside its bytes.
        self._head += len(part) + 32
        if self._head > MOST_HEADER_BYTES:
            raise ValueError("the headers pass the limit")

    def _begin(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

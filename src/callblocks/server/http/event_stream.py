r"""Server-sent events, and the response that sends them.

    id: 12.3
    data: {"type":"text-delta","id":"t1","delta":"Hello"}

A stream is read at the pace of its client: nothing is queued for it, and what came meanwhile is
sent in one write. After each write there is a short rest, so that a fast model costs few of them.
While nothing comes, a comment is sent now and then; a client that takes nothing for too long is
dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from callblocks.server.http.faults import encode_json
from callblocks.server.http.protocol import drop
from callblocks.server.settings import ServerSettings

__all__ = ("DONE", "PIECE", "EventStream", "comment", "event_bytes", "until_gone")

DONE = b"data: [DONE]\n\n"
"""The last event of a UI message stream."""
PIECE = 64 * 1024
"""Bytes of one write, and at most one event more."""

_REST = 0.04
"""Seconds between two writes: nobody sees them, and a write costs more than all that is in it."""

_HEADERS = {
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
}


def event_bytes(value: object, id: str = "", kind: str = "") -> bytes:
    """One event; JSON has no line breaks, so it is one line."""
    if id and not kind:
        return b"id: %s\ndata: %s\n\n" % (id.encode(), encode_json(value))
    head = (f"event: {kind}\n" if kind else "") + (f"id: {id}\n" if id else "")
    return b"%sdata: %s\n\n" % (head.encode(), encode_json(value))


def comment(words: str) -> bytes:
    """Return a comment line: clients ignore it, and it keeps proxies from closing the stream."""
    return f": {words}\n\n".encode()


class EventStream(Response):
    """Sends what `pieces` gives, each of them whole events, until it ends or the client goes.

    `held` is entered while it is sent.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: Callable[[], AsyncGenerator[bytes, None]],
        settings: ServerSettings,
        *,
        headers: Mapping[str, str] | None = None,
        held: AbstractContextManager[object] | None = None,
    ) -> None:
        super().__init__(None, headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._pieces = pieces
        self._settings = settings
        self._held = held or nullcontext()
        self._sends_since: float | None = None
        self._sent = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            await self._stream(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        pump = asyncio.create_task(self._pump(send))
        watch = asyncio.create_task(self._watch(send))
        gone = asyncio.create_task(until_gone(receive))
        try:
            done, _ = await asyncio.wait((pump, watch, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (pump, watch, gone):
                task.cancel()
            await asyncio.gather(pump, watch, gone, return_exceptions=True)
        if pump in done:
            pump.result()
        elif watch in done:
            await drop(scope, receive)

    async def _pump(self, send: Send) -> None:
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                await self._send(send, piece)
                await asyncio.sleep(_REST)
        await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send, piece: bytes) -> None:
        now = asyncio.get_running_loop().time
        self._sends_since = now()
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        self._sends_since, self._sent = None, now()

    async def _watch(self, send: Send) -> None:
        """Break the silence; end where a client takes nothing."""
        quiet, limit = self._settings.quiet, self._settings.send_timeout
        now = asyncio.get_running_loop().time
        self._sent = now()
        while True:
            await asyncio.sleep(min(quiet, limit) / 2)
            if self._sends_since is not None:
                if now() - self._sends_since >= limit:
                    return
            elif now() - self._sent >= quiet / 2:
                await self._send(send, comment("…"))


async def until_gone(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass

"""The log of a turn as the events that an AI SDK client reads.

The last chunk of each event of the log carries its number as `id`, so that a client that lost the
connection can say what it has.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing

from callblocks.server.event_stream import DONE, PIECE, EventStream, event_bytes
from callblocks.server.service import Service
from callblocks.server.settings import SdkVersion
from callblocks.session.turn_log import Logged, TurnLog
from callblocks.views.ui.messages import reply_id
from callblocks.views.ui.stream import UiStream

__all__ = ("ui_response",)

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}


def ui_response(
    service: Service,
    log: TurnLog,
    turn: str,
    version: SdkVersion,
    start: int = 0,
    answered: Sequence[str] = (),
) -> EventStream:
    """The log from a place on, and then what comes; what stands before, the client has.

    `answered` are the questions whose answers came with the request.
    """
    service.slots.check()

    def pieces() -> AsyncGenerator[bytes, None]:
        stream = UiStream(
            version,
            message_id=reply_id(turn or "turn"),
            resumed=start > 0,
            # What the client has, it got while the turn was under way.
            is_over=log.is_over and not start,
        )
        for logged in log.events[:start]:
            stream.skip(logged.event)
        for approval in answered:
            stream.expect(approval)
        return _pieces(log, stream, start, service.metrics.events.inc)

    return EventStream(pieces, service.settings, headers=_HEADERS, held=service.follower())


async def _pieces(
    log: TurnLog, stream: UiStream, start: int, count: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(log.read(start)) as batches:
        async for batch in batches:
            for piece in _joined(batch, stream, count):
                yield piece
            start += len(batch)
            # Only once all that there is was sent: a replay goes past questions of long ago.
            if stream.paused:
                log.asked_at = max(log.asked_at, start)
                break
    last = stream.close()
    count(len(last))
    yield b"".join(map(event_bytes, last)) + DONE


def _joined(
    batch: Iterable[Logged], stream: UiStream, count: Callable[[int], None]
) -> Iterator[bytes]:
    """Events in pieces that are worth a write."""
    parts: list[bytes] = []
    size = sent = 0
    for logged in batch:
        *first, last = stream.feed(logged.event) or (None,)
        parts += map(event_bytes, first)
        if last is not None:
            parts.append(event_bytes(last, f"{logged.seq}.{logged.at}"))
            size += len(parts[-1])
        if size > PIECE:
            yield b"".join(parts)
            sent += len(parts)
            parts, size = [], 0
    count(sent + len(parts))
    if parts:
        yield b"".join(parts)

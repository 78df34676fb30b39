"""The log of a turn as the events that an AI SDK client reads.

The last chunk of each event of the log carries its number as `id`, so that a client that lost the
connection can say what it has. Events that are told from the timeline have the number of their
block, which is sent with the last of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from itertools import zip_longest

from callblocks.server.event_stream import DONE, PIECE, EventStream, event_bytes
from callblocks.server.service import Service
from callblocks.server.settings import SdkClient
from callblocks.session.turn_log import Logged, TurnLog
from callblocks.views.ui.messages import reply_id
from callblocks.views.ui.stream import UiStream

__all__ = ("ui_response",)

_AT_ONCE = 2000
"""Events that are read before others have their turn."""

_HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}


def ui_response(
    service: Service,
    log: TurnLog,
    turn: str,
    client: SdkClient,
    start: int = 0,
    answered: Sequence[str] = (),
) -> EventStream:
    """The log from a place on, and then what comes; what stands before, the client has.

    `answered` are the questions whose answers came with the request.
    """
    service.slots.check()

    async def pieces() -> AsyncGenerator[bytes, None]:
        stream = UiStream(
            client.version,
            message_id=reply_id(turn or "turn"),
            answers=client.answers,
            resumed=start > 0,
            # What the client has, it got while the turn was under way.
            is_over=log.is_over and not start,
        )
        for some in _by_turns(log.events[:start]):
            for logged in some:
                stream.skip(logged.event)
            await asyncio.sleep(0)
        for approval in answered:
            stream.expect(approval)
        async with aclosing(_pieces(log, stream, start, service.metrics.events.inc)) as rest:
            async for piece in rest:
                yield piece

    return EventStream(pieces, service.settings, headers=_HEADERS, held=service.follower())


async def _pieces(
    log: TurnLog, stream: UiStream, start: int, count: Callable[[int], None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(log.read(start)) as batches:
        async for batch in batches:
            for at, some in enumerate(_by_turns(batch)):
                if at:
                    await asyncio.sleep(0)
                for piece in _joined(some, stream, count):
                    yield piece
            start += len(batch)
            # Only once all that there is was sent: a replay goes past questions of long ago.
            if stream.paused:
                log.asked_at = max(log.asked_at, start)
                break
    last = stream.close()
    count(len(last))
    yield b"".join(map(event_bytes, last)) + DONE


def _by_turns(events: Sequence[Logged]) -> Iterator[Sequence[Logged]]:
    """A few events at a time, so that all others can have their turn between them."""
    for start in range(0, len(events), _AT_ONCE):
        yield events[start : start + _AT_ONCE]


def _joined(
    batch: Sequence[Logged], stream: UiStream, count: Callable[[int], None]
) -> Iterator[bytes]:
    """Events in pieces that are worth a write."""
    parts: list[bytes] = []
    size = sent = 0
    for logged, following in zip_longest(batch, batch[1:]):
        *first, last = stream.feed(logged.event) or (None,)
        parts += map(event_bytes, first)
        if last is not None:
            parts.append(event_bytes(last, _number(logged, following)))
            size += len(parts[-1])
        if size > PIECE:
            yield b"".join(parts)
            sent += len(parts)
            parts, size = [], 0
    count(sent + len(parts))
    if parts:
        yield b"".join(parts)


def _number(logged: Logged, following: Logged | None) -> str:
    """The number of an event; "" where the next one has the same."""
    place = (logged.seq, logged.at)
    is_shared = following is not None and place == (following.seq, following.at)
    return "" if is_shared else f"{logged.seq}.{logged.at}"

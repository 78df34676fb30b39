"""The events of a running turn, on their way to followers in other processes.

A worker tells its events to a feed, which writes them into the database by the batch and wakes the
followers. A follower reads the batches of the turn's present fence, by number, so that all of them
see the same events in the same order, whichever process they are connected to. Events are kept
until a while after the end of the turn; from then on the timeline says all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from callblocks.cluster.turn_table import Claimed, Standing, TurnTable
from callblocks.cluster.wakeups import Wakeups
from callblocks.core.errors import TimelineError
from callblocks.core.events import CallAnswered, CallAsked, TurnBegan, TurnEnded, TurnEvent
from callblocks.core.json_values import plain
from callblocks.session.event_gate import Logged, TurnLog

__all__ = ("TurnFeed", "decode_events", "turn_id")

# Seconds between two batches: nobody sees them, and each is a commit.
_REST = 0.03
_PAUSE = 0.5

_decoder = msgspec.json.Decoder(list[Logged])
_encoder = msgspec.json.Encoder()


def turn_id(id: int) -> str:
    """Return the id by which followers of a turn are woken."""
    return f"turn/{id}"


def decode_events(body: bytes) -> list[Logged]:
    """Return the events of a batch."""
    return _decoder.decode(body)


def _encode(events: list[Logged]) -> bytes:
    try:
        return _encoder.encode(events)
    except (ValueError, TypeError, RecursionError, OverflowError):
        # A lone surrogate, or a value outside JSON: the batch is washed, and the rest of it kept.
        washed: Any = plain(msgspec.to_builtins(events))
        return _encoder.encode(washed)


class TurnFeed:
    """The events of one claim on a turn. In one event loop."""

    def __init__(
        self, table: TurnTable, wakeups: Wakeups, claimed: Claimed, last: Callable[[], int]
    ) -> None:
        self._table = table
        self._wakeups = wakeups
        self._claimed = claimed
        self._log = TurnLog(last)
        self._number = self._sent = 0
        self._more = asyncio.Event()
        self._is_over = False
        self._turn = ""
        self._asked: dict[str, bool] = {}
        self._told: Standing | None = None
        self._sending = asyncio.ensure_future(self._send())

    def tell(self, event: TurnEvent) -> None:
        """Take an event. One interrupted by the end of a worker has no end yet."""
        match event:
            case TurnBegan(member="", turn=turn):
                self._turn = turn
            case CallAsked(approval=approval):
                self._asked[approval] = True
            case CallAnswered(approval=approval):
                self._asked[approval] = False
            case TurnEnded(member="", status="interrupted"):
                return
            case _:
                pass
        self._log.tell(event)
        self._more.set()

    async def close(self) -> None:
        """Send what is left."""
        self._is_over = True
        self._more.set()
        await self._sending

    async def _send(self) -> None:
        while not (self._is_over and self._sent == len(self._log.events)):
            await self._more.wait()
            self._more.clear()
            try:
                await self._send_batch()
            except TimelineError:
                # The server is away: the batch keeps its number, and is sent again.
                if self._is_over:
                    return
                self._more.set()
                await asyncio.sleep(_PAUSE)
            if not self._is_over:
                await asyncio.sleep(_REST)

    async def _send_batch(self) -> None:
        batch = self._log.events[self._sent :]
        if not batch:
            return
        waiting = [approval for approval, is_open in self._asked.items() if is_open]
        standing = Standing(self._turn, waiting, list(self._asked))
        is_new = standing != self._told
        body, number = _encode(batch), self._number

        def publish() -> None:
            self._table.publish(self._claimed, number, body, standing if is_new else None)

        await asyncio.to_thread(publish)
        self._told = standing
        self._sent += len(batch)
        self._number += 1
        self._wakeups.tell(turn_id(self._claimed.id))

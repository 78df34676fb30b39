"""The events of a turn, kept while it runs, for whoever follows it and whoever comes later.

Each reader goes at its own pace over the same list, so a slow one costs nothing and delays nobody.
An event is numbered by the timeline: `12.3` is the third one after block 12 was written.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncGenerator, Callable

import msgspec

from callblocks.model.turn_events import CallTold, TurnEnded, TurnEvent

__all__ = ("Logged", "TurnLog")

# Texts of one running call that are logged; later ones are dropped.
_TOLD = 1000
_LEFT_OUT = "\n… what it shows from here on is left out\n"


class Logged(msgspec.Struct, frozen=True, gc=False):
    """An event where it stands: after which block of the timeline, and as the how-many-th."""

    seq: int
    at: int
    event: TurnEvent


class TurnLog:
    """Takes events by `tell`; `last` says the last number of the timeline. In one event loop.

    `asked_at` is how far a reader came who left because the turn waits for an answer.
    """

    def __init__(self, last: Callable[[], int]) -> None:
        self.events: list[Logged] = []
        self.is_over = False
        self.asked_at = 0
        self._last = last
        self._told: Counter[tuple[str, str]] = Counter()
        self._place = (-1, 0)
        self._more: asyncio.Future[None] | None = None

    def tell(self, event: TurnEvent) -> None:
        """Take an event; the end of the turn is the last one."""
        if isinstance(event, CallTold):
            self._told[event.member, event.id] += 1
            over = self._told[event.member, event.id] - _TOLD
            if over > 1:
                return
            event = msgspec.structs.replace(event, text=_LEFT_OUT) if over == 1 else event
        seq = self._last()
        at = self._place[1] + 1 if seq == self._place[0] else 1
        self._place = (seq, at)
        self.events.append(Logged(seq, at, event))
        if isinstance(event, TurnEnded) and not event.member:
            self.is_over = True
        self._wake()

    def close(self) -> None:
        """Nothing more comes, also where the end was never told."""
        self.is_over = True
        self._wake()

    def after(self, seq: int, at: int = 0) -> int:
        """Return the index after the event of that number; an unknown number reads from there on
        again.
        """
        return bisect_right(self.events, (seq, at), key=lambda one: (one.seq, one.at))

    async def read(self, start: int = 0) -> AsyncGenerator[list[Logged], None]:
        """All from a place on: what is there at once, then what comes, until the turn is over."""
        while True:
            if batch := self.events[start:]:
                start += len(batch)
                yield batch
            elif self.is_over:
                return
            else:
                await self._next()

    async def _next(self) -> None:
        if self._more is None:
            self._more = asyncio.get_running_loop().create_future()
        # One reader that goes away must not take the others with it.
        await asyncio.shield(self._more)

    def _wake(self) -> None:
        if self._more is not None:
            self._more.set_result(None)
            self._more = None

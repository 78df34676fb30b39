"""Fair turns on the event loop, for a task that may never have to wait.

    turns = FairTurns()
    async for piece in pieces:
        turns.begin()
        …                    # work, in small parts
        await turns.pass_on()

A reply that is there already is read without a pause, however long it is, and text of a model may
take milliseconds to read: every other stream would wait. So a task that has worked for
`_LONGEST` seconds in all gives the others a turn. One that works for a tenth of a millisecond and
then waits for its next piece pays for that once in fifty pieces.
"""

from __future__ import annotations

import asyncio
from time import perf_counter

__all__ = ("FairTurns",)

_LONGEST = 0.005


class FairTurns:
    """The time that one task has held the event loop."""

    def __init__(self) -> None:
        self._held = 0.0
        self._since = 0.0

    def begin(self) -> None:
        """Begin to work, behind a wait."""
        self._since = perf_counter()

    async def pass_on(self) -> None:
        """Count the work since `begin`, or since this was last called; pass the turn on if due."""
        now = perf_counter()
        self._held += now - self._since
        self._since = now
        if self._held > _LONGEST:
            self._held = 0.0
            await asyncio.sleep(0)
            self._since = perf_counter()

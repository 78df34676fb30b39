"""The members of a team, asked concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from callblocks.model.turn_events import TurnEvent
from callblocks.session.session import Session, Tell
from callblocks.session.settings import Attachment
from callblocks.session.team_events import Place
from callblocks.session.team_member import Heard, Seat

__all__ = ("Panel",)


class Panel:
    """A group of members, of which at most `at_once` answer at the same time.

    Each member is a session with its own timeline and `member` name, used by one panel only.
    """

    def __init__(self, members: Sequence[Session], at_once: int = 4) -> None:
        self.members = tuple(members)
        self.is_stopped = False
        self._seats = [Seat(member) for member in members]
        self._at_once = at_once

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the members."""
        return tuple(seat.name for seat in self._seats)

    def stop(self) -> None:
        """Stop the members that answer; no other member begins."""
        self.is_stopped = True
        for member in self.members:
            member.stop()

    def settle(self) -> None:
        """Mark turns of dead processes as interrupted."""
        for member in self.members:
            member.settle()

    async def ask(
        self, turn: str, prompt: str, files: Sequence[Attachment], tell: Tell
    ) -> list[Heard]:
        """Ask every member; return the results when all are done."""
        self.is_stopped = False
        slots = asyncio.Semaphore(self._at_once)

        async def ask(at: int, seat: Seat) -> Heard:
            async with slots:
                if self.is_stopped:
                    return seat.failed("stopped", "it was not asked", "stopped")
                return await seat.answer(turn, prompt, files, self.telling(at, tell))

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(at, one)) for at, one in enumerate(self._seats, 1)]
        return [one.result() for one in asked]

    def replayed(self, turn: str) -> Iterator[TurnEvent]:
        """Yield the events of each member for a turn, one member after the other."""
        for at, seat in enumerate(self._seats, 1):
            yield from map(self._place(at).mark, seat.replayed(turn))

    def telling(self, at: int, tell: Tell) -> Tell:
        """Return a callback that marks the events of one place; place 0 is the consensus."""
        place = self._place(at)
        return lambda event: tell(place.mark(event))

    def _place(self, at: int) -> Place:
        return Place(at, len(self._seats) + 1)

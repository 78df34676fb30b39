"""A turn under way, for all who follow it: its log, its number, and the questions that it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing

from callblocks.model.turn_events import (
    PROSE,
    CallAnswered,
    CallAsked,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.server.settings import SdkClient
from callblocks.session.session import Session
from callblocks.session.turn_log import Logged, TurnLog

__all__ = ("RunningTurn",)


class RunningTurn:
    """A turn under way, for all who follow it. `turn` is "" until it has its number.

    `client` is the client that began it; None where none did.
    """

    def __init__(self, session: Session, count: Callable[[TurnEvent], None]) -> None:
        self.session = session
        state = session.recorder.state
        self.log = TurnLog(lambda: state.last)
        self.turn = ""
        self.fault: Exception | None = None
        self.client: SdkClient | None = None
        self._replayed = 0
        self._count = count
        self._asked: dict[str, int] = {}
        self._answered: set[str] = set()

    def replay(self, told: Iterable[Logged]) -> None:
        """Take what happened in this turn before it was interrupted."""
        for one in told:
            if not isinstance(one.event, TurnEnded) or one.event.member:
                self.log.events.append(one)
        self._replayed = len(self.log.events)

    @property
    def first(self) -> int:
        """The number of the turn's first block."""
        return self.session.recorder.state.turns.get(self.turn, 0)

    async def begun(self) -> None:
        """Wait until the turn has its number; a fault instead is raised."""
        async with aclosing(self.log.read(self._replayed)) as batches:
            await anext(batches, None)
        if self.fault is not None:
            raise self.fault

    def tell(self, event: TurnEvent) -> None:
        """Take what happens."""
        if not isinstance(event, PROSE):
            self._note(event)
        self.log.tell(event)

    def _note(self, event: TurnEvent) -> None:
        match event:
            case TurnBegan(member="", turn=turn):
                self.turn = turn
            case CallAsked(approval=approval):
                self._asked[approval] = len(self.log.events)
            case CallAnswered(approval=approval):
                self._answered.add(approval)
            case _:
                pass
        self._count(event)

    @property
    def waiting(self) -> list[str]:
        """The questions that no answer came to yet."""
        return [approval for approval in self._asked if approval not in self._answered]

    def asked(self, approval: str) -> bool:
        """Whether this turn asked that question."""
        return approval in self._asked

    def after(self, approvals: Sequence[str]) -> int:
        """Where the log goes on for a client that answers these questions."""
        asked = max(self._asked[approval] for approval in approvals) + 1
        return max(asked, self.log.asked_at)

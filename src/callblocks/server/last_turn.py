"""How a chat stands, and its last turn, read from its timeline: for who comes back later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from callblocks.model.blocks import Entry
from callblocks.model.turn_events import TurnEnded, TurnEvent
from callblocks.session.interrupted import interrupted_turn, open_turn, owner_lives
from callblocks.session.turn_log import TurnLog
from callblocks.timeline.state import State
from callblocks.views.replay import Replay, replayed

__all__ = ("ChatStatus", "LastTurn", "status_of")

ChatStatus: TypeAlias = Literal["idle", "running", "waiting", "interrupted"]
"""Nothing runs; a turn runs; it waits for a person; or it was interrupted, and can be resumed."""


def status_of(entries: Iterable[Entry]) -> ChatStatus:
    """How the chat stands, where no turn runs here."""
    state = State()
    state.feed(entries)
    turn = open_turn(state)
    if turn is not None:
        return "running" if owner_lives(state.owners[turn]) else "interrupted"
    return "idle" if interrupted_turn(state) is None else "interrupted"


class LastTurn:
    """The turn that a session began last; `turn` is "" where there is none."""

    def __init__(self, entries: Sequence[Entry], replay: Replay = replayed) -> None:
        self._replay = replay
        state = State()
        state.feed(entries)
        self.turn = next(reversed(state.owners), "")
        self.entries = [entry for entry in entries if entry.block.turn_id == self.turn]

    def log(self) -> TurnLog:
        """The log of a turn that runs no more: all of it stands after its last block."""
        log = TurnLog(lambda: self.entries[-1].seq)
        for event in self._replay(self.entries):
            log.tell(event)
        log.close()
        return log

    def place_after(self, log: TurnLog, seq: int, at: int) -> int:
        """Where that log goes on after an event that was told by it, or while the turn ran."""
        if not self.entries or seq >= self.entries[-1].seq:
            return log.after(seq, at)
        known = [entry for entry in self.entries if entry.seq <= seq]
        # While members of a team speak, nobody knows how far that was: they are told again.
        return _count((self._replay if any(map(_is_heard, known)) else replayed)(known))


def _is_heard(entry: Entry) -> bool:
    """Whether it is what a member of a team said in the end."""
    return entry.block.type == "user.attachment" and bool(entry.block.meta.get("member"))


def _count(events: Iterable[TurnEvent]) -> int:
    """How many there are before the end of the turn."""
    return sum(not isinstance(event, TurnEnded) or bool(event.member) for event in events)

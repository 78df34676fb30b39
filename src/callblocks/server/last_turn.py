"""How a chat stands, and a turn of it, read from its timeline: for who comes back later.

An event that is told from the timeline has the number of the block that it comes from: `12.0`. The
number of an event that was told while the turn ran, `12.3`, says that block 12 was there, and all
of it was told. So what comes after a number is what the blocks after it say, whichever it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from callblocks.model.blocks import Entry
from callblocks.model.turn_events import TurnEnded, TurnEvent
from callblocks.session.interrupted import interrupted_turn, open_turn, owner_lives
from callblocks.session.turn_log import Logged, TurnLog
from callblocks.timeline.state import State
from callblocks.views.replay import Replay, numbered, replayed

__all__ = ("ChatStatus", "LastTurn", "standing", "status_of")

ChatStatus: TypeAlias = Literal["idle", "running", "waiting", "interrupted"]
"""Nothing runs; a turn runs; it waits for a person; or it was interrupted, and can be resumed."""

_RESUME = "its program ended while it ran. POST /api/chat/{chat}/resume goes on with it"


def status_of(entries: Iterable[Entry]) -> ChatStatus:
    """How the chat stands, where no turn runs here."""
    return _status(_state(entries))


def standing(entries: Iterable[Entry]) -> tuple[ChatStatus, str]:
    """The same, and the turn that a session took last; "" where there is none."""
    state = _state(entries)
    return _status(state), next(reversed(state.owners), "")


class LastTurn:
    """The turn that a session took last, or the one that the block `seq` is of.

    `turn` is "" where there is none.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        replay: Replay = replayed,
        *,
        seq: int = 0,
        chat: str = "ID",
    ) -> None:
        state = _state(entries)
        last = next(reversed(state.owners), "")
        before = (one.block.turn_id for one in reversed(entries) if one.seq <= seq)
        self.turn = next((turn for turn in before if turn in state.owners), last)
        self.entries = [entry for entry in entries if entry.block.turn_id == self.turn]
        self._replay = replay
        self._chat = chat
        self._can_resume = self.turn == last and _status(state) == "interrupted"

    def told(self) -> list[Logged]:
        """What happened in the turn, in its order."""
        found: list[Logged] = []
        for seq, event in self._numbered():
            found.append(Logged(max(seq, found[-1].seq if found else 0), 0, event))
        ended = _end(found)
        if found and self._can_resume and (ended is None or ended.status == "interrupted"):
            words = _RESUME.format(chat=self._chat)
            known = ended or TurnEnded(turn=self.turn, status="interrupted", code="interrupted")
            last = Logged(found[-1].seq, 0, replace(known, message=words))
            return [*(found if ended is None else found[:-1]), last]
        return found

    def log(self) -> TurnLog:
        """The log of a turn that does not run here."""
        log = TurnLog(lambda: 0)
        log.events.extend(self.told())
        log.close()
        return log

    def place_after(self, log: TurnLog, seq: int, at: int) -> int:
        """Where that log goes on after an event; that a turn was interrupted is always told."""
        place, ended = log.after(seq, at), _end(log.events)
        is_interrupted = ended is not None and ended.status == "interrupted"
        return min(place, len(log.events) - 1) if is_interrupted else place

    def _numbered(self) -> Iterator[tuple[int, TurnEvent]]:
        own = list(numbered(self.entries))
        if self._replay is replayed:
            yield from own
            return
        is_over = bool(own) and isinstance(own[-1][1], TurnEnded)
        heard, rest = self._heard(is_over=is_over), iter(own)
        for event in self._replay(self.entries):
            yield (heard, event) if event.member else next(rest, (heard, event))

    def _heard(self, *, is_over: bool) -> int:
        """After which block all that members of a team did was told.

        While they speak nobody knows how far that was: they are told again.
        """
        heard = [entry.seq for entry in self.entries if _is_heard(entry)]
        return heard[-1] if heard else self.entries[-1].seq + (not is_over)


def _state(entries: Iterable[Entry]) -> State:
    state = State()
    state.feed(entries)
    return state


def _status(state: State) -> ChatStatus:
    turn = open_turn(state)
    if turn is not None:
        return "running" if owner_lives(state.owners[turn]) else "interrupted"
    return "idle" if interrupted_turn(state) is None else "interrupted"


def _end(told: Sequence[Logged]) -> TurnEnded | None:
    """How the turn ended, if it did."""
    event = told[-1].event if told else None
    return event if isinstance(event, TurnEnded) and not event.member else None


def _is_heard(entry: Entry) -> bool:
    """Whether it is what a member of a team said in the end."""
    return entry.block.type == "user.attachment" and bool(entry.block.meta.get("member"))

"""A cache of the titles and states of chats.

Of a timeline that was read before, only new blocks are read. Of a timeline whose last turn ended
properly, only the first blocks and the last one are read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import TimelineError
from callblocks.core.events import TurnEnded, TurnEvent
from callblocks.session.event_gate import Logged, TurnLog
from callblocks.session.turn_lock import interrupted_turn, open_turn, owner_lives
from callblocks.timeline.log.log import Store, Summary
from callblocks.timeline.timeline import State
from callblocks.views.replay import Replay, numbered, replayed

__all__ = (
    "ChatStatus",
    "KnownChats",
    "LastTurn",
    "standing",
    "status_of",
)

# --- The status of a chat and the events of a turn, read from its timeline ---
#
#     12.0     an event that was read from block 12 of the timeline
#     12.3     the third event after block 12, sent while the turn ran
#
# Both numbers mean that block 12 was written and everything up to it was sent. So a client with
# either number gets the events of the blocks after 12.

ChatStatus: TypeAlias = Literal["idle", "running", "waiting", "interrupted"]
"""Nothing runs; a turn runs; it waits for a person; or it was interrupted, and can be resumed."""

_RESUME = "its program ended while it ran. POST /api/chat/{chat}/resume goes on with it"


def status_of(entries: Iterable[Entry]) -> ChatStatus:
    """Return the status of a chat of which no turn runs in this process."""
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
        """Return the events of the turn, in order."""
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
        """Return the place in the log after an event; an interruption is always sent again."""
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
        """Return the block after which all events of the team's members have been sent.

        While members speak, no block says how far a client has come: their events are sent again.
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
    """Return the event that ended the turn; None if it did not end."""
    event = told[-1].event if told else None
    return event if isinstance(event, TurnEnded) and not event.member else None


def _is_heard(entry: Entry) -> bool:
    """Return whether an entry is the final answer of a team member."""
    return entry.block.type == "user.attachment" and bool(entry.block.meta.get("member"))


# --- The cache of titles and states ---

_TITLE = 80
_KEPT = 10_000
"""Chats that are known at a time."""


class KnownChats:
    """Chats of one store, by their names. Used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def title(self, chat: Summary) -> str:
        """Return the beginning of the first prompt, in one line."""
        known = self._at(chat)
        if known.title is None:
            known.title = _first_prompt(self._store.entries(chat.name))
        return known.title or ""

    def status(self, chat: Summary) -> ChatStatus:
        """Return the status of a chat of which no turn runs in this program."""
        known = self._at(chat)
        if known.count != chat.count:
            self._read(known, chat)
        if known.owner and not known.ended:
            return "running" if owner_lives(known.owner) else "interrupted"
        return "interrupted" if known.ended == "interrupted" and known.owner else "idle"

    def _at(self, chat: Summary) -> _Known:
        # One of the same name that was begun anew is another.
        key = (chat.name, chat.created)
        known = self._known.pop(key, None) or _Known()
        self._known[key] = known
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return known

    def _read(self, known: _Known, chat: Summary) -> None:
        if not known.count:
            last = list(_whole(self._store.entries(chat.name, chat.count - 1)))
            if last and _is_over(last[-1].block):
                known.count = last[-1].seq
                return
        for entry in _whole(self._store.entries(chat.name, known.count)):
            known.feed(entry)


class _Known:
    """The turn that was taken last: by whom, and how it ended; `count` blocks were read."""

    def __init__(self) -> None:
        self.count = 0
        self.title: str | None = None
        self.owner = self.ended = self._turn = ""

    def feed(self, entry: Entry) -> None:
        block, self.count = entry.block, entry.seq
        owner = block.meta.get("owner") if block.type == "timeline.settings" else None
        if isinstance(owner, str):
            self._turn, self.owner, self.ended = block.turn_id, owner, ""
        elif block.type == "timeline.turn" and block.turn_id == self._turn:
            self.ended = str(block.meta.get("status", "")) or "answered"


def _is_over(block: Block) -> bool:
    return block.type == "timeline.turn" and block.meta.get("status") != "interrupted"


def _first_prompt(entries: Iterable[Entry]) -> str | None:
    """None where there is none yet."""
    for entry in _whole(entries):
        if entry.block.type == "user.prompt":
            line = " ".join((entry.block.text or "")[: _TITLE * 20].split())
            return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"
    return None


def _whole(entries: Iterable[Entry]) -> Iterable[Entry]:
    """All that can be read."""
    try:
        yield from entries
    except TimelineError as error:
        if error.code != "store_damaged":
            raise

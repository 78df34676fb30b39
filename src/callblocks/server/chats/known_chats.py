"""A cache of the titles and states of chats.

Of a timeline that was read before, only new blocks are read. Of a timeline whose last turn ended
properly, only the first blocks and the last one are read.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias

import msgspec
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
    "LABELS",
    "Changed",
    "ChatLabels",
    "ChatStatus",
    "ChatSummary",
    "ChatWatch",
    "Gone",
    "KnownChats",
    "LastTurn",
    "Marked",
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


# --- Titles that people gave to chats, and chats that they deleted: a timeline of their own ---
#
#     {"type": "timeline.settings", "meta": {"chat": "trip", "title": "The island"}}
#     {"type": "timeline.settings", "meta": {"chat": "trip", "deleted": 42}}
#
# The log of a chat stays as it is: it is renamed while its turn runs, here or on another machine,
# and
# the labels of all chats are read in one place. `deleted` is how many blocks the chat had: one in
# which something is said again is there again.

LABELS = "callblocks.chats"
"""The name of the timeline."""


class ChatLabels:
    """The labels of the chats of one store. Used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._last = 0
        self._titles: dict[str, str] = {}
        self._deleted: dict[str, int] = {}

    def refresh(self) -> None:
        """Read what is new."""
        with self._lock:
            for entry in self._store.entries(LABELS, self._last):
                self._take(entry.block)
                self._last = entry.seq

    def title(self, chat: str) -> str:
        """Return the title that somebody gave to a chat; "" where nobody did."""
        return self._titles.get(chat, "")

    def is_deleted(self, chat: Summary) -> bool:
        """Return whether a chat was deleted, and nothing was said in it since."""
        return chat.count <= self._deleted.get(chat.name, -1)

    def rename(self, chat: str, title: str) -> None:
        """Give a chat a title; "" takes it back."""
        self._write({"chat": chat, "title": title})

    def delete(self, chat: str, count: int) -> None:
        """Take a chat of so many blocks out of the lists."""
        self._write({"chat": chat, "deleted": count})

    def _write(self, meta: dict[str, str | int]) -> None:
        ts = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        block = Block(
            type="timeline.settings", author="timeline", turn_id="labels", ts=ts, meta=meta
        )
        self._store.append(LABELS, [block])
        self.refresh()

    def _take(self, block: Block) -> None:
        chat, title, deleted = (block.meta.get(name) for name in ("chat", "title", "deleted"))
        if not isinstance(chat, str):
            return
        if isinstance(title, str):
            self._titles[chat] = title
        if isinstance(deleted, int):
            self._deleted[chat] = deleted


# --- Who follows the list of chats: one look at the store a second, for all of them ---

_EVERY = 1.0
"""Seconds between two looks at the store."""


class ChatSummary(msgspec.Struct, frozen=True):
    """A chat in a list; `waiting` counts its questions.

    `title` is what somebody called it, else how its first prompt begins.
    """

    id: str
    is_running: bool
    last: int
    created: str
    updated: str
    title: str
    status: ChatStatus
    waiting: int


class Changed(msgspec.Struct, frozen=True, tag="chat"):
    """A chat whose entry in the list is another one now."""

    chat: ChatSummary


class Gone(msgspec.Struct, frozen=True, tag="gone"):
    """A chat that is no longer in the list."""

    id: str


class Marked(NamedTuple):
    """A chat, and what changes where its entry in the list does."""

    id: str
    mark: object


class ChatWatch:
    """Looks at the list while anybody follows it. In one event loop.

    `look` gives all chats, `tell` what a list says of some; both may take their time.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Sequence[Marked]]],
        tell: Callable[[Sequence[str]], Awaitable[Sequence[ChatSummary]]],
    ) -> None:
        self._look_at = look
        self._tell = tell
        self._followers = 0
        self._looking: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None]
        self._moved = asyncio.Event()
        self._known: dict[str, object] = {}
        # The last change of each chat, with its number.
        self._changes: dict[str, tuple[int, Changed | Gone]] = {}
        self._number = 0

    async def follow(self) -> AsyncGenerator[Sequence[Changed | Gone], None]:
        """Yield what changes: first nothing, as soon as each change is noticed."""
        self._followers += 1
        try:
            if self._looking is None:
                self._begun = asyncio.get_running_loop().create_future()
                self._looking = asyncio.create_task(self._look_again(self._begun))
            # Whoever comes while the first look is under way waits for it, too.
            await asyncio.shield(self._begun)
            seen = self._number
            while True:
                moved = self._moved
                changes = [one for at, one in self._changes.values() if at > seen]
                seen = self._number
                yield changes
                await moved.wait()
        finally:
            self._followers -= 1
            if not self._followers and self._looking is not None:
                self._looking.cancel()
                self._looking = None
                self._changes = {}

    async def _look_again(self, begun: asyncio.Future[None]) -> None:
        try:
            self._known = {one.id: one.mark for one in await self._look_at()}
        except Exception as error:
            begun.set_exception(error)
            return
        begun.set_result(None)
        while True:
            await asyncio.sleep(_EVERY)
            try:
                await self._look()
            except TimelineError:
                # The store is away for a moment: what happened meanwhile is seen when it is back.
                continue

    async def _look(self) -> None:
        known = {one.id: one.mark for one in await self._look_at()}
        changed = [id for id, mark in known.items() if mark != self._known.get(id)]
        gone = [id for id in self._known if id not in known]
        if not changed and not gone:
            return
        told = await self._tell(changed)
        self._known = known
        self._number += 1
        for one in told:
            self._changes[one.id] = self._number, Changed(one)
        for id in gone:
            self._changes[id] = self._number, Gone(id)
        self._moved.set()
        self._moved = asyncio.Event()

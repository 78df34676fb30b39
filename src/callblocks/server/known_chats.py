"""What is known of chats without reading them again: how each begins, and how it stands.

Of a timeline that was read before, only what is new is read. Of one that ended its last turn as it
should, the first blocks and the last are enough.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from callblocks.model.blocks import Block, Entry
from callblocks.model.errors import TimelineError
from callblocks.server.last_turn import ChatStatus
from callblocks.session.interrupted import owner_lives
from callblocks.timeline.stores.store import Store, Summary

__all__ = ("KnownChats",)

_TITLE = 80
_KEPT = 10_000
"""Chats that are known at a time."""


class KnownChats:
    """Chats of one store, by their names. Used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def title(self, chat: Summary) -> str:
        """How the first prompt begins, in one line."""
        known = self._at(chat)
        if known.title is None:
            known.title = _first_prompt(self._store.entries(chat.name))
        return known.title or ""

    def status(self, chat: Summary) -> ChatStatus:
        """How the chat stands, where no turn of it runs in this program."""
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

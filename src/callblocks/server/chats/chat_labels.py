"""Titles that people gave to chats, and chats that they deleted: a timeline of their own.

    {"type": "timeline.settings", "meta": {"chat": "trip", "title": "The island"}}
    {"type": "timeline.settings", "meta": {"chat": "trip", "deleted": 42}}

The log of a chat stays as it is: it is renamed while its turn runs, here or on another machine, and
the labels of all chats are read in one place. `deleted` is how many blocks the chat had: one in
which something is said again is there again.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from callblocks.core.blocks import Block
from callblocks.timeline.log.log import Store, Summary

__all__ = ("LABELS", "ChatLabels")

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

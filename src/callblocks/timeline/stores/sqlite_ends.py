"""Where the timelines of a SQLite file end, known to the one who writes.

A writer knows what it wrote itself. What others wrote shows in `data_version`, which costs a
fraction of a look at the table.
"""

from __future__ import annotations

import sqlite3

from callblocks.timeline.stores.chain import genesis
from callblocks.timeline.stores.sqlite_rows import head_of
from callblocks.timeline.stores.store import Head

__all__ = ("HEAD", "Ends")

# Where the index no longer knows a name that is there, nothing can be said of its end.
HEAD = """
select id, count, hash from timelines where name = ?1
union all select null, null, null from timelines not indexed where name = ?1 limit 1
"""
"""The number, count and hash of a timeline by its name."""

_ENDS = 10_000
"""So many timelines a writer knows the ends of, at most."""


class Ends:
    """Where timelines end, while nobody but this writer has changed the file."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, Head]] = {}
        self._version: object = None

    def refresh(self, writer: sqlite3.Connection) -> None:
        """Forget all if another connection has written."""
        version = writer.execute("pragma data_version").fetchone()
        if version != self._version or len(self.known) > _ENDS:
            self.known.clear()
            self._version = version

    def find(self, writer: sqlite3.Connection, name: str) -> tuple[int | None, Head]:
        """The number of a timeline, None for a new one; and its end."""
        if known := self.known.get(name):
            return known
        found = writer.execute(HEAD, (name,)).fetchone()
        if found is None:
            return None, Head(0, genesis(name))
        return found[0], head_of(name, *found[1:])

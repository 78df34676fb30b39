"""A cache of the ends of the timelines in a SQLite file, for the writer.

A writer knows what it wrote itself. Writes of others show in `pragma data_version`, which costs a
fraction of a query.
"""

from __future__ import annotations

import sqlite3

from callblocks.timeline.stores.chain import genesis
from callblocks.timeline.stores.sqlite_rows import head_of
from callblocks.timeline.stores.store import Head

__all__ = ("HEAD", "Ends")

# Where the index lost a name that is in the table, nothing can be said of its end.
# The number, count and hash of a timeline by its name.
HEAD = """
select id, count, hash from timelines where name = ?1
union all select null, null, null from timelines not indexed where name = ?1 limit 1
"""

# The most timelines whose ends a writer caches.
_ENDS = 10_000


class Ends:
    """The ends of timelines, valid while nobody else has changed the file."""

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
        """Return the number of a timeline, `None` for a new one; and its end."""
        # Valid only after `refresh` within the same write transaction, which excludes other
        # writers.
        if known := self.known.get(name):
            return known
        found = writer.execute(HEAD, (name,)).fetchone()
        if found is None:
            return None, Head(0, genesis(name))
        return found[0], head_of(name, *found[1:])

"""The sources of a timeline, each under a number that never changes.

    sids = pool.add(rows)              a known source keeps its number, a new one gets the next
    text = pool.record()               what is new, for one block of type `timeline.sources`
    pool.apply(block)                  each such block of the timeline, in its order

Invariants
- The blocks alone determine the pool, so a restarted program has the same numbers.
- Rows that were added and not yet applied are a plan. `forget()` drops it where the block could not
  be written, because another writer was first: apply that writer's blocks, and add again.
- The same canonical URL, or the same file, is the same source (see `callblocks.model.sources`). A
  tool's row is about a file only where `has_file` confirms that there is one.
- In a damaged timeline a number may denote two sources: the first keeps it, the other is left out
  of the pool and listed in `conflicts`, since a citation may have meant the first. So is a number
  that is too large to be cited.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.selector import Ranges, chosen
from callblocks.model.sources import HasFile, Source, merged, source_of

__all__ = ("SourcesPool",)

# The largest number that is given or accepted.
_MOST = 999_999_999


class SourcesPool:
    """One allocator. `conflicts` are numbers in damaged blocks that the pool did not take."""

    def __init__(self, has_file: HasFile | None = None) -> None:
        self._has_file = has_file
        self.conflicts: list[int] = []
        self._rows: dict[int, Source] = {}
        self._sids: dict[str, int] = {}
        self._last = 0
        self._plan: dict[int, Source] = {}
        self._planned: dict[str, int] = {}
        self._last_planned = 0
        self._free = itertools.count(1)

    @property
    def sids(self) -> set[int]:
        """Return every number in use."""
        return self._rows.keys() | self._plan.keys()

    def get(self, sid: int) -> Source | None:
        """Return the source of a number, with everything known of it."""
        return self._plan.get(sid) or self._rows.get(sid)

    def find(self, row: Source | Mapping[str, Any]) -> Source | None:
        """Return the source that a row is about, if it is known."""
        return self._known(self.read(row))

    def read(self, row: Source | Mapping[str, Any]) -> Source:
        """Return a row as a source, without giving it a number."""
        return source_of(row, self._has_file)

    def select(self, ranges: Ranges) -> list[Source]:
        """Return the sources in the ranges, by number; skip unused numbers."""
        found = (self.get(sid) for sid in chosen(ranges, self.sids))
        return [source for source in found if source is not None]

    def add(self, rows: Iterable[Source | Mapping[str, Any]]) -> list[int]:
        """Return the number of each row's source, in the order of the rows."""
        return [self._add(self.read(row)) for row in rows]

    def record(self) -> str:
        """Return new and changed rows as JSON, the text of a `timeline.sources` block; ""
        for none.
        """
        rows = [self._plan[sid] for sid in sorted(self._plan)]
        return msgspec.json.encode(rows).decode() if rows else ""

    def forget(self) -> None:
        """Drop the plan: its numbers are free again."""
        self._plan, self._planned, self._last_planned = {}, {}, 0

    def apply(self, record: Block) -> None:
        """Take the rows of a `timeline.sources` block; skip unreadable ones."""
        for row in _read(record.text or ""):
            self._take(row)
        # Another writer's rows may use the planned numbers, so the plan is rebuilt against them.
        plan = self._plan
        self.forget()
        for row in plan.values():
            self._plan_again(row)

    def _add(self, row: Source) -> int:
        known = self._known(row)
        if known is None:
            known = msgspec.structs.replace(row, sid=self._next())
            self._lay(known)
        else:
            self._lay_changes(known, row)
        return known.sid

    def _lay(self, row: Source) -> None:
        self._plan[row.sid] = row
        self._last_planned = max(self._last_planned, row.sid)
        self._planned.setdefault(row.key, row.sid)

    def _lay_changes(self, known: Source, row: Source) -> None:
        changed = merged(known, row)
        if changed != known:
            self._lay(changed)

    def _plan_again(self, row: Source) -> None:
        """Keep a planned row, unless the timeline has it by now, or uses its number for another
        source.
        """
        known = self._rows.get(row.sid)
        if known is None:
            # A planned number is only kept while it is still beyond the end of the timeline's own
            # numbers.
            if row.sid > self._last and self._owner(row.key) is None:
                self._lay(row)
        elif known.key == row.key:
            self._lay_changes(known, row)

    def _take(self, row: Source) -> None:
        known = self._rows.get(row.sid, row)
        # Two sources under one number: the first keeps it, because existing citations may mean it.
        if known.key != row.key or row.sid > _MOST:
            self.conflicts.append(row.sid)
            return
        self._rows[row.sid] = merged(known, row)
        self._last = max(self._last, row.sid)
        self._sids.setdefault(row.key, row.sid)

    def _next(self) -> int:
        """Return the number after the last; where a damaged block took the very last, a
        free one.
        """
        following = max(self._last, self._last_planned) + 1
        if following <= _MOST:
            return following
        return next(sid for sid in self._free if self.get(sid) is None)

    def _known(self, row: Source) -> Source | None:
        sid = self._owner(row.key)
        return None if sid is None else self.get(sid)

    def _owner(self, key: str) -> int | None:
        return self._sids.get(key, self._planned.get(key))


def _read(text: str) -> Iterator[Source]:
    """Yield the readable rows of a record."""
    try:
        rows = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    for row in cast("list[Any]", rows) if isinstance(rows, list) else []:
        try:
            source = msgspec.convert(row, Source)
        except msgspec.MsgspecError:
            continue
        if source.sid >= 1:
            yield source

"""The sources of a timeline, each under a number that never changes.

    sids = pool.add(rows)              a known source keeps its number, a new one gets the next
    text = pool.record()               what is new, for one block of type `timeline.sources`
    pool.apply(block)                  each such block of the timeline, in its order

The blocks alone make the pool: a program that starts again has the same numbers. What was
added and not yet applied is a plan. `forget()` drops it, where the block could not be written:
another writer was first. Apply what that one wrote, and add again.

Same canonical URL or same path is the same source (see `callblocks.model.sources` for what is
merged). A URL or path that belongs to one source is never given to another. In a damaged
timeline a number may stand for two: the first keeps it, the other is left out of the pool and
named in `conflicts`, since whoever cited the number may have meant the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.selector import Ranges, chosen
from callblocks.model.sources import Source, merged, source_of

__all__ = ("SourcesPool",)

_MOST = 10**15 - 1
"""The largest number that a selector can name."""


class SourcesPool:
    """One allocator. `conflicts` are numbers that stood for two sources, in damaged blocks."""

    def __init__(self) -> None:
        self.conflicts: list[int] = []
        self._rows: dict[int, Source] = {}
        self._sids: dict[str, int] = {}
        self._last = 0
        self._plan: dict[int, Source] = {}
        self._planned: dict[str, int] = {}
        self._last_planned = 0

    @property
    def sids(self) -> set[int]:
        """Every number that is given out."""
        return self._rows.keys() | self._plan.keys()

    def get(self, sid: int) -> Source | None:
        """The source of a number, with all that is known of it."""
        return self._plan.get(sid) or self._rows.get(sid)

    def find(self, row: Source | Mapping[str, Any]) -> Source | None:
        """The source that a row is about, if it is known."""
        sid = self._owner(source_of(row).keys)
        return None if sid is None else self.get(sid)

    def select(self, ranges: Ranges) -> list[Source]:
        """The sources that the ranges name, by number; a number that none has is left out."""
        found = (self.get(sid) for sid in chosen(ranges, self.sids))
        return [source for source in found if source is not None]

    def add(self, rows: Iterable[Source | Mapping[str, Any]]) -> list[int]:
        """The number of each row's source, in the order of the rows."""
        return [self._add(source_of(row)) for row in rows]

    def record(self) -> str:
        """New and changed rows as JSON, the text of a `timeline.sources` block; "" for none."""
        rows = [self._plan[sid] for sid in sorted(self._plan)]
        return msgspec.json.encode(rows).decode() if rows else ""

    def forget(self) -> None:
        """Drop what was added and is in no block: its numbers are free again."""
        self._plan, self._planned, self._last_planned = {}, {}, 0

    def apply(self, record: Block) -> None:
        """Take the rows of a `timeline.sources` block; what cannot be read is passed over."""
        for row in _read(record.text or ""):
            self._take(row)
        plan = self._plan
        self.forget()
        for row in plan.values():
            self._plan_again(row)

    def _add(self, row: Source) -> int:
        known = self.find(row)
        if known is None:
            known = msgspec.structs.replace(row, sid=max(self._last, self._last_planned) + 1)
            self._lay(known)
        else:
            self._lay_changes(known, row)
        return known.sid

    def _lay(self, row: Source) -> None:
        self._plan[row.sid] = row
        self._last_planned = max(self._last_planned, row.sid)
        for key in row.keys:
            self._planned.setdefault(key, row.sid)

    def _lay_changes(self, known: Source, row: Source) -> None:
        changed = merged(known, self._unclaimed(known.sid, row))
        if changed != known:
            self._lay(changed)

    def _plan_again(self, row: Source) -> None:
        """Keep a planned row, unless the timeline has it by now, or means another by its number."""
        known = self._rows.get(row.sid)
        if known is None:
            if row.sid > self._last and self._owner(row.keys) is None:
                self._lay(row)
        elif _is_same(known, row):
            self._lay_changes(known, row)

    def _take(self, row: Source) -> None:
        known = self._rows.get(row.sid, row)
        if not _is_same(known, row):
            self.conflicts.append(row.sid)
            return
        taken = merged(known, self._unclaimed(row.sid, row))
        self._rows[row.sid] = taken
        self._last = max(self._last, row.sid)
        for key in taken.keys:
            self._sids.setdefault(key, row.sid)

    def _unclaimed(self, sid: int, row: Source) -> Source:
        """The row without a URL or path that belongs to another number."""
        url = row.url if self._is_free(sid, Source(url=row.url)) else ""
        path = row.path if self._is_free(sid, Source(path=row.path)) else ""
        return msgspec.structs.replace(row, url=url, path=path)

    def _is_free(self, sid: int, part: Source) -> bool:
        return self._owner(part.keys) in (None, sid)

    def _owner(self, keys: Iterable[str]) -> int | None:
        """The number of the first key that belongs to one."""
        for key in keys:
            sid = self._sids.get(key, self._planned.get(key))
            if sid is not None:
                return sid
        return None


def _is_same(one: Source, other: Source) -> bool:
    return not set(one.keys).isdisjoint(other.keys)


def _read(text: str) -> Iterator[Source]:
    """The rows of a record that can be read."""
    try:
        rows = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    for row in cast("list[Any]", rows) if isinstance(rows, list) else []:
        try:
            source = msgspec.convert(row, Source)
        except msgspec.MsgspecError:
            continue
        if 1 <= source.sid <= _MOST:
            yield source

"""The state of a timeline: blocks by path, hidden blocks, rounds, sources, turns.

    state = State()
    state.feed(timeline.entries(after=state.last))

Invariants
- The state is a fold over the entries in their order, and depends on nothing else, so a restarted
  program has the same state.
- Each entry costs the same, however long the timeline is.
- A `timeline.hidden` record covers the blocks at its path whose number is between `after` and
  `before` of its meta, except frozen ones: all up to `frozen`, the furthest cache point that there
  ever was. Later settings do not move `frozen` back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from callblocks.model.blocks import RECORDS, Block, Entry
from callblocks.timeline.pool import SourcesPool
from callblocks.timeline.rounds import CacheSettings, CallKey, Rounds
from callblocks.timeline.uses import Uses

__all__ = ("State",)


class State:
    """A timeline read so far.

    `turns` are those of any block, also of a record: they are taken; each has the number of its
    first block. `uses` is what is known of the ids in them, for naming calls. `hidden` maps the
    number of each hidden block to the number of the record over it. `settings` are those of the
    timeline, else those given. `owners` are the programs that took turns, where recorded, in that
    order; `ended` are the turns that are over, with their status.
    """

    def __init__(self, settings: CacheSettings | None = None) -> None:
        self.last = 0
        self.settings = settings or CacheSettings()
        self.rounds = Rounds()
        self.frozen = 0
        self.pool = SourcesPool(lambda path: path in self._at)
        self.turns: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.uses: defaultdict[CallKey, Uses] = defaultdict(Uses)
        self.hidden: dict[int, int] = {}
        self.placeholders: dict[int, str] = {}
        self._shown: list[Entry] = []
        self._at: dict[str, list[Entry]] = {}
        self._visible: dict[str, list[Entry]] = {}

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take the entries that follow."""
        for entry in entries:
            self.rounds.feed(entry)
            self.last = entry.seq
            self.turns.setdefault(entry.block.turn_id, entry.seq)
            if entry.block.type in RECORDS:
                self._record(entry)
            else:
                self._show(entry)
            # Monotonic on purpose: what a provider has cached stays cached, whatever later settings
            # say.
            self.frozen = max(self.frozen, self.rounds.cache_point(self.settings))

    def at(self, path: str) -> list[Entry]:
        """Return every block at a path, hidden or not, oldest first."""
        return list(self._at.get(path, ()))

    def has(self, path: str) -> bool:
        """Return whether any block was written at a path."""
        return path in self._at

    def visible(self, path: str) -> list[Entry]:
        """Return the blocks at a path that are not hidden, oldest first."""
        return list(self._visible.get(path, ()))

    def backwards(self) -> Iterable[Entry]:
        """Return all blocks that are no records, newest first."""
        return reversed(self._shown)

    def _show(self, entry: Entry) -> None:
        self._shown.append(entry)
        if entry.block.path:
            self._at.setdefault(entry.block.path, []).append(entry)
            self._visible.setdefault(entry.block.path, []).append(entry)

    def _record(self, entry: Entry) -> None:
        match entry.block.type:
            case "timeline.hidden":
                self._hide(entry)
            case "timeline.sources":
                self.pool.apply(entry.block)
            case "timeline.turn":
                self.ended[entry.block.turn_id] = str(entry.block.meta.get("status", ""))
            case "timeline.settings":
                self._set(entry.block)
            case _:
                pass

    def _set(self, record: Block) -> None:
        self.settings = _settings(record, self.settings)
        owner = record.meta.get("owner")
        if isinstance(owner, str):
            # A program that resumes an interrupted turn owns it then, and the turn is not over.
            self.owners.pop(record.turn_id, None)
            self.owners[record.turn_id] = owner
            self.ended.pop(record.turn_id, None)

    def _hide(self, entry: Entry) -> None:
        after = max(self.frozen, _number(entry.block.meta.get("after"), 0))
        before = _number(entry.block.meta.get("before"), entry.seq)
        # Only visible blocks are kept in this list, so a block is hidden at most once and the total
        # cost of all records is linear.
        visible = self._visible.get(entry.block.path, [])
        newer: list[Entry] = []
        # From the end, so that frozen blocks are not visited again with each record.
        while visible and visible[-1].seq > after:
            block = visible.pop()
            if block.seq < before:
                self.hidden[block.seq] = entry.seq
                self.placeholders[block.seq] = entry.block.text or ""
            else:
                newer.append(block)
        visible.extend(reversed(newer))


def _number(value: Any, default: int) -> int:
    return value if type(value) is int else default


def _settings(record: Block, settings: CacheSettings) -> CacheSettings:
    """Return the settings of a record; the previous ones where it has none that can be read."""
    try:
        said = msgspec.json.decode(record.text or "{}")
        return msgspec.convert(said["cache"], CacheSettings)
    except (msgspec.MsgspecError, KeyError, TypeError):
        return settings

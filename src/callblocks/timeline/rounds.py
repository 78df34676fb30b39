"""Rounds of a timeline, and the point up to which it is frozen for prompt caches.

A round is one call with its results. It counts once its results are there, so rounds stand in the
order in which they ended, and a running call is no round yet:

    call a · call b · result b · result a        round 1 is b, round 2 is a

The cache point is the end of round n - offset. Blocks at or before it are never shown differently
again, because the provider's cache holds exactly those bytes, and changing one byte would make the
provider process everything after it anew. So the record of what a call hides is written before its
results: its own round does not count yet then.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from callblocks.model.blocks import Block, Entry

__all__ = ("CacheSettings", "CallKey", "Rounds", "call_key")

# A call in a timeline: its turn and its id. Models number their calls anew in each turn.
CallKey: TypeAlias = tuple[str, str]

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class CacheSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings: how far back the model may hide blocks, and where the cache point stands.

    There is a cache point once there are `cache_point_min_rounds` rounds, and more than
    `cache_point_offset_rounds`, which is the number of the newest rounds that stay behind it.
    """

    editable_tail_size_in_tokens: _Count = 2000
    cache_point_min_rounds: _Count = 2
    cache_point_offset_rounds: _Count = 4


class Rounds:
    """The counter of rounds, fed with entries in their order."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._asked: set[CallKey] = set()
        self._last: CallKey | None = None
        self._going_on = False

    @property
    def count(self) -> int:
        """Return the number of rounds."""
        return len(self._ends)

    def feed(self, entry: Entry) -> None:
        """Take the next entry."""
        key = call_key(entry.block)
        # Strategy: `_asked` are calls without a result, `_last` is the call of the newest round,
        # `_going_on` is true while its results continue without a block of another call in between.
        if entry.block.type == "react.tool.call":
            self._ask(key)
        # Several results of one call in a row extend its round; a result of another call ends it.
        elif self._going_on and key == self._last:
            self._ends[-1] = entry.seq
        elif entry.block.type == "react.tool.result" and key in self._asked:
            self._asked.discard(key)
            self._ends.append(entry.seq)
            self._last, self._going_on = key, True
        else:
            self._going_on = False

    def _ask(self, key: CallKey) -> None:
        """Note a call: its results end a round of its own, also where its id was used before."""
        self._asked.add(key)
        self._going_on = False

    def cache_point(self, settings: CacheSettings) -> int:
        """Return the number of the last entry of round n - offset; 0 where there is no such
        round.
        """
        count = len(self._ends)
        index = count - max(settings.cache_point_offset_rounds, 0)
        if count < settings.cache_point_min_rounds or index < 1:
            return 0
        return self._ends[index - 1]


def call_key(block: Block) -> CallKey:
    """Return the call that a block belongs to; its id is empty for a block of no call."""
    return block.turn_id, block.call_id

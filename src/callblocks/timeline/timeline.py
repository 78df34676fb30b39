"""One timeline of a store.

with Timeline.open("state/timeline.sqlite", "talk") as timeline:
    timeline.append([block])
    async for entry in timeline.follow(after=12): ...
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Self

from callblocks.model.blocks import Block, Entry
from callblocks.timeline.stores.opening import open_store
from callblocks.timeline.stores.store import Head, Store, check_name
from callblocks.timeline.stores.verify import Finding, verify

__all__ = ("Timeline",)


class Timeline:
    """A name in a store; an invalid name is a `TimelineError` (`bad_name`)."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = check_name(name)

    @classmethod
    def open(cls, target: str | os.PathLike[str], name: str) -> Self:
        """Return the timeline in the store at a path or an address; closing it closes the store."""
        check_name(name)
        return cls(open_store(target), name)

    def append(self, blocks: Iterable[Block], expected: int | None = None) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns.

        With `expected`, a timeline that does not have exactly this many blocks is a `conflict`.
        """
        return self.store.append(self.name, blocks, expected)

    def entries(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Return the entries with a number above `after`."""
        return self.store.entries(self.name, after, limit)

    def head(self) -> Head:
        """Return the number of blocks, and the hash of the last."""
        return self.store.head(self.name)

    def follow(self, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes."""
        return self.store.follow(self.name, after)

    def verify(self, known: Head | None = None) -> list[Finding]:
        """Return every fault of the timeline; nothing, if all is well.

        `known` is an earlier end of it, noted elsewhere: with it, a cut end is noticed as well.
        """
        return verify(self.store, self.name, known)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

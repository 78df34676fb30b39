"""What a store of timelines does: append, read, follow. Two keep this promise, with the same tests.

with open_store("state/timeline.sqlite") as store:
    store.append("talk", [block])            # on disk when it returns
    for entry in store.entries("talk"): ...
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator
from typing import Protocol, Self

import msgspec

from callblocks.model.blocks import Block, Entry
from callblocks.model.brief import brief
from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.chain import DAMAGED, decode

__all__ = ("MAX_APPEND", "MAX_BLOCK", "Head", "Row", "Store", "Summary", "check_name")

MAX_BLOCK = 16 * 1024 * 1024
"""Bytes of an encoded block; what is larger belongs into an artifact."""
MAX_APPEND = 16 * MAX_BLOCK
"""Bytes of all blocks of one append."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Head(msgspec.Struct, frozen=True):
    """The end of a timeline: how many blocks it has, and the hash of the last."""

    count: int
    hash: str


class Row(msgspec.Struct, frozen=True):
    """An entry as the store keeps it; `body` is None where the store itself cannot read it."""

    seq: int
    body: bytes | None
    hash: str

    def entry(self) -> Entry:
        """What it says; where that cannot be read, `DAMAGED` stands."""
        return Entry(self.seq, DAMAGED if self.body is None else decode(self.body), self.hash)


class Summary(msgspec.Struct, frozen=True):
    """A timeline in a list; the times are ISO 8601 with a Z."""

    name: str
    count: int
    hash: str
    created: str
    updated: str


class Store(Protocol):
    """Timelines by name. Every method may be called from any thread.

    A timeline exists from its first block on; one that is unknown reads as empty. What goes wrong
    is a `TimelineError` with a code of `callblocks.timeline.codes`.
    """

    def append(
        self, name: str, blocks: Iterable[Block], expected: int | None = None
    ) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns.

        With `expected`, a timeline that has not exactly so many blocks is a `conflict`. After
        `store_unavailable` nobody knows whether they are there: read before writing again.
        """
        ...

    def entries(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries with a number above `after`.

        What cannot be read is a `timeline.damaged` block in its place. If the file is damaged,
        `store_damaged` is raised after all that can be read.
        """
        ...

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """The entries as they are kept, for whoever checks them."""
        ...

    def head(self, name: str) -> Head:
        """Where the timeline ends, as its own row says."""
        ...

    def names(self) -> list[Summary]:
        """Every timeline, by name."""
        ...

    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """The entries above `after`, and then each new one as it comes, until the store closes.

        Whoever stops early closes it, with `contextlib.aclosing`.
        """
        ...

    def close(self) -> None:
        """Let go of the file or the connections; followers end."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def check_name(name: str) -> str:
    """The name, if a timeline may have it; else `bad_name`."""
    if not _NAME.fullmatch(name):
        raise TimelineError(
            "bad_name",
            f"{brief(name)} cannot name a timeline; use up to 100 letters, digits and . _ -",
        )
    return name

"""The part that both stores share: checks and encoding before a commit, and reading by pages."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import islice
from operator import lt
from typing import Self

from callblocks.model.blocks import Block, Entry
from callblocks.model.errors import NotABlock, TimelineError
from callblocks.timeline.stores.chain import encode
from callblocks.timeline.stores.forks import Owned
from callblocks.timeline.stores.group import Group, Request
from callblocks.timeline.stores.store import MAX_APPEND, MAX_BLOCK, Head, Row, Summary, check_name

__all__ = ("PAGE_BYTES", "PAGE_ROWS", "Log")

PAGE_ROWS = 500
# A page ends after this many bytes, so that large blocks do not fill the memory.
PAGE_BYTES = 4 * 1024 * 1024


class Log(Owned, ABC):
    """A store without the parts that depend on the database."""

    def __init__(self) -> None:
        super().__init__()
        self._group = Group(self._commit)

    def append(
        self, name: str, blocks: Iterable[Block], expected: int | None = None
    ) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns."""
        bodies = [encode(_checked(block)) for block in blocks]
        size = _checked_size(bodies)
        self.check_owner()
        if not bodies and expected is None:
            return []
        return self._group.run(Request(check_name(name), bodies, expected, size))

    def entries(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Yield the entries with a number above `after`; see `Store`."""
        lost: list[int] = []
        for row in self.rows(name, after, limit):
            if row.body is None:
                lost.append(row.seq)
            yield row.entry()
        if lost:
            raise TimelineError(
                "store_damaged",
                f"{len(lost)} blocks of timeline {name} cannot be read, the first is number"
                f" {lost[0]}; verify names them all",
                lost=lost[:100],
            )

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield the entries as they are stored."""
        return islice(self._rows(check_name(name), max(after, 0)), limit)

    def _rows(self, name: str, after: int) -> Iterator[Row]:
        page = self._try_page(name, after)
        # Pages while the database can read them; after damage, row by row, so that one bad page
        # costs only its own blocks.
        while page:
            yield from page
            after = page[-1].seq
            page = self._try_page(name, after)
        if page is None:
            # The count may be damaged too, so it is bounded by what the file can hold.
            for seq in range(after + 1, min(self.head(name).count, self._room()) + 1):
                yield from self._try_row(name, seq)

    def _try_page(self, name: str, after: int) -> list[Row] | None:
        """Return the next rows; `None` if the database cannot read that far."""
        try:
            page = self._page(name, after)
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
            return None
        # Numbers out of order are damage too, and would make a reader loop.
        numbers = [after, *(row.seq for row in page)]
        return page if all(map(lt, numbers, numbers[1:])) else None

    def _try_row(self, name: str, seq: int) -> list[Row]:
        try:
            return self._row(name, seq)
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
            return [Row(seq, None, "")]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def _commit(self, batch: list[Request]) -> None:
        """Write a batch in one commit, and answer every request. One thread at a time."""

    @abstractmethod
    def _page(self, name: str, after: int) -> list[Row]:
        """Return some rows above `after`, in order; none if there are no more."""

    @abstractmethod
    def _row(self, name: str, seq: int) -> list[Row]:
        """Return one row, if it exists."""

    def _room(self) -> int:
        """Return an upper bound of the number of blocks."""
        return sys.maxsize

    @abstractmethod
    def head(self, name: str) -> Head:
        """Return the end of the timeline."""

    @abstractmethod
    def names(self) -> list[Summary]:
        """Return every timeline, by name."""

    @abstractmethod
    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes."""

    @abstractmethod
    def close(self) -> None:
        """Close the file or the connections; followers end."""


def _checked(block: object) -> Block:
    if not isinstance(block, Block):
        raise NotABlock(block)
    return block


def _checked_size(bodies: list[bytes]) -> int:
    """Return the bytes of all; raise `block_too_large` for too many, of one or of all."""
    size = sum(map(len, bodies))
    if size > MAX_BLOCK and (largest := max(map(len, bodies))) > MAX_BLOCK:
        raise TimelineError(
            "block_too_large",
            f"a block of {largest:,} bytes passes the limit of {MAX_BLOCK:,};"
            " keep its content as an artifact",
            size=largest,
            limit=MAX_BLOCK,
        )
    if size > MAX_APPEND:
        raise TimelineError(
            "block_too_large",
            f"{len(bodies)} blocks at once pass the limit of {MAX_APPEND:,} bytes;"
            " append fewer at a time",
            size=size,
            limit=MAX_APPEND,
        )
    return size

"""The part that both stores share: checks and encoding before a commit, and reading by pages."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import islice
from operator import lt
from pathlib import Path
from typing import Self
from weakref import WeakSet

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import NotABlock, TimelineError
from callblocks.timeline.log.group_commit import AppendRequest, GroupCommit
from callblocks.timeline.log.store import (
    MAX_APPEND,
    MAX_BLOCK,
    Head,
    StoredRow,
    Summary,
    check_name,
    encode,
)

__all__ = (
    "PAGE_BYTES",
    "PAGE_ROWS",
    "Log",
    "Owned",
    "check_not_inherited",
)

# --- Protection against forks: a store belongs to the process that opened it ---
#
# A fork copies locks that another thread may hold, and connections that the parent continues to
# use. So a store refuses to work in a child, which must open one of its own. With SQLite it cannot
# even do that while the parent had the same file open: the library counts the locks of a file per
# process, and would take the parent's for its own. Such a child must be started afresh
# (`subprocess`, or `spawn` in `multiprocessing`), or forked before the store is opened.

_ADVICE = "open it after the fork, or start the process with spawn"


class Owned:
    """An object that only the process which made it may use."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        _owned.add(self)

    @property
    def is_inherited(self) -> bool:
        """Return whether another process made it, and this one is its child."""
        return os.getpid() != self._owner

    def check_owner(self) -> None:
        """Refuse to be used in a child."""
        if self.is_inherited:
            raise TimelineError(
                "store_unavailable", f"this timeline store was opened before a fork: {_ADVICE}"
            )

    def files(self) -> tuple[Path, ...]:
        """Return the files that a child must not open while the parent's are in its memory."""
        return ()


_owned: WeakSet[Owned] = WeakSet()
_inherited_files: set[tuple[int, int]] = set()


def check_not_inherited(path: Path) -> None:
    """Refuse to open a file that was open when this process was forked."""
    if _inherited_files and _key(path) in _inherited_files:
        raise TimelineError(
            "store_unavailable",
            f"timeline store {path} was open when this process was forked: {_ADVICE}",
            path=str(path),
        )


def _key(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _inherit() -> None:
    """Mark, in a child, what the parent has open: it is never used, and never closed either.

    Closing it would end a transaction of the parent, in memory that both share. The reference count
    is raised for good, so that the garbage collector never closes it.
    """
    if not _owned:
        return
    import ctypes

    # The set is weak and may change while it is iterated, hence the copy.
    for owned in tuple(_owned):
        _inherited_files.update(key for file in owned.files() if (key := _key(file)))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))


os.register_at_fork(after_in_child=_inherit)


# --- The part that both stores share: checks, encoding, and reading by pages ---

PAGE_ROWS = 500
# A page ends after this many bytes, so that large blocks do not fill the memory.
PAGE_BYTES = 4 * 1024 * 1024


class Log(Owned, ABC):
    """A store without the parts that depend on the database."""

    def __init__(self) -> None:
        super().__init__()
        self._group = GroupCommit(self._commit)

    def append(
        self, name: str, blocks: Iterable[Block], expected: int | None = None
    ) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns."""
        bodies = [encode(_checked(block)) for block in blocks]
        size = _checked_size(bodies)
        self.check_owner()
        if not bodies and expected is None:
            return []
        return self._group.run(AppendRequest(check_name(name), bodies, expected, size))

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

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Yield the entries as they are stored."""
        return islice(self._rows(check_name(name), max(after, 0)), limit)

    def _rows(self, name: str, after: int) -> Iterator[StoredRow]:
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

    def _try_page(self, name: str, after: int) -> list[StoredRow] | None:
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

    def _try_row(self, name: str, seq: int) -> list[StoredRow]:
        try:
            return self._row(name, seq)
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
            return [StoredRow(seq, None, "")]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def _commit(self, batch: list[AppendRequest]) -> None:
        """Write a batch in one commit, and answer every request. One thread at a time."""

    @abstractmethod
    def _page(self, name: str, after: int) -> list[StoredRow]:
        """Return some rows above `after`, in order; none if there are no more."""

    @abstractmethod
    def _row(self, name: str, seq: int) -> list[StoredRow]:
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

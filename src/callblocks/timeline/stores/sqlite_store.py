"""Timelines in one SQLite file: any number of processes read it while one at a time writes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from time import gmtime, strftime, time
from typing import Any

from callblocks.model.blocks import Entry
from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.chain import genesis
from callblocks.timeline.stores.group import Request
from callblocks.timeline.stores.log import PAGE_ROWS, Log
from callblocks.timeline.stores.placing import Placed, by_name, place
from callblocks.timeline.stores.sqlite_ends import HEAD, Ends
from callblocks.timeline.stores.sqlite_file import SEQ_BITS, connect, fault, prepare, told
from callblocks.timeline.stores.sqlite_rows import head_of, page_of, summary_of
from callblocks.timeline.stores.store import Head, Row, Summary, check_name

__all__ = ("SqliteStore",)

# The least bytes of a block: its hash alone has this many.
_ROW_BYTES = 64
# Seconds between two checks whether another process wrote; a check costs microseconds.
_POLL = 0.025
_START = f"(select id << {SEQ_BITS} from timelines where name = ?1)"
_END = f"(select (id + 1) << {SEQ_BITS} from timelines where name = ?1)"
_PAGE = f"""
select seq, body, hash from blocks
where place > {_START} + ?2 and place < {_END} order by place limit {PAGE_ROWS}
"""
_ROW = f"select seq, body, hash from blocks where place = {_START} + ?2"
_NAMES = "select name, count, hash, created, updated from timelines not indexed order by name"
_ADD = """
insert into timelines (name, count, hash, created, updated) values (?, 0, '', ?, ?) returning id
"""
_INSERT = "insert into blocks (place, hash, body) values (?, ?, ?)"
_MOVE = "update timelines set count = ?, hash = ?, updated = ? where id = ?"


class SqliteStore(Log):
    """A store in a file; `patience` is the seconds that a writer waits for another process."""

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 10.0) -> None:
        self.path = Path(path)
        self._patience = patience
        self._closed = False
        super().__init__()
        self._followers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        prepare(self.path, patience)
        # The leader of a group uses the writer; readers take turns.
        self._writer: sqlite3.Connection | None = None
        self._ends = Ends()
        self._reading = threading.Lock()
        with told(self.path, opening=True):
            self._reader = connect(self.path, patience)
            self._reader.execute("pragma query_only = on")

    def head(self, name: str) -> Head:
        """Return the end of the timeline, as its own row says."""
        rows = self._read(HEAD, check_name(name))
        return head_of(name, *rows[0][1:]) if rows else Head(0, genesis(name))

    def names(self) -> list[Summary]:
        """Return every timeline, by name."""
        return [summary_of(row) for row in self._read(_NAMES)]

    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes."""
        return self._follow(check_name(name), max(after, 0))

    async def _follow(self, name: str, after: int) -> AsyncGenerator[Entry, None]:
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        self._followers.add((loop, event))
        seen = None
        try:
            while not self._closed:
                event.clear()
                # Read before the rows: an entry that comes in between is then read once more, not
                # missed.
                version = self._read("pragma data_version")
                if version == seen:
                    await _wait(loop, event)
                    continue
                seen = version
                for row in self._rows(name, after):
                    yield row.entry()
                    after = row.seq
                    if row.seq % PAGE_ROWS == 0:
                        await asyncio.sleep(0)
        except TimelineError:
            # Another thread may close the store while this one reads.
            if not self._closed:
                raise
        finally:
            self._followers.discard((loop, event))

    def close(self) -> None:
        """Close the file; followers end."""
        self._closed = True
        if self.is_inherited:
            return
        self._wake()
        self._group.alone(self._drop_writer)
        with self._reading:
            self._reader.close()

    def files(self) -> tuple[Path, ...]:
        """Return the file, while it is open."""
        return () if self._closed else (self.path,)

    def _commit(self, batch: list[Request]) -> None:
        try:
            writer = self._open_writer()
            writer.execute("begin immediate")
            # After BEGIN IMMEDIATE: from here on nobody else can write, so the cached ends cannot
            # become stale before the commit.
            self._ends.refresh(writer)
            done = [self._write(writer, name, some) for name, some in by_name(batch).items()]
            writer.execute("commit")
        except BaseException as error:
            # A new connection has no trace of the fault; closing also rolls back.
            self._drop_writer()
            if isinstance(error, (sqlite3.Error, UnicodeDecodeError)):
                raise fault(self.path, error) from error
            raise
        # Answered only after the commit: an answer means that the blocks are on disk.
        for placed in done:
            placed.settle()
        self._wake()

    def _open_writer(self) -> sqlite3.Connection:
        self._check_open()
        if self._writer is None:
            self._writer = connect(self.path, self._patience)
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            # Closing rolls back what was not committed.
            self._writer.close()
            self._writer = None
            self._ends = Ends()

    def _write(self, writer: sqlite3.Connection, name: str, requests: list[Request]) -> Placed:
        id, head = self._ends.find(writer, name)
        placed = place(name, head, requests)
        if placed.rows:
            now = _said(int(time()))
            if id is None:
                (id,) = writer.execute(_ADD, (name, now, now)).fetchone()
            # All blocks of a timeline are neighbours in the B-tree, in their order.
            start = id << SEQ_BITS
            values = [(start + row.seq, row.hash, row.body) for row in placed.rows]
            writer.executemany(_INSERT, values)
            writer.execute(_MOVE, (placed.head.count, placed.head.hash, now, id))
            self._ends.known[name] = id, placed.head
        return placed

    def _page(self, name: str, after: int) -> list[Row]:
        page = self._read(_PAGE, name, after, fetch=page_of)
        if not page and not after:
            # Either unknown, or damaged: reading its end tells which.
            self.head(name)
        return page

    def _row(self, name: str, seq: int) -> list[Row]:
        return self._read(_ROW, name, seq, fetch=page_of)

    def _room(self) -> int:
        # The size as the system counts it, because the file's own header may be damaged too.
        files = (self.path, Path(f"{self.path}-wal"))
        with told(self.path):
            return sum(file.stat().st_size for file in files if file.exists()) // _ROW_BYTES

    def _read(
        self, query: str, *values: Any, fetch: Callable[[Iterable[Any]], list[Any]] = list
    ) -> list[Any]:
        self.check_owner()
        with self._reading, told(self.path):
            self._check_open()
            with closing(self._reader.execute(query, values)) as found:
                return fetch(found)

    def _check_open(self) -> None:
        if self._closed:
            raise TimelineError("store_unavailable", f"timeline store {self.path} was closed")

    def _wake(self) -> None:
        for loop, event in tuple(self._followers):
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                # That loop is closed: nobody follows there any more.
                self._followers.discard((loop, event))


@lru_cache(1)
def _said(second: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(second))


async def _wait(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Sleep until this process writes, or until it is time to check whether another did."""
    timer = loop.call_later(_POLL, event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()

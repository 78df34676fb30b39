"""Timelines in a PostgreSQL database: any number of processes on any number of machines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from time import monotonic
from typing import Any, LiteralString, TypeAlias

import psycopg
from psycopg import sql

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import AppendRequest, Log
from callblocks.timeline.log.postgres_link import (
    PAGE,
    channel_of,
    connect,
    is_lost,
    page_values,
    place_of,
    prepare,
    told,
)
from callblocks.timeline.log.postgres_writer import PostgresWriter
from callblocks.timeline.log.store import Head, StoredRow, Summary, check_name, genesis

__all__ = (
    "PostgresStore",
    "follow_entries",
)

# --- Following a timeline in PostgreSQL ---
#
# A notification is only a hint that there may be more. Entries are read by number, so none is
# missed or doubled when a notification or the connection is lost.

_FollowConnection: TypeAlias = psycopg.AsyncConnection[Any]
# Seconds after which a follower reads without a notification.
_FOLLOW_SECONDS = 1.0
# Seconds for which a follower waits for a server that went away.
_PATIENCE = 30.0
_PAUSE = 0.2


async def follow_entries(
    address: str, name: str, after: int, is_closed: Callable[[], bool]
) -> AsyncGenerator[Entry, None]:
    """Yield the entries above `after`, and then each new one as it comes."""
    connection: _FollowConnection | None = None
    well = monotonic()
    try:
        while not is_closed():
            try:
                # LISTEN before the first read: an entry that is written in between is then both
                # read and notified, never lost.
                connection = connection or await _listen(address, name)
                page = await _read(connection, name, after)
                well = monotonic()
                if not page:
                    await _hint(connection)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                connection = await _drop(connection)
                if monotonic() - well > _PATIENCE:
                    with told(address):
                        raise
                await asyncio.sleep(_PAUSE)
                continue
            for row in page:
                yield row.entry()
                after = row.seq
    finally:
        await _drop(connection)


async def _listen(address: str, name: str) -> _FollowConnection:
    connection = await psycopg.AsyncConnection.connect(address, autocommit=True, connect_timeout=10)
    try:
        await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel_of(name))))
    except BaseException:
        await connection.close()
        raise
    return connection


async def _read(connection: _FollowConnection, name: str, after: int) -> list[StoredRow]:
    found = await connection.execute(PAGE, page_values(name, after))
    return [StoredRow(*row) for row in await found.fetchall()]


async def _hint(connection: _FollowConnection) -> None:
    """Wait for a notification, or for a while."""
    async for _ in connection.notifies(timeout=_FOLLOW_SECONDS, stop_after=1):
        pass


async def _drop(connection: _FollowConnection | None) -> None:
    if connection is not None:
        await connection.close()


# --- Timelines in a PostgreSQL database: any number of processes on any number of machines ---

_HEAD: LiteralString = "select count, hash from callblocks_timelines where name = %s"
_ROW: LiteralString = """
select seq, body, hash from callblocks_blocks
where timeline = (select id from callblocks_timelines where name = %s) and seq = %s
"""
_TIME: LiteralString = """'YYYY-MM-DD"T"HH24:MI:SS"Z"'"""
_NAMES: LiteralString = f"""
select name, count, hash,
    to_char(created at time zone 'UTC', {_TIME}), to_char(updated at time zone 'UTC', {_TIME})
from callblocks_timelines where count > 0 order by name collate "C"
"""


class PostgresStore(Log):
    """A store on a server; a broken connection is made anew."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self._closed = False
        prepare(address)
        # The leader of a group uses the writer; readers take turns.
        self._writer = PostgresWriter(address)
        self._reading = threading.Lock()
        self._reader: psycopg.Connection[Any] | None = None

    def head(self, name: str) -> Head:
        """Return the end of the timeline, as its own row says."""
        rows = self._read(_HEAD, check_name(name))
        return Head(*rows[0]) if rows else Head(0, genesis(name))

    def names(self) -> list[Summary]:
        """Return every timeline, by name."""
        return [Summary(*row) for row in self._read(_NAMES)]

    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes."""
        self.check_owner()
        return follow_entries(self.address, check_name(name), after, lambda: self._closed)

    def close(self) -> None:
        """Close the connections; followers end."""
        self._closed = True
        if self.is_inherited:
            # The parent continues to use these connections.
            return
        self._group.alone(self._writer.close)
        with self._reading:
            self._drop_reader()

    def _commit(self, batch: list[AppendRequest]) -> None:
        self._check_open()
        with told(self.address):
            self._writer.write(batch)

    def _page(self, name: str, after: int) -> list[StoredRow]:
        return [StoredRow(*row) for row in self._read(PAGE, *page_values(name, after))]

    def _row(self, name: str, seq: int) -> list[StoredRow]:
        return [StoredRow(*row) for row in self._read(_ROW, name, seq)]

    def _read(self, query: LiteralString, *values: Any) -> list[Any]:
        self.check_owner()
        # One reader connection, used by one thread at a time: psycopg connections are not
        # concurrent, and reads are short.
        with self._reading, told(self.address):
            self._check_open()
            if self._reader is None:
                self._reader = connect(self.address)
                return self._reader.execute(query, values).fetchall()
            try:
                return self._reader.execute(query, values).fetchall()
            except psycopg.Error as error:
                if not is_lost(error, self._reader):
                    raise
                # The server may have been restarted: retry once. A read is idempotent.
                self._drop_reader()
                self._reader = connect(self.address)
                return self._reader.execute(query, values).fetchall()

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _check_open(self) -> None:
        if self._closed:
            raise TimelineError(
                "store_unavailable", f"timeline store {place_of(self.address)} was closed"
            )

"""Timelines in a PostgreSQL database: any number of processes on any number of machines."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from typing import Any, LiteralString

import psycopg

from callblocks.model.blocks import Entry
from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.chain import genesis
from callblocks.timeline.stores.group import Request
from callblocks.timeline.stores.log import Log
from callblocks.timeline.stores.postgres_follow import follow_entries
from callblocks.timeline.stores.postgres_link import (
    PAGE,
    connect,
    is_lost,
    page_values,
    place_of,
    prepare,
    told,
)
from callblocks.timeline.stores.postgres_writer import PostgresWriter
from callblocks.timeline.stores.store import Head, Row, Summary, check_name

__all__ = ("PostgresStore",)

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

    def _commit(self, batch: list[Request]) -> None:
        self._check_open()
        with told(self.address):
            self._writer.write(batch)

    def _page(self, name: str, after: int) -> list[Row]:
        return [Row(*row) for row in self._read(PAGE, *page_values(name, after))]

    def _row(self, name: str, seq: int) -> list[Row]:
        return [Row(*row) for row in self._read(_ROW, name, seq)]

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

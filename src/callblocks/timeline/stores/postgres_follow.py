"""Following a timeline in PostgreSQL.

A notification is only a hint that there may be more. Entries are read by number, so none is missed
or doubled when a notification or the connection is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from time import monotonic
from typing import Any, TypeAlias

import psycopg
from psycopg import sql

from callblocks.model.blocks import Entry
from callblocks.timeline.stores.postgres_link import PAGE, channel_of, page_values, told
from callblocks.timeline.stores.store import Row

__all__ = ("follow_entries",)

_Connection: TypeAlias = psycopg.AsyncConnection[Any]
# Seconds after which a follower reads without a notification.
_LOOK = 1.0
# Seconds for which a follower waits for a server that went away.
_PATIENCE = 30.0
_PAUSE = 0.2


async def follow_entries(
    address: str, name: str, after: int, is_closed: Callable[[], bool]
) -> AsyncGenerator[Entry, None]:
    """Yield the entries above `after`, and then each new one as it comes."""
    connection: _Connection | None = None
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


async def _listen(address: str, name: str) -> _Connection:
    connection = await psycopg.AsyncConnection.connect(address, autocommit=True, connect_timeout=10)
    try:
        await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel_of(name))))
    except BaseException:
        await connection.close()
        raise
    return connection


async def _read(connection: _Connection, name: str, after: int) -> list[Row]:
    found = await connection.execute(PAGE, page_values(name, after))
    return [Row(*row) for row in await found.fetchall()]


async def _hint(connection: _Connection) -> None:
    """Wait for a notification, or for a while."""
    async for _ in connection.notifies(timeout=_LOOK, stop_after=1):
        pass


async def _drop(connection: _Connection | None) -> None:
    if connection is not None:
        await connection.close()

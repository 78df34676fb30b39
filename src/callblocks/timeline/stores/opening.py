"""Opening of the store that a text names.

state/timeline.sqlite             a SQLite file
postgresql://user@host/database   a PostgreSQL server, with `callblocks[postgres]`
"""

from __future__ import annotations

import os

from callblocks.model.errors import TimelineError
from callblocks.model.extras import MissingExtra, needing
from callblocks.timeline.stores.address import server_address
from callblocks.timeline.stores.store import Store

__all__ = ("open_store",)


def open_store(target: str | os.PathLike[str]) -> Store:
    """Return the store at a path or an address; raise `TimelineError` if it cannot be opened."""
    path = os.fspath(target)
    if (address := server_address(path)) is not None:
        return _open_postgres(address)
    from callblocks.timeline.stores.sqlite_store import SqliteStore

    return SqliteStore(path)


def _open_postgres(address: str) -> Store:
    try:
        with needing("postgres", "a store on PostgreSQL"):
            from callblocks.timeline.stores.postgres_store import PostgresStore
    except MissingExtra as error:
        raise TimelineError("store_unavailable", str(error), extra=error.extra) from error
    return PostgresStore(address)

"""A PostgreSQL database of timelines: its connections, its tables, and its errors.

    postgresql://user@host/database?options=-csearch_path%3Dmine

The tables are where the search path of the connection says.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict

from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import PAGE_BYTES, PAGE_ROWS, genesis

__all__ = (
    "PAGE",
    "SCHEMA",
    "channel_of",
    "connect",
    "is_lost",
    "page_values",
    "place_of",
    "prepare",
    "told",
    "was_undone",
)

# The version of the tables below; it grows with each change of them.
#
# Neighbouring versions run at once while a cluster is updated, so a change comes in two releases.
# The first only adds what has a default, and names in the column `oldest` of its row the oldest
# version that can go on beside it. A later one removes what nobody uses any more, and raises
# `oldest`. Without that column, a newer version is refused.
SCHEMA = 2

_SETTINGS: LiteralString = """
select set_config('lock_timeout', '10s', false),
    set_config('default_transaction_isolation', 'read committed', false),
    case when current_setting('synchronous_commit') = 'off'
    then set_config('synchronous_commit', 'on', false) end
"""
# A process that makes the tables at the same time waits, and finds them.
_SCHEMA_LOCK: LiteralString = "select pg_advisory_xact_lock(7162817358327836)"
_TABLES: LiteralString = """
create table if not exists callblocks_schema (version integer not null);
create table if not exists callblocks_timelines (
    id bigint generated always as identity primary key,
    name text not null unique,
    count bigint not null,
    hash text not null,
    created timestamptz not null default now(),
    updated timestamptz not null default now(),
    fence bigint not null default 0
) with (fillfactor = 50);
create table if not exists callblocks_blocks (
    timeline bigint not null,
    seq bigint not null,
    hash text not null,
    body bytea not null,
    batch uuid not null,
    primary key (timeline, seq)
);
"""

# What version 2 added: a number that no writer with a smaller one can pass.
_SECOND: LiteralString = """
alter table callblocks_timelines add column if not exists fence bigint not null default 0;
update callblocks_schema set version = 2 where version < 2;
"""

# As JSON: the column `oldest` is there only from the first version on that has a use for it.
_VERSION: LiteralString = """
select max(version), max(coalesce((to_jsonb(one) ->> 'oldest')::integer, version))
from callblocks_schema as one
"""

# The rows after one, as many as make a page; `page_values` gives its parameters.
PAGE: LiteralString = """
select seq, body, hash from (
    select seq, body, hash, sum(octet_length(body)) over (order by seq) - octet_length(body) as size
    from (
        select seq, body, hash from callblocks_blocks
        where timeline = (select id from callblocks_timelines where name = %s) and seq > %s
        order by seq limit %s
    ) as next
) as sized where size < %s order by seq
"""

_CODES = {
    "53100": "store_full",
    "53300": "store_busy",
    "55P03": "store_busy",
    "57014": "store_busy",
    "40P01": "store_busy",
    "40001": "store_busy",
    "XX001": "store_damaged",
    "XX002": "store_damaged",
    "42P01": "store_damaged",
    "42703": "store_damaged",
    "23505": "store_damaged",
}
_ADVICE = {
    "store_busy": "others hold it; try again",
    "store_full": "nothing was written; make room on the server",
    "store_damaged": "see what verify and export can still read",
    "store_unavailable": "see that the server runs and the address is right",
}


def connect(address: str) -> psycopg.Connection[Any]:
    """Return a connection in autocommit mode; a commit is on disk.

    It waits no longer than ten seconds for another writer.
    """
    connection = psycopg.connect(address, autocommit=True, connect_timeout=10)
    try:
        connection.execute(_SETTINGS)
    except BaseException:
        connection.close()
        raise
    return connection


@lru_cache(4096)
def channel_of(name: str) -> str:
    """Return the channel on which followers of a timeline listen; hashed to fit into 63 bytes."""
    return f"callblocks_{genesis(name)[:40]}"


def page_values(name: str, after: int) -> tuple[Any, ...]:
    """Return the parameters of `PAGE`."""
    return (name, after, PAGE_ROWS, PAGE_BYTES)


def place_of(address: str) -> str:
    """Return the address for a message: without user, password and options."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error:
        return "postgresql://…"
    return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"


def prepare(address: str) -> None:
    """Create the tables, or bring older ones up to date; refuse newer ones."""
    # The version is read before and after: another process may have created the tables, possibly of
    # a newer version, while this one waited for the lock.
    with told(address), connect(address) as connection:
        version, oldest = _version(connection)
        if version is None or version < SCHEMA:
            with connection.transaction():
                connection.execute(_SCHEMA_LOCK)
                connection.execute(_TABLES)
                connection.execute(
                    "insert into callblocks_schema select %s"
                    " where not exists (select from callblocks_schema)",
                    (SCHEMA,),
                )
                connection.execute(_SECOND)
            version, oldest = _version(connection)
    if oldest is not None and oldest > SCHEMA:
        raise TimelineError(
            "newer_schema",
            f"timeline store {place_of(address)} has version {version}, and this callblocks knows"
            f" {SCHEMA}; use a newer callblocks",
            version=version,
            known=SCHEMA,
        )


@contextmanager
def told(address: str) -> Generator[None, None, None]:
    """Translate faults of a server into a `TimelineError` that names it."""
    try:
        yield
    except psycopg.Error as error:
        code = _CODES.get(error.sqlstate or "", "store_unavailable")
        place = place_of(address)
        said = " ".join(str(error).split())
        raise TimelineError(
            code, f"timeline store {place}: {said}; {_ADVICE[code]}", place=place
        ) from error


def is_lost(error: psycopg.Error, connection: psycopg.Connection[Any]) -> bool:
    """Return whether the connection was lost, and with it the result of the last statement."""
    return (
        connection.closed or connection.broken or (error.sqlstate or "").startswith(("08", "57P"))
    )


def was_undone(error: psycopg.Error) -> bool:
    """Return whether the server aborted it for another one, as in a deadlock: it may be retried."""
    return (error.sqlstate or "").startswith("40")


def _version(connection: psycopg.Connection[Any]) -> tuple[int | None, int | None]:
    """Return the version of the tables, and the oldest that can use them; `None` without tables."""
    there = connection.execute("select to_regclass('callblocks_schema')").fetchone()
    if there is None or there[0] is None:
        return None, None
    row = connection.execute(_VERSION).fetchone()
    return (row[0], row[1]) if row else (None, None)

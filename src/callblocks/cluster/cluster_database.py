"""A few connections to PostgreSQL that threads take in turn, and the tables of a cluster.

Each piece of work is one transaction. Where the connection is lost, the work is done again on a new
one, for as long as a server takes to start anew; so all work here can be repeated without harm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, LiteralString, TypeAlias, TypeVar

import psycopg
from psycopg.rows import TupleRow

from callblocks.core.errors import TimelineError
from callblocks.timeline.log.postgres_store import connect, is_lost, place_of, told, was_undone

__all__ = ("CLUSTER_VERSION", "Connection", "Database", "prepare_cluster")

Connection: TypeAlias = psycopg.Connection[TupleRow]
T = TypeVar("T")

# The version of the tables below; it grows with each change of them, as that of the timelines does:
# a row that a later version writes names in `oldest` the version that can go on beside it.
CLUSTER_VERSION = 1

_LOCK: LiteralString = "select pg_advisory_xact_lock(7162817358327837)"
# A turn is active while it is queued or running: a timeline has one such turn at a time.
_TABLES: LiteralString = """
create table if not exists callblocks_cluster (version integer not null);
create sequence if not exists callblocks_fences;
create table if not exists callblocks_turns (
    id bigint generated always as identity primary key,
    key uuid not null unique,
    timeline text not null,
    username text not null,
    format integer not null,
    request bytea not null,
    state text not null check (state in ('delayed', 'queued', 'running', 'ended', 'quarantined')),
    attempt integer not null default 1,
    is_enqueued boolean not null default false,
    worker bigint,
    fence bigint not null default 0,
    base bigint not null default 0,
    deaths integer not null default 0,
    turn text not null default '',
    waiting text[] not null default '{}',
    asked text[] not null default '{}',
    is_stopped boolean not null default false,
    status text not null default '',
    code text not null default '',
    message text not null default '',
    created timestamptz not null default now(),
    due timestamptz not null default now(),
    every float8 not null default 0,
    began timestamptz,
    ended timestamptz
);
create unique index if not exists callblocks_turns_active on callblocks_turns (timeline)
    where state in ('queued', 'running');
create index if not exists callblocks_turns_worker on callblocks_turns (worker)
    where worker is not null;
create index if not exists callblocks_turns_waiting on callblocks_turns (id)
    where not is_enqueued and state in ('delayed', 'queued');
create index if not exists callblocks_turns_user on callblocks_turns (username)
    where state in ('delayed', 'queued', 'running');
create index if not exists callblocks_turns_over on callblocks_turns (ended);
create table if not exists callblocks_claims (timeline text primary key, fence bigint not null);
create table if not exists callblocks_turn_events (
    turn bigint not null,
    fence bigint not null,
    number integer not null,
    body bytea not null,
    primary key (turn, fence, number)
);
create table if not exists callblocks_workers (
    id bigint generated always as identity primary key,
    name text not null,
    format integer not null,
    began timestamptz not null default now(),
    beat timestamptz not null default now(),
    is_dead boolean not null default false
);
create table if not exists callblocks_approvals (
    number bigint generated always as identity primary key,
    id text not null unique,
    state text not null
        check (state in ('pending', 'approved', 'denied', 'used', 'expired', 'revoked')),
    fingerprint text not null,
    grant_key text not null,
    tool text not null,
    shown text not null,
    asked_at float8 not null,
    answered_at float8 not null default 0,
    expires_at float8 not null,
    reason text not null default '',
    minutes integer not null default 0,
    tainted integer not null,
    is_whole integer not null default 1,
    since float8 not null,
    boot text not null,
    steady_expires float8 not null
);
create unique index if not exists callblocks_approvals_pending
    on callblocks_approvals (fingerprint) where state = 'pending';
create index if not exists callblocks_approvals_fingerprint
    on callblocks_approvals (fingerprint, number);
create index if not exists callblocks_approvals_grant
    on callblocks_approvals (grant_key, number) where minutes > 0;
create index if not exists callblocks_approvals_open
    on callblocks_approvals (state) where state in ('pending', 'approved');
create table if not exists callblocks_intents (
    number bigint generated always as identity primary key,
    key text not null unique,
    timeline text not null,
    turn text not null,
    call text not null,
    tool text not null,
    input text not null,
    fence bigint not null,
    began float8 not null,
    ended float8,
    outcome text
);
create index if not exists callblocks_intents_turn on callblocks_intents (turn);
create index if not exists callblocks_intents_open on callblocks_intents (number)
    where ended is null;
create table if not exists callblocks_settings (name text primary key, value text not null);
"""
_VERSION: LiteralString = """
select max(version), max(coalesce((to_jsonb(one) ->> 'oldest')::integer, version))
from callblocks_cluster as one
"""


def prepare_cluster(address: str) -> None:
    """Create the tables of a cluster if they do not exist; refuse newer ones."""
    with told(address), connect(address) as connection, connection.transaction():
        connection.execute(_LOCK)
        connection.execute(_TABLES)
        connection.execute(
            "insert into callblocks_cluster select %s"
            " where not exists (select from callblocks_cluster)",
            (CLUSTER_VERSION,),
        )
        row = connection.execute(_VERSION).fetchone()
    version, oldest = row or (CLUSTER_VERSION, CLUSTER_VERSION)
    if oldest > CLUSTER_VERSION:
        raise TimelineError(
            "newer_schema",
            f"the tables of the cluster have version {version}, and this callblocks knows"
            f" {CLUSTER_VERSION}; use a newer callblocks",
            version=version,
            known=CLUSTER_VERSION,
        )


class Database:
    """At most `size` connections. Every fault is a `TimelineError`."""

    def __init__(self, address: str, size: int = 4) -> None:
        self.address = address
        self._places = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False

    def do(self, work: Callable[[Connection], T], patience: float = 20.0) -> T:
        """Do some work in a transaction; `patience` is how long a lost server is waited for."""
        latest = time.monotonic() + patience
        with self._places, told(self.address):
            while True:
                try:
                    return self._try(work)
                except psycopg.Error as error:
                    lost = isinstance(error, psycopg.OperationalError) or was_undone(error)
                    if not lost or self._is_closed or time.monotonic() > latest:
                        raise
                time.sleep(0.1)

    def execute(self, query: LiteralString, *values: Any) -> list[TupleRow]:
        """Execute one statement as work of its own; return its rows."""

        def work(connection: Connection) -> list[TupleRow]:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description is not None else []

        return self.do(work)

    @contextmanager
    def borrow(self) -> Generator[Connection]:
        """Give a connection in a transaction; faults are those of the driver, and nothing is tried
        again.
        """
        with self._places:
            connection = self._take()
            try:
                with connection.transaction():
                    yield connection
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Close the connections that nobody uses; the others close when their work is done."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _try(self, work: Callable[[Connection], T]) -> T:
        connection = self._take()
        try:
            with connection.transaction():
                result = work(connection)
        except psycopg.Error as error:
            if is_lost(error, connection):
                connection.close()
            raise
        finally:
            self._give_back(connection)
        return result

    def _take(self) -> Connection:
        with self._lock:
            if self._is_closed:
                place = place_of(self.address)
                raise TimelineError("store_unavailable", f"the database {place} was closed")
            if self._idle:
                return self._idle.pop()
        return connect(self.address)

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._is_closed and not connection.closed and not connection.broken:
                self._idle.append(connection)
                return
        connection.close()

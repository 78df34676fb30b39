"""Timelines in a PostgreSQL database: any number of processes on any number of machines.

Writing to PostgreSQL: one statement, one round trip, one commit for a whole batch.

    quick     the ends of the timelines are known: a statement that changes nothing where
              another writer was first
    careful   the ends are locked and read, and then written

The careful way does what the quick one could not. If the connection breaks in the middle, it is
unknown whether the batch was written: the careful way checks. Each block carries the id of its
batch, because an equal block of another writer at the same place has the same hash and
would be mistaken for ours.

Fencing: a timeline keeps the largest number that an append carried, and refuses one with a smaller
number. A worker that was stopped while another took its turn over has the smaller number, whenever
it goes on. The number stands in the row that the append updates anyway, so the check is part of the
statement and costs nothing. A writer without a number has 0, and writes where no worker ever did.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from time import monotonic, sleep
from typing import Any, LiteralString, NamedTuple, TypeAlias
from uuid import UUID, uuid4

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import (
    PAGE_BYTES,
    PAGE_ROWS,
    AppendRequest,
    Head,
    Log,
    Placed,
    StoredRow,
    Summary,
    by_name,
    check_name,
    genesis,
    place,
)

__all__ = (
    "PAGE",
    "SCHEMA",
    "PostgresStore",
    "PostgresWriter",
    "channel_of",
    "connect",
    "follow_entries",
    "is_lost",
    "page_values",
    "place_of",
    "prepare",
    "told",
    "was_undone",
)

# --- A PostgreSQL database of timelines: its connections, its tables, and its errors ---
#
#     postgresql://user@host/database?options=-csearch_path%3Dmine
#
# The tables are where the search path of the connection says.

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


# --- Timelines in a PostgreSQL database: any number of processes on any number of machines ---

# A single block, the most common case: without arrays, and each value sent once.
_WRITE_ONE: LiteralString = """
with moved as (
    update callblocks_timelines
    set count = %(seq)b, hash = %(hash)b, updated = now(), fence = %(fence)b
    where id = %(id)b and count + 1 = %(seq)b and hash = %(was)b and fence <= %(fence)b
    returning id
), added as (
    insert into callblocks_blocks (timeline, seq, hash, body, batch)
    select id, %(seq)b, %(hash)b, %(body)b, %(batch)b from moved
)
"""
_HINT_ONE: LiteralString = "select id, pg_notify(%(channel)b, '') from moved"
_WRITE: LiteralString = """
with moved as (
    update callblocks_timelines as old
    set count = new.count, hash = new.hash, updated = now(), fence = new.fence
    from unnest(
        %b::bigint[], %b::text[], %b::bigint[], %b::text[], %b::bigint[], %b::text[], %b::bigint[]
    ) as new (id, channel, was_count, was_hash, count, hash, fence)
    where old.id = new.id and old.count = new.was_count and old.hash = new.was_hash
        and old.fence <= new.fence
    returning old.id, new.channel
), added as (
    insert into callblocks_blocks (timeline, seq, hash, body, batch)
    select new.timeline, new.seq, new.hash, new.body, %b
    from unnest(%b::bigint[], %b::bigint[], %b::text[], %b::bytea[])
        as new (timeline, seq, hash, body)
    join moved on moved.id = new.timeline
)
"""
_HINT: LiteralString = "select id, pg_notify(channel, '') from moved"
# For a store that is told which timelines grew: a commit that notifies takes a lock of the whole
# server, which halves the appends.
_NO_HINT: LiteralString = "select id from moved"
_ADD: LiteralString = (
    "insert into callblocks_timelines (name, count, hash)"
    " select name, 0, hash from unnest(%s::text[], %s::text[]) as new (name, hash)"
    " on conflict do nothing"
)
_LOCK: LiteralString = (
    "select name, id, count, hash, fence from callblocks_timelines"
    " where name = any(%s) order by name for update"
)
_LOOK: LiteralString = (
    "select 1 from callblocks_blocks where timeline = %s and seq = %s and hash = %s and batch = %s"
)
_TRIES = 4


_Connection: TypeAlias = psycopg.Connection[Any]
_Values: TypeAlias = Sequence[Any] | Mapping[str, Any]


class _Work(msgspec.Struct):
    """A batch in progress: its remaining requests, and those that may have been written already."""

    left: dict[str, list[AppendRequest]]
    sent: dict[str, Placed]
    # The same for every try, so that a later try finds what an earlier one wrote.
    batch: UUID


class _End(NamedTuple):
    """The true end of a timeline, and the largest fence that an append to it carried."""

    head: Head
    fence: int


class PostgresWriter:
    """The connection of the committer; made when needed, and anew when it broke."""

    def __init__(self, address: str, *, hints: bool = True, patience: float = 0.0) -> None:
        self._address = address
        self._patience = patience
        self._write_one: LiteralString = _WRITE_ONE + (_HINT_ONE if hints else _NO_HINT)
        self._write_many: LiteralString = _WRITE + (_HINT if hints else _NO_HINT)
        self._connection: _Connection | None = None
        self._cursor: psycopg.Cursor[Any]
        self._ids: dict[str, int] = {}
        self._heads: dict[str, Head] = {}

    def write(self, batch: list[AppendRequest]) -> None:
        """Write a batch and answer every request; raise what psycopg raises."""
        work = _Work(by_name(batch), {}, uuid4())
        latest, left = monotonic() + self._patience, _TRIES
        while True:
            left -= 1
            connection = self._open_until(latest)
            try:
                self._quick(work)
                self._careful(connection, work)
                return
            except psycopg.Error as error:
                self._heads.clear()
                # The batch may have been committed although its answer was lost. The next try takes
                # the careful way, which looks for the batch id.
                if is_lost(error, connection):
                    self.close()
                elif not was_undone(error):
                    raise
                if left <= 0 and monotonic() >= latest:
                    raise
            # Interrupted in an unknown state: a new connection starts clean.
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        self._heads.clear()
        if connection is not None:
            connection.close()

    def _open_until(self, latest: float) -> _Connection:
        """Return the connection; a server that is away is waited for."""
        while True:
            try:
                return self._open()
            except psycopg.OperationalError:
                if monotonic() >= latest:
                    raise
            sleep(_PAUSE)

    def _open(self) -> _Connection:
        if self._connection is None:
            self._connection = connect(self._address)
            self._cursor = self._connection.cursor()
        return self._connection

    def _quick(self, work: _Work) -> None:
        """Write after the known ends."""
        known = [
            place(name, self._heads[name], requests)
            for name, requests in work.left.items()
            if name in self._heads and len({request.fence for request in requests}) == 1
        ]
        # A stale end would refuse a request wrongly, so those are left to the careful way. So is a
        # fence that is too small: the statement leaves its timeline as it is.
        ready = [placed for placed in known if placed.rows and not placed.refused]
        if not ready:
            return
        written = self._send(ready, work)
        for placed in ready:
            if self._ids[placed.name] in written:
                self._settle(placed, placed.head, work)
            else:
                del self._heads[placed.name], work.sent[placed.name]

    def _careful(self, connection: _Connection, work: _Work) -> None:
        """Lock the ends; write what was sent before and is not there."""
        if not work.left:
            return
        with connection.transaction():
            # Row locks on all timelines of the batch, taken in one statement; `was_undone` covers a
            # deadlock with another writer that has them in another order.
            ends = self._lock(connection, list(work.left))
            sent = list(work.sent.values())
            there = [placed for placed in sent if self._is_there(connection, placed, work)]
            names = {placed.name for placed in there}
            fresh = [
                place(name, ends[name].head, requests, ends[name].fence)
                for name, requests in work.left.items()
                if name not in names
            ]
            if ready := [placed for placed in fresh if placed.rows]:
                self._send(ready, work)
        for placed in there:
            self._settle(placed, ends[placed.name].head, work)
        for placed in fresh:
            self._settle(placed, placed.head, work)

    def _lock(self, connection: _Connection, names: list[str]) -> dict[str, _End]:
        """Return the true ends; nobody else writes there until the transaction is over."""
        rows = connection.execute(_LOCK, (names,)).fetchall()
        # Sorted, so that two writers create the same new names in the same order and cannot
        # deadlock.
        missing = sorted(set(names) - {row[0] for row in rows})
        if missing:
            connection.execute(_ADD, (missing, [genesis(name) for name in missing]))
            rows = connection.execute(_LOCK, (names,)).fetchall()
        self._ids.update((row[0], row[1]) for row in rows)
        return {row[0]: _End(Head(row[2], row[3]), row[4]) for row in rows}

    def _is_there(self, connection: _Connection, placed: Placed, work: _Work) -> bool:
        last = placed.rows[-1]
        # The last row suffices: a batch is written in one statement, so either all of its rows are
        # there or none.
        values = (self._ids[placed.name], last.seq, last.hash, work.batch)
        return connection.execute(_LOOK, values).fetchone() is not None

    def _send(self, ready: list[Placed], work: _Work) -> set[int]:
        """Write the placed rows; return the timelines whose end was as expected."""
        work.sent.update((placed.name, placed) for placed in ready)
        query, values = self._statement(ready, work.batch)
        return {row[0] for row in self._cursor.execute(query, values, prepare=True)}

    def _statement(self, ready: list[Placed], batch: UUID) -> tuple[LiteralString, _Values]:
        if len(ready) == len(ready[0].rows) == 1:
            return self._write_one, self._one(ready[0], ready[0].rows[0], batch)
        ids = [self._ids[placed.name] for placed in ready]
        rows = [(id, row) for id, placed in zip(ids, ready, strict=True) for row in placed.rows]
        return self._write_many, (
            ids,
            [channel_of(placed.name) for placed in ready],
            [placed.was.count for placed in ready],
            [placed.was.hash for placed in ready],
            [placed.head.count for placed in ready],
            [placed.head.hash for placed in ready],
            [placed.fence for placed in ready],
            batch,
            [id for id, _ in rows],
            [row.seq for _, row in rows],
            [row.hash for _, row in rows],
            [row.body for _, row in rows],
        )

    def _one(self, placed: Placed, row: StoredRow, batch: UUID) -> _Values:
        return {
            "id": self._ids[placed.name],
            "was": placed.was.hash,
            "seq": row.seq,
            "hash": row.hash,
            "body": row.body,
            "batch": batch,
            "channel": channel_of(placed.name),
            "fence": placed.fence,
        }

    def _settle(self, placed: Placed, head: Head, work: _Work) -> None:
        self._heads[placed.name] = head
        placed.settle()
        del work.left[placed.name]
        work.sent.pop(placed.name, None)


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
    """A store on a server; a broken connection is made anew.

    `tell` is called with the names of timelines that grew, in the thread that wrote. Without it
    each append notifies the followers itself. `patience` is how many seconds a server is waited
    for that went away.
    """

    def __init__(
        self,
        address: str,
        *,
        tell: Callable[[Iterable[str]], None] | None = None,
        patience: float = 0.0,
    ) -> None:
        super().__init__()
        self.address = address
        self._closed = False
        prepare(address)
        # The leader of a group uses the writer; readers take turns.
        self._tell = tell
        self._patience = patience
        self._writer = PostgresWriter(address, hints=tell is None, patience=patience)
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
        if self._tell is not None:
            self._tell({request.name for request in batch if request.entries})

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
            latest = monotonic() + self._patience
            # The server may have been restarted: an old connection is retried once.
            left = 1 if self._reader is None else 2
            while True:
                left -= 1
                try:
                    return self._fetch(query, values)
                except psycopg.Error as error:
                    if not (self._reader is None or is_lost(error, self._reader)):
                        raise
                    self._drop_reader()
                    if left <= 0 and monotonic() >= latest:
                        raise
                if left <= 0:
                    sleep(_PAUSE)

    def _fetch(self, query: LiteralString, values: Sequence[Any]) -> list[Any]:
        """Read over the reader's connection. A read is idempotent."""
        if self._reader is None:
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

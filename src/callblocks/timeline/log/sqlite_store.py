"""Timelines in one SQLite file: any number of processes read it while one at a time writes."""

from __future__ import annotations

import asyncio
import os
import shlex
import sqlite3
import stat
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from time import gmtime, monotonic, sleep, strftime, time
from typing import Any

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
    check_not_inherited,
    genesis,
    place,
)

__all__ = (
    "APPLICATION",
    "HEAD",
    "SCHEMA",
    "SEQ_BITS",
    "Ends",
    "SqliteStore",
    "check_tables",
    "connect",
    "fault",
    "head_of",
    "page_of",
    "prepare",
    "summary_of",
    "told",
)

# --- Rows of a SQLite file as values. The types of stored values are not trusted ---
#
# A flipped bit turns a blob into a text, or a number into NULL, and SQLite returns it as it stands.


def page_of(found: Iterable[tuple[int, Any, Any]]) -> list[StoredRow]:
    """Return rows until a page is full; a row of unexpected types counts as unreadable."""
    rows: list[StoredRow] = []
    size = 0
    for seq, body, hash in found:
        # Exact types: SQLite's columns hold any type, and a damaged page may give any of them.
        if type(body) is bytes and type(hash) is str:
            rows.append(StoredRow(seq, body, hash))
            size += len(body)
        else:
            rows.append(StoredRow(seq, None, ""))
        if size > PAGE_BYTES:
            break
    return rows


def head_of(name: str, count: Any, hash: Any) -> Head:
    """Return the end of a timeline, from its row; raise `store_damaged` for an impossible one."""
    if type(count) is not int or type(hash) is not str or count < 0:
        raise TimelineError(
            "store_damaged", f"where timeline {name} ends cannot be read; see what export can read"
        )
    return Head(count, hash)


def summary_of(row: tuple[Any, ...]) -> Summary:
    """Return a timeline for a list; unreadable fields are left empty."""
    name, count, *texts = row
    number = count if type(count) is int else 0
    return Summary(str(name), number, *(text if type(text) is str else "" for text in texts))


# --- A cache of the ends of the timelines in a SQLite file, for the writer ---
#
# A writer knows what it wrote itself. Writes of others show in `pragma data_version`, which costs a
# fraction of a query.

# Where the index lost a name that is in the table, nothing can be said of its end.
# The number, count and hash of a timeline by its name.
HEAD = """
select id, count, hash from timelines where name = ?1
union all select null, null, null from timelines not indexed where name = ?1 limit 1
"""

# The most timelines whose ends a writer caches.
_ENDS = 10_000


class Ends:
    """The ends of timelines, valid while nobody else has changed the file."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, Head]] = {}
        self._version: object = None

    def refresh(self, writer: sqlite3.Connection) -> None:
        """Forget all if another connection has written."""
        version = writer.execute("pragma data_version").fetchone()
        if version != self._version or len(self.known) > _ENDS:
            self.known.clear()
            self._version = version

    def find(self, writer: sqlite3.Connection, name: str) -> tuple[int | None, Head]:
        """Return the number of a timeline, `None` for a new one; and its end."""
        # Valid only after `refresh` within the same write transaction, which excludes other
        # writers.
        if known := self.known.get(name):
            return known
        found = writer.execute(HEAD, (name,)).fetchone()
        if found is None:
            return None, Head(0, genesis(name))
        return found[0], head_of(name, *found[1:])


# --- A check that the tables of a SQLite file are the ones that we made ---
#
# A file may come from somebody else. A view in the place of a table could run forever, and a
# trigger could change what is written: both are refused before anything is read.

_COLUMNS = {
    "timelines": ("id", "name", "count", "hash", "created", "updated"),
    "blocks": ("place", "hash", "body", "timeline", "seq"),
}


def check_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Raise `store_damaged` unless each table is a plain one, with its columns and no trigger."""
    kinds = {
        name: kind
        for schema, name, kind, *_ in connection.execute("pragma table_list")
        if schema == "main"
    }
    # Checked when the file is opened, before the first append: a trigger could drop or change what
    # is written.
    triggers = "select count(*) from sqlite_schema where type = 'trigger'"
    if connection.execute(triggers).fetchone() != (0,):
        raise _damaged(path, "has a trigger, and we make none")
    for name, columns in _COLUMNS.items():
        if kinds.get(name) != "table":
            found = kinds.get(name, "nothing")
            raise _damaged(path, f"has {found} where the table {name} should be")
        rows = connection.execute("select name from pragma_table_xinfo(?)", (name,))
        if tuple(row[0] for row in rows) != columns:
            raise _damaged(path, f"has other columns in the table {name} than we make")


def _damaged(path: Path, what: str) -> TimelineError:
    return TimelineError(
        "store_damaged",
        f"timeline store {path} {what}: it was changed by somebody else; restore a copy of it",
        path=str(path),
    )


# --- A SQLite file of timelines: opening it, its tables, and its errors ---
#
# Every commit is on disk (WAL, synchronous=FULL). Only the owner may read the file.

# The application id of our files, the letters cblk: another program's database is left alone.
APPLICATION = 0x63626C6B
# The version of the tables below; it grows with each change of them.
SCHEMA = 1

_AGAIN = 0.01
_EVERYBODY = stat.S_IRWXO | stat.S_IWGRP

# The key of a block is the number of its timeline, followed by its own number in this many bits. So
# all blocks are one B-tree in their order, and an append changes one page of it.
SEQ_BITS = 40

_TABLES = f"""
begin immediate;
create table if not exists timelines (
    id integer primary key,
    name text not null unique,
    count integer not null,
    hash text not null,
    created text not null,
    updated text not null
) strict;
create table if not exists blocks (
    place integer primary key,
    hash text not null,
    body blob not null,
    timeline integer generated always as (place >> {SEQ_BITS}) virtual,
    seq integer generated always as (place & {(1 << SEQ_BITS) - 1}) virtual
) strict;
pragma application_id = {APPLICATION};
pragma user_version = {SCHEMA};
commit;
"""

_CODES = {
    sqlite3.SQLITE_BUSY: "store_busy",
    sqlite3.SQLITE_LOCKED: "store_busy",
    sqlite3.SQLITE_FULL: "store_full",
    sqlite3.SQLITE_CORRUPT: "store_damaged",
    sqlite3.SQLITE_NOTADB: "store_damaged",
    # A table is missing, or has another form.
    sqlite3.SQLITE_ERROR: "store_damaged",
    sqlite3.SQLITE_MISMATCH: "store_damaged",
    sqlite3.SQLITE_CONSTRAINT: "store_damaged",
}
_EXTENDED = {
    # The shared-memory file of the WAL could not grow, or a page is damaged.
    sqlite3.SQLITE_IOERR_SHMSIZE: "store_full",
    sqlite3.SQLITE_IOERR_SHORT_READ: "store_damaged",
    sqlite3.SQLITE_IOERR_CORRUPTFS: "store_damaged",
}
_ADVICE = {
    "store_busy": "another writer holds it; try again",
    "store_full": "nothing was written; make room",
    "store_damaged": "keep a copy of it, and see what verify and export can still read",
    "store_unavailable": "see that the folder is there and may be written",
}


def prepare(path: Path, patience: float) -> None:
    """Create the file and its tables if they do not exist; refuse a newer or a foreign one."""
    with told(path, opening=True):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(path)
        check_not_inherited(path)
        latest = monotonic() + patience
        while not _prepared(path, patience, latest):
            sleep(_AGAIN)


def _prepared(path: Path, patience: float, latest: float) -> bool:
    """Create the tables; return false where another process does, and there is still time
    to wait.
    """
    connection = connect(path, patience)
    try:
        if _version(path, connection) < SCHEMA:
            connection.execute("pragma journal_mode = wal")
            connection.executescript(_TABLES)
        check_tables(path, connection)
    except sqlite3.OperationalError as error:
        # Switching to WAL does not honour the busy timeout, so the caller retries.
        if _code(error) != "store_busy" or monotonic() > latest:
            raise
        return False
    finally:
        connection.close()
    return True


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Return a connection for any thread, one at a time; it waits `patience` seconds for others.

    Transactions are explicit: none begins by itself.
    """
    connection = sqlite3.connect(
        path, timeout=patience, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("pragma synchronous = full")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def told(path: Path, *, opening: bool = False) -> Generator[None, None, None]:
    """Translate faults of a file into a `TimelineError` that names it.

    A file that is so damaged that `opening` it fails can be read by no command of ours.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise fault(path, error, opening=opening) from error
    except OSError as error:
        message = f"timeline store {path}: {error.strerror}; {_ADVICE['store_unavailable']}"
        raise TimelineError("store_unavailable", message, path=str(path)) from error


def fault(
    path: Path, error: sqlite3.Error | UnicodeDecodeError, *, opening: bool = False
) -> TimelineError:
    """Return SQLite's error as a `TimelineError`."""
    code = _code(error)
    advice = _ADVICE[code]
    if opening and code == "store_damaged":
        recover = f"sqlite3 {shlex.quote(str(path))} .recover"
        advice = f"restore a copy of it, or see what is left in it with: {recover}"
    return TimelineError(code, f"timeline store {path}: {error}; {advice}", path=str(path))


def _code(error: sqlite3.Error | UnicodeDecodeError) -> str:
    number = getattr(error, "sqlite_errorcode", None)
    if number is None:
        # Raised by Python and not by SQLite: a text in the file is not UTF-8.
        is_text = isinstance(error, (UnicodeDecodeError, sqlite3.OperationalError))
        return "store_damaged" if is_text else "store_unavailable"
    return _EXTENDED.get(number) or _CODES.get(number & 0xFF) or "store_unavailable"


def _create(path: Path) -> None:
    """Create the file for its owner alone.

    An existing file is not opened: closing it would drop this process's POSIX locks on it.
    """
    with suppress(FileExistsError):
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    for file in (path, f"{path}-wal", f"{path}-shm"):
        _tighten(file)


def _tighten(file: str | Path) -> None:
    """Remove the rights of others on a file of ours; a group that may read it stays."""
    with suppress(OSError):
        found = os.stat(file)
        # Files of other users and special files are left alone: changing them is not ours to do.
        is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if is_ours and found.st_mode & _EVERYBODY:
            os.chmod(file, 0o600)


def _version(path: Path, connection: sqlite3.Connection) -> int:
    """Return the version of the tables; 0 if the file is empty."""
    # In one transaction, because another process may create the tables at this moment.
    connection.execute("begin")
    (version,) = connection.execute("pragma user_version").fetchone()
    (application,) = connection.execute("pragma application_id").fetchone()
    (tables,) = connection.execute("select count(*) from sqlite_schema").fetchone()
    connection.execute("commit")
    if application != APPLICATION and (version or application or tables):
        raise TimelineError(
            "store_damaged",
            f"timeline store {path}: this is the database of another program; name another file",
            path=str(path),
        )
    if version > SCHEMA:
        raise TimelineError(
            "newer_schema",
            f"timeline store {path} has version {version}, and this callblocks knows {SCHEMA};"
            " use a newer callblocks",
            version=version,
            known=SCHEMA,
        )
    return version


# --- Timelines in one SQLite file: any number of processes read it while one at a time writes ---

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

    def _commit(self, batch: list[AppendRequest]) -> None:
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

    def _write(
        self, writer: sqlite3.Connection, name: str, requests: list[AppendRequest]
    ) -> Placed:
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

    def _page(self, name: str, after: int) -> list[StoredRow]:
        page = self._read(_PAGE, name, after, fetch=page_of)
        if not page and not after:
            # Either unknown, or damaged: reading its end tells which.
            self.head(name)
        return page

    def _row(self, name: str, seq: int) -> list[StoredRow]:
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

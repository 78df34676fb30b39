"""A SQLite file of timelines: opening it, its tables, and its errors.

Every commit is on disk (WAL, synchronous=FULL). Only the owner may read the file.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from callblocks.model.errors import TimelineError
from callblocks.timeline.stores.forks import check_not_inherited
from callblocks.timeline.stores.sqlite_tables import check_tables

__all__ = ("APPLICATION", "SCHEMA", "SEQ_BITS", "connect", "fault", "prepare", "told")

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

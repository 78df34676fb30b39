"""An SQLite file of the office, opened for one call.

    with database(path, write=True) as connection:
        connection.execute(…)

One call is one transaction; writers wait for each other. Problems of the file become failures with
a code: `workspace_damaged`, `busy`, `disk_full`, `access_denied`, `file_error`.

A spreadsheet file may come from somebody else. An SQLite file can contain triggers, views, virtual
tables and generated columns that run code on access, and a hot journal beside it is replayed on
opening. Therefore foreign journals are refused, `trusted_schema` is off, value sizes are limited,
and everything but plain tables and indexes is refused before the first query.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import naming, unsafe
from callblocks.guard.files.replace_file import foreign_journal

__all__ = (
    "OwnDatabase",
    "damaged",
    "database",
    "make_database",
)

_WAIT = 5.0
_PRIMARY = 0xFF
# Size limit in bytes of one value in a foreign file.
_LONGEST = 1_000_000

# Views, triggers and virtual tables have no root page of their own.
_ODD = """
select type, name from sqlite_schema where ifnull(rootpage, 0) = 0
union all
select 'computed column', found.name
from sqlite_schema one, pragma_table_xinfo(one.name) found
where one.type = 'table' and one.rootpage > 0 and found.hidden in (2, 3)
limit 1
"""
_CODES = {
    sqlite3.SQLITE_BUSY: ("busy", "is held by another program; try again"),
    sqlite3.SQLITE_LOCKED: ("busy", "is held by another program; try again"),
    sqlite3.SQLITE_FULL: ("disk_full", "has no room to grow; nothing was written"),
    sqlite3.SQLITE_READONLY: ("access_denied", "may not be written"),
    sqlite3.SQLITE_PERM: ("access_denied", "may not be opened"),
    sqlite3.SQLITE_CANTOPEN: ("file_error", "cannot be opened"),
    sqlite3.SQLITE_IOERR: ("file_error", "cannot be read or written"),
}


@contextmanager
def database(
    path: Path, *, write: bool = False, ours: bool = False
) -> Generator[sqlite3.Connection]:
    """A file that is there, within one transaction; `ours` is one that nobody else writes."""
    own = _require_own(path)
    with _told(path), closing(_connect(path)) as connection:
        connection.execute("begin immediate" if write else "begin")
        _require_same(path, own)
        if not ours:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            _require_plain(path, connection)
        yield connection
        connection.execute("commit")


def make_database(path: Path, schema: str) -> None:
    """Create the tables of a new or empty file with mode 0600."""
    with _told(path):
        _create(path)
        own = _require_own(path)
        with closing(_connect(path)) as connection:
            _require_same(path, own)
            connection.executescript(f"begin immediate; {schema}; commit")


def _create(path: Path) -> None:
    """Create an empty file without opening it at its path."""
    # POSIX locks belong to the process: closing any descriptor of a file releases all locks that
    # this process holds on it, also those of another thread's connection. So the file is made
    # elsewhere and linked into place.
    made, temporary = tempfile.mkstemp(dir=path.parent)
    os.close(made)
    try:
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def damaged(path: Path, why: str) -> ToolError:
    """Return the failure for a file that cannot be read."""
    name = brief(path.name)
    return ToolError("workspace_damaged", f"the file {name} is damaged: {why}", file=path.name)


def _require_own(path: Path) -> os.stat_result | None:
    """Return the status of a plain file with nothing of others beside it; `None` for no file."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise damaged(path, "it is no file, but a link, a folder or a device")
    foreign = foreign_journal(path)
    if foreign:
        raise damaged(path, foreign)
    return status


def _require_same(path: Path, own: os.stat_result | None) -> None:
    """Raise `path_changed` if the path led elsewhere while SQLite opened it.

    SQLite opens names only and follows links in them. So the name is looked at before and after.
    """
    with suppress(FileNotFoundError):
        if own is not None and os.path.samestat(own, path.lstat()):
            return
    words = "something else took its place while it was opened; call again"
    raise ToolError("path_changed", f"{brief(path.name)}: {words}", file=path.name)


def _connect(path: Path) -> sqlite3.Connection:
    # `mode=rw` never creates a file. Functions of a foreign schema are not trusted.
    place = f"file:{quote(str(path))}?mode=rw"
    connection = sqlite3.connect(place, uri=True, timeout=_WAIT, isolation_level=None)
    connection.execute("pragma trusted_schema = off")
    return connection


def _require_plain(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse views, triggers, virtual tables and generated columns, which run unseen."""
    odd = connection.execute(_ODD).fetchone()
    if odd is not None:
        raise damaged(path, f"it has a {odd[0]} {brief(odd[1], 40)}; remove it")


@contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        raise _failure(path, error) from error
    except UnicodeDecodeError as error:  # in the words of an error of SQLite's
        raise damaged(path, "its tables are not readable") from error


def _failure(path: Path, error: sqlite3.DatabaseError) -> ToolError:
    known = _CODES.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY)
    if known is None:
        return damaged(path, str(error))
    code, words = known
    return ToolError(code, f"the file {brief(path.name)} {words}", file=path.name)


# --- An SQLite file that only this package writes, with a counter of changes ---
#
# The counter tells if data that was read before is still valid. A file that is damaged or foreign
# is renamed and a new one started; `faults` reports it.
#
# Locks: the folder's `flock` protects the existence of the file (shared for use, exclusive for
# creating or renaming it), SQLite's own lock its content. Without the first, a process could still
# use a renamed file and take the journal of its successor for its own.

T = TypeVar("T")

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS state (base TEXT, change INTEGER);
    INSERT INTO state SELECT hex(randomblob(8)), 0 WHERE NOT EXISTS (SELECT * FROM state)
"""


class _Failed(Exception):
    """The work failed, not the file."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error


class OwnDatabase:
    """One file, opened for each call; its folder must exist."""

    def __init__(self, path: Path, schema: str, faults: list[str]) -> None:
        self.path = path
        self._schema = f"{_SCHEMA};{schema}"
        self._faults = faults

    def is_there(self) -> bool:
        """Tell if the file exists."""
        return os.path.lexists(self.path)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read transaction."""
        return self._try(lambda: self._run(work, write=False))

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a write transaction and count it as a change."""

        def counted(base: sqlite3.Connection) -> T:
            # A transaction that changed nothing must not invalidate the caches of other processes.
            before = base.total_changes
            done = work(base)
            if base.total_changes != before:
                base.execute("UPDATE state SET change = change + 1")
            return done

        return self._try(lambda: self._run(counted, write=True))

    def state(self, base: sqlite3.Connection) -> tuple[str, int]:
        """Return the identity and the change counter of the database."""
        row: tuple[str, int] | None = base.execute("SELECT base, change FROM state").fetchone()
        if row is None:
            raise sqlite3.DatabaseError("its state is lost")
        return row

    def _run(self, work: Callable[[sqlite3.Connection], T], *, write: bool) -> T:
        # The file may be renamed by another process between creating and locking it, so both are
        # repeated until it exists under the lock.
        while True:
            with naming(self.path.name):
                self._make()
            with self._held():
                if self._is_made():
                    return self._worked(work, write)

    def _worked(self, work: Callable[[sqlite3.Connection], T], write: bool) -> T:
        with database(self.path, write=write, ours=True) as base:
            try:
                return work(base)
            except ToolError as error:
                raise _Failed(error) from error

    def _make(self) -> None:
        """Create the file if it is missing; a link is not followed."""
        folder = self.path.parent
        with suppress(FileExistsError):
            folder.mkdir(0o700)
        if folder.is_symlink():
            raise unsafe(folder.name, "it is a link; links in the office are not followed")
        if not self._is_made():
            # POSIX: closing a descriptor releases all locks of this process on that file, so
            # creation needs the exclusive lock.
            with self._held(alone=True):
                if not self._is_made():
                    make_database(self.path, self._schema)

    def _is_made(self) -> bool:
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode):
            raise damaged(self.path, "it is a link or a folder")
        return status.st_size > 0

    @contextmanager
    def _held(self, *, alone: bool = False) -> Generator[None, None, None]:
        """Hold the folder's lock; `alone` to create or rename the file while nobody uses it.

        A process with a renamed file still open would take the journal of the next one for its own.
        """
        import fcntl

        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield
        finally:
            os.close(folder)

    def _try(self, work: Callable[[], T]) -> T:
        try:
            return self._twice(work)
        except _Failed as failed:
            raise failed.error from failed.error.__cause__

    def _twice(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ToolError as error:
            if error.code != "workspace_damaged":
                raise
        self._put_aside()
        return work()

    def _put_aside(self) -> None:
        """Rename the damaged file, unless another process has done it already."""
        aside = f"{self.path.name}.damaged-{time.time_ns()}"
        with self._held(alone=True):
            if self._is_sound():
                return
            os.rename(self.path, self.path.with_name(aside))
            # The journal must move along: SQLite would roll the new database back with it.
            with suppress(FileNotFoundError):
                os.rename(f"{self.path}-journal", self.path.with_name(f"{aside}-journal"))
        self._faults.append(f"{self.path.name} was damaged: it is now {aside}, and a new one begun")

    def _is_sound(self) -> bool:
        """Tell if the file is sound; a missing one is."""
        try:
            if not self._is_made():
                return True
            with database(self.path, ours=True) as base:
                return _check(base)
        except ToolError as error:
            if error.code != "workspace_damaged":
                raise
            return False


def _check(base: sqlite3.Connection) -> bool:
    base.execute("SELECT base FROM state").fetchone()
    return base.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)

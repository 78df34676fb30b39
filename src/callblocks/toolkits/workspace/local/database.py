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
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.files.journals import foreign_journal

__all__ = ("damaged", "database", "make_database")

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

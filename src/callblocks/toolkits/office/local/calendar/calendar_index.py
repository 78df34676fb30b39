"""The index of the calendars: parsed files, cached until a file changes.

It is `office/.index/calendar.sqlite` and may be deleted at any time. A file is parsed again when
its mtime, size or inode has changed, so edits by hand are seen at the next call. If the index
cannot be written, one is built in memory.

Failures: a busy index is reported as `busy`; an unusable one (read-only, full disk) is replaced by
memory; a damaged one is deleted and rebuilt once. No failure can lose data, because everything in
the index comes from the files.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.replace_file import foreign_journal
from callblocks.toolkits.office.local.calendar.calendar_files import scan
from callblocks.toolkits.office.local.calendar.series import EventReader, Read, Series, Window

__all__ = ("CalendarIndex", "SeriesPlace", "SeriesRow")

# Increment it when rows of older versions cannot be read.
_VERSION = 2

_SCHEMA = """
BEGIN IMMEDIATE;
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS series;
CREATE TABLE files (
    calendar TEXT, name TEXT, stamp TEXT, faults TEXT, PRIMARY KEY (calendar, name)
) WITHOUT ROWID;
CREATE TABLE series (
    calendar TEXT, name TEXT, place INTEGER, id TEXT, first REAL, last REAL, words TEXT, body BLOB
);
CREATE INDEX series_by_id ON series (calendar, id);
CREATE INDEX series_by_file ON series (calendar, name);
CREATE INDEX series_by_time ON series (calendar, last, first);
"""
_TIMEOUT = 5.0
# Corrupt bytes surface as SQLite errors, as invalid JSON, or as messages that are not UTF-8.
_WRONG = (sqlite3.Error, UnicodeDecodeError, msgspec.MsgspecError)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Codes for a file that cannot be used but is not corrupt.
_UNUSABLE = (
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH),
)
# Files per transaction while refreshing.
_TOGETHER = 50

# Tolerance in seconds for floating times, whose zone is applied later.
_GRACE = 86_400.0


class SeriesPlace(msgspec.Struct, frozen=True):
    """The position of a series: a file of the calendar, and the number of its group in it."""

    name: str
    at: int


class SeriesRow(msgspec.Struct, frozen=True):
    """A series with its position."""

    series: Series
    place: SeriesPlace


class CalendarIndex:
    """The index of one office."""

    def __init__(self, office: Path) -> None:
        self._path = office / ".index" / "calendar.sqlite"

    @contextmanager
    def fresh(self, folder: int, calendar: str) -> Generator[Rows, None, None]:
        """Open the rows of one calendar after refreshing changed files."""
        with self._usable(), closing(self._refreshed(folder, calendar)) as index:
            yield Rows(index, calendar)

    @contextmanager
    def _usable(self) -> Generator[None, None, None]:
        try:
            yield
        except _WRONG as error:
            if _code(error) in _BUSY:
                why = f"the index of the calendars cannot be used now ({error}); try again"
                raise ToolError("busy", why) from error
            self._drop()
            why = f"the index of the calendars was damaged ({error}) and is made anew; try again"
            raise ToolError("busy", why) from error

    def _refreshed(self, folder: int, calendar: str) -> sqlite3.Connection:
        """Return an up-to-date index: the one on disk, or one in memory."""
        for _ in range(2):
            try:
                return _brought_up(self._open_file(), folder, calendar)
            except _WRONG as error:
                if _code(error) in _BUSY:
                    raise
                if _code(error) in _UNUSABLE:
                    break
                # Safe to delete: it holds nothing that is not in the files.
                self._drop()
            except OSError:
                break
        return _brought_up(_prepared(sqlite3.connect(":memory:")), folder, calendar)

    def _drop(self) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self._path}{ending}")

    def _open_file(self) -> sqlite3.Connection:
        with suppress(FileExistsError):
            os.mkdir(self._path.parent, 0o700)
        for path in (self._path.parent, self._path):
            with suppress(FileNotFoundError):
                if stat.S_ISLNK(os.lstat(path).st_mode):
                    raise OSError("a link is not followed")
        if foreign_journal(self._path):
            raise sqlite3.DatabaseError("its journal is not its own")
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        return _prepared(sqlite3.connect(self._path, timeout=_TIMEOUT))


class Rows:
    """The rows of one calendar in an open index."""

    def __init__(self, index: sqlite3.Connection, calendar: str) -> None:
        self._index = index
        self._calendar = calendar

    def refresh(self, folder: int) -> None:
        """Parse changed files again."""
        there = scan(folder)
        asked = "SELECT name, stamp FROM files WHERE calendar = ?"
        known = dict(self._index.execute(asked, (self._calendar,)))
        gone = sorted(known.keys() - there.keys())
        stale = sorted(name for name, stamp in there.items() if known.get(name) != stamp)
        if not gone and not stale:
            return
        # Parsing is slow and writing is fast, so files are parsed outside of the transaction.
        # Batches are committed on the way, so a call that is interrupted has made progress for the
        # next one.
        self._replace(gone, [])
        reader = EventReader(folder, self._calendar, len(stale))
        read: list[tuple[str, str, Read]] = []
        for name in stale:
            read.append((name, there[name], reader.read(name)))
            if len(read) == _TOGETHER or name == stale[-1]:
                self._replace([name for name, _, _ in read], read)
                read = []

    def _replace(self, names: list[str], read: list[tuple[str, str, Read]]) -> None:
        with self._index:
            self._index.execute("BEGIN IMMEDIATE")
            self._forget(names)
            for name, stamp, found in read:
                self._learn(name, stamp, found)

    def overlapping(self, window: Window, words: Iterable[str]) -> list[SeriesRow]:
        """Return the series that may overlap a window and contain all the words."""
        low, high = window.low.timestamp() - _GRACE, window.high.timestamp() + _GRACE
        found = (
            "SELECT name, place, body FROM series WHERE calendar = ? AND last >= ? AND first < ?"
        )
        asked = list(words)
        found += " AND instr(words, ?)" * len(asked)
        return self._rows(found, (self._calendar, low, high, *asked))

    def by_id(self, id: str) -> SeriesRow | None:
        """Return the series of that id."""
        asked = "SELECT name, place, body FROM series WHERE calendar = ? AND id = ? ORDER BY name"
        rows = self._rows(asked, (self._calendar, id))
        return rows[0] if rows else None

    def faults(self) -> list[tuple[str, str]]:
        """Return the files that could not be read completely, with the reasons."""
        asked = "SELECT name, faults FROM files WHERE calendar = ? AND faults != '' ORDER BY name"
        return list(self._index.execute(asked, (self._calendar,)))

    def _rows(self, asked: str, values: tuple[object, ...]) -> list[SeriesRow]:
        return [
            SeriesRow(msgspec.json.decode(body, type=Series), SeriesPlace(name, at))
            for name, at, body in self._index.execute(asked, values)
        ]

    def _forget(self, names: list[str]) -> None:
        values = [(self._calendar, name) for name in names]
        for table in ("files", "series"):
            self._index.executemany(f"DELETE FROM {table} WHERE calendar = ? AND name = ?", values)

    def _learn(self, name: str, stamp: str, read: Read) -> None:
        row = (self._calendar, name, stamp, "\n".join(read.faults))
        self._index.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", row)
        for found in read.series:
            series = self._named(found.series, name)
            self._index.execute(
                "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(self._calendar, name, found.at, series.id),
                    *(found.first, found.last, found.words, msgspec.json.encode(series)),
                ),
            )

    def _named(self, series: Series, name: str) -> Series:
        """Return the series with a unique id: a copied file holds the same UID but is another
        event.
        """
        asked = "SELECT 1 FROM series WHERE calendar = ? AND id = ?"
        if self._index.execute(asked, (self._calendar, series.id)).fetchone() is None:
            return series
        return series.renamed(name)


def _brought_up(index: sqlite3.Connection, folder: int, calendar: str) -> sqlite3.Connection:
    try:
        Rows(index, calendar).refresh(folder)
    except BaseException:
        index.close()
        raise
    return index


def _code(error: Exception) -> int:
    """Return the primary SQLite error code, which is the lowest byte of an extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepared(index: sqlite3.Connection) -> sqlite3.Connection:
    try:
        # No fsync: after a crash the rows are rebuilt from the files.
        index.execute("PRAGMA synchronous = OFF")
        (version,) = index.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            index.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
    except sqlite3.Error:
        index.close()
        raise
    return index

"""The index of a mailbox in SQLite: `office/.index/mail.sqlite`.

It holds nothing that the files do not say, and each query brings it up to date first. A damaged
index, or one of another version, is rebuilt; if no file can be written, it is built in memory for
the one query.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.replace_file import foreign_journal
from callblocks.toolkits.office.local.mail.mail_resource import (
    COLUMNS,
    Damaged,
    MailBox,
    MailEntry,
    MailFile,
    id_of,
    labels_of,
    read_entry,
    slug,
)

__all__ = (
    "SCHEMA",
    "MailIndex",
    "add_entry",
    "add_fault",
    "forget",
    "move",
    "places_of",
    "refresh",
    "writing",
)

# --- The tables of the mail index: messages, labels and damaged files ---
#
# File names are stored as bytes, because a name need not be UTF-8. `root` is the message id that a
# thread begins with; `hidden` is true in spam or trash.

SCHEMA = f"""
CREATE TABLE message (
    key INTEGER PRIMARY KEY, place BLOB UNIQUE, id TEXT UNIQUE, date INTEGER, size INTEGER,
    attachment INTEGER, hidden INTEGER, msgid TEXT, root TEXT, root_id TEXT, said TEXT
);
CREATE INDEX message_date ON message (date, id);
CREATE INDEX message_msgid ON message (msgid);
CREATE INDEX message_root ON message (root);
CREATE INDEX message_root_id ON message (root_id);
CREATE TABLE listed (message INTEGER PRIMARY KEY, resource BLOB);
CREATE TABLE label (message INTEGER, name TEXT, slug TEXT, PRIMARY KEY (message, name))
    WITHOUT ROWID;
CREATE INDEX label_slug ON label (slug, message);
CREATE INDEX label_name ON label (name, message);
CREATE TABLE fault (place BLOB PRIMARY KEY, id TEXT, stamp TEXT, words TEXT);
CREATE TABLE state (value TEXT);
CREATE VIRTUAL TABLE words USING fts5 (
    {", ".join(COLUMNS)}, tokenize = "unicode61 remove_diacritics 2"
);
"""

_HIDDEN = frozenset(("TRASH", "SPAM"))


@contextmanager
def writing(index: sqlite3.Connection) -> Generator[None, None, None]:
    """Run a transaction: all writes inside, or none."""
    index.execute("BEGIN IMMEDIATE")
    try:
        yield
        index.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            index.execute("ROLLBACK")
        raise


def places_of(index: sqlite3.Connection) -> set[str]:
    """Return the known files, mail and damaged ones."""
    rows = index.execute("SELECT place FROM message UNION ALL SELECT place FROM fault")
    return {os.fsdecode(place) for (place,) in rows}


def forget(index: sqlite3.Connection, gone: Iterable[MailFile]) -> None:
    """Remove files from the index."""
    for file in gone:
        place = (os.fsencode(file.place),)
        index.execute("DELETE FROM fault WHERE place = ?", place)
        row = index.execute("SELECT key FROM message WHERE place = ?", place).fetchone()
        if row:
            index.execute("DELETE FROM words WHERE rowid = ?", row)
            index.execute("DELETE FROM label WHERE message = ?", row)
            index.execute("DELETE FROM listed WHERE message = ?", row)
            index.execute("DELETE FROM message WHERE key = ?", row)


def move(index: sqlite3.Connection, file: MailFile) -> bool:
    """Record new flags or another folder of a message; False if it is unknown."""
    known = "SELECT key, said FROM message WHERE id = ?"
    row = index.execute(known, (id_of(file.unique),)).fetchone()
    if row:
        place = os.fsencode(file.place)
        index.execute("UPDATE message SET place = ? WHERE key = ?", (place, row[0]))
        _label(index, row[0], labels_of(msgspec.json.decode(row[1], type=list[str]), file.flags))
    return row is not None


def add_fault(index: sqlite3.Connection, file: MailFile, stamp: str, words: str) -> None:
    """Record a file that is no mail; `stamp` identifies its state."""
    values = (os.fsencode(file.place), id_of(file.unique), stamp, words)
    index.execute("INSERT OR REPLACE INTO fault VALUES (?, ?, ?, ?)", values)


def add_entry(index: sqlite3.Connection, file: MailFile, entry: MailEntry) -> None:
    """Add a message, unless another process did it first."""
    added = index.execute(
        "INSERT OR IGNORE INTO message (place, id, date, size, attachment, msgid, said)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(os.fsencode(file.place), entry.id, entry.date, entry.size, entry.attachment),
            *(entry.message_id, msgspec.json.encode(entry.said).decode()),
        ),
    )
    if added.rowcount != 1 or added.lastrowid is None:
        return
    key = added.lastrowid
    listed = msgspec.json.encode(entry.resource)
    index.execute("INSERT OR REPLACE INTO listed VALUES (?, ?)", (key, listed))
    names, places = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
    index.execute(f"INSERT INTO words (rowid, {names}) VALUES (?, {places})", (key, *entry.words))
    _label(index, key, labels_of(entry.said, file.flags))
    _join_thread(index, key, entry)


def _join_thread(index: sqlite3.Connection, key: int, entry: MailEntry) -> None:
    """Join a message to the thread that it answers, and its answers to its thread."""
    # A union-find by message id. Messages arrive in any order: an answer may be indexed before what
    # it answers, and then carries that message's id as a provisional root, which the second UPDATE
    # replaces once the older message arrives.
    root = entry.parent or entry.message_id
    above = index.execute("SELECT root FROM message WHERE msgid = ? AND root NOTNULL", (root,))
    root = (above.fetchone() or (root,))[0]
    values = (root, id_of(root))
    index.execute("UPDATE message SET root = ?, root_id = ? WHERE key = ?", (*values, key))
    index.execute(
        "UPDATE message SET root = ?, root_id = ? WHERE root = ? AND root <> ?",
        (*values, entry.message_id, root),
    )


def _label(index: sqlite3.Connection, key: int, labels: list[str]) -> None:
    index.execute("DELETE FROM label WHERE message = ?", (key,))
    index.executemany(
        "INSERT OR IGNORE INTO label VALUES (?, ?, ?)", [(key, one, slug(one)) for one in labels]
    )
    hidden = not _HIDDEN.isdisjoint(labels)
    index.execute("UPDATE message SET hidden = ? WHERE key = ?", (hidden, key))


# --- Update of the mail index: only new files are read ---
#
# Maildir files never change, they are only renamed, so a known unique name needs no second reading.
# Files are read outside of any transaction and written to the index two hundred at a time: another
# process waits no longer than one batch takes, and an interrupted refresh keeps its progress.

_AT_ONCE = 200


class _MailFault(msgspec.Struct, frozen=True):
    stamp: str
    words: str


def refresh(index: sqlite3.Connection, box: MailBox) -> None:
    """Bring the index up to date with the mailbox."""
    state = box.state() or ""
    mended = _mended(index, box)
    if mended:
        with writing(index):
            forget(index, mended)
    elif state and _is_noted(index, state):
        return
    # The index is read before the folder. A message that another process adds in between is then
    # new; in the other order it would seem gone and be forgotten.
    known, there = places_of(index), box.places()
    gone = [MailFile(place) for place in known - there]
    fresh = [MailFile(place) for place in sorted(there - known)]
    if gone or fresh:
        _add(index, box, _moved(index, gone, fresh))
    if state:
        _note(index, state)


def _moved(
    index: sqlite3.Connection, gone: list[MailFile], fresh: list[MailFile]
) -> list[MailFile]:
    """Forget vanished files and rename moved ones; return the files that are really new."""
    again = {file.unique for file in gone} & {file.unique for file in fresh}
    with writing(index):
        moved = {file.unique for file in fresh if file.unique in again and move(index, file)}
        forget(index, [file for file in gone if file.unique not in moved])
    return [file for file in fresh if file.unique not in moved]


def _is_noted(index: sqlite3.Connection, state: str) -> bool:
    return index.execute("SELECT 1 FROM state WHERE value = ?", (state,)).fetchone() is not None


def _mended(index: sqlite3.Connection, box: MailBox) -> list[MailFile]:
    """Return damaged files that were changed since they were read."""
    rows = index.execute("SELECT place, stamp FROM fault").fetchall()
    known = [(MailFile(os.fsdecode(place)), stamp) for place, stamp in rows]
    return [file for file, stamp in known if box.stamp(file) != stamp]


def _add(index: sqlite3.Connection, box: MailBox, fresh: list[MailFile]) -> None:
    left = iter(fresh)
    while batch := list(islice(left, _AT_ONCE)):
        read = [(file, _read(box, file)) for file in batch]
        with writing(index):
            for file, found in read:
                if isinstance(found, MailEntry):
                    add_entry(index, file, found)
                elif found is not None:
                    add_fault(index, file, found.stamp, found.words)


def _read(box: MailBox, file: MailFile) -> MailEntry | _MailFault | None:
    stamp = box.stamp(file)
    try:
        raw, status = box.read(file)
        return read_entry(file, raw, status)
    except FileNotFoundError:
        return None  # renamed meanwhile: the next call finds it
    except Damaged as damaged:
        return _MailFault(stamp, str(damaged))
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _MailFault(stamp, "it is a link, and links are not followed")
        return _MailFault(stamp, error.strerror or "it cannot be read")


def _note(index: sqlite3.Connection, state: str) -> None:
    """Record the state of the folders that the index now reflects."""
    with writing(index):
        index.execute("DELETE FROM state")
        index.execute("INSERT INTO state VALUES (?)", (state,))


# --- The index of a mailbox in SQLite: `office/.index/mail.sqlite` ---

_VERSION = 1
_WAIT = 5.0
_T = TypeVar("_T")

# Codes for a file that cannot be used but is not corrupt.
_UNUSABLE = frozenset(
    (
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH),
    )
)
# Corrupt bytes surface as SQLite errors, as invalid JSON, or as messages that are not UTF-8.
_WRONG = (sqlite3.Error, UnicodeDecodeError, msgspec.MsgspecError)
_BUSY = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))


class MailIndex:
    """The index beside a mailbox."""

    def __init__(self, office: Path, box: MailBox) -> None:
        self._folder = office / ".index"
        self._path = self._folder / "mail.sqlite"
        self._box = box

    def ask(self, question: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run a query on an index that is up to date."""
        try:
            return self._asked(str(self._path), question)
        except _WRONG as error:
            code = _code(error)
            if code in _BUSY:
                why = "another program holds the index of the mail for too long; try again"
                raise ToolError("busy", why) from error
        # Corrupt: delete it and try once more. If that fails as well, or the file is unusable, use
        # memory; the answer is the same and only slower.
        if code not in _UNUSABLE:
            self._drop()
            with suppress(*_WRONG):
                return self._asked(str(self._path), question)
        try:
            return self._asked(":memory:", question)
        except _WRONG as error:
            raise ToolError("file_error", f"the mail cannot be searched: {error}") from error

    def _asked(self, path: str, question: Callable[[sqlite3.Connection], _T]) -> _T:
        if path != ":memory:":
            path = self._prepared()
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as index:
            _require_tables(index)
            refresh(index, self._box)
            return question(index)

    def _prepared(self) -> str:
        """Return the path of the index; memory if a link is in its place."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if foreign_journal(self._path):
                raise sqlite3.DatabaseError("its journal is not its own")
            if not self._folder.is_symlink() and not self._path.is_symlink():
                with suppress(FileExistsError):
                    os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                return str(self._path)
        except OSError:
            pass
        return ":memory:"

    def _drop(self) -> None:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self._path}{ending}")


def _require_tables(index: sqlite3.Connection) -> None:
    if _version(index) == _VERSION:
        return
    with writing(index):
        version = _version(index)
        if version == _VERSION:  # another process made them meanwhile
            return
        if version:
            raise sqlite3.DatabaseError("the index is of another version")
        for statement in SCHEMA.split(";\n"):
            index.execute(statement)
        index.execute(f"PRAGMA user_version = {_VERSION}")


def _version(index: sqlite3.Connection) -> int:
    return int(index.execute("PRAGMA user_version").fetchone()[0])


def _code(error: Exception) -> int:
    """Return the primary SQLite error code, which is the lowest byte of an extended one."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF

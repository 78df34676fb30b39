"""The tables of the mail index: messages, labels and damaged files.

File names are stored as bytes, because a name need not be UTF-8. `root` is the message id that a
thread begins with; `hidden` is true in spam or trash.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress

import msgspec

from callblocks.toolkits.workspace.local.mail_box import MailFile, id_of
from callblocks.toolkits.workspace.local.mail_entry import COLUMNS, Entry
from callblocks.toolkits.workspace.local.mail_labels import labels_of, slug

__all__ = (
    "SCHEMA",
    "add_entry",
    "add_fault",
    "forget",
    "move",
    "places_of",
    "writing",
)

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


def add_entry(index: sqlite3.Connection, file: MailFile, entry: Entry) -> None:
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


def _join_thread(index: sqlite3.Connection, key: int, entry: Entry) -> None:
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

"""Full-text index of the drive: FTS5 in `office/.index/drive-texts.sqlite`.

A search first reads new and changed files. The index may be deleted at any time; a damaged one is
rebuilt. Names and descriptions are indexed too, as Google does.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.drive_types import DOCUMENT
from callblocks.toolkits.workspace.local.drive_files import Known
from callblocks.toolkits.workspace.local.drive_row import Row
from callblocks.toolkits.workspace.local.own_database import OwnDatabase

__all__ = ("DriveTexts", "Read")

# A function that reads the first bytes of a file; b"" if it cannot.
Read: TypeAlias = Callable[[Row, int], bytes]

_Stamp: TypeAlias = tuple[int, int, int, str, str]

_MOST_WORDS = 100
_INDEXED = 1024 * 1024
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS stamps (
        entry INTEGER PRIMARY KEY, id TEXT UNIQUE, inode, size, modified, name, description
    );
    CREATE VIRTUAL TABLE IF NOT EXISTS texts
        USING fts5(name, description, content, tokenize='unicode61 remove_diacritics 2')
"""
_STAMPS = "SELECT id, inode, size, modified, name, description FROM stamps"
_DROP_TEXT = "DELETE FROM texts WHERE rowid = (SELECT entry FROM stamps WHERE id = ?)"
_DROP_STAMP = "DELETE FROM stamps WHERE id = ?"
_PUT_STAMP = (
    "INSERT INTO stamps (id, inode, size, modified, name, description) VALUES (?, ?, ?, ?, ?, ?)"
)
_PUT_TEXT = "INSERT INTO texts (rowid, name, description, content) VALUES (?, ?, ?, ?)"
_FIND = (
    "SELECT stamps.id FROM texts JOIN stamps ON stamps.entry = texts.rowid"
    " WHERE texts MATCH ? ORDER BY rank"
)
_TEXTS = re.compile(
    r"text/.*|application/(?:json|jsonl|xml|yaml|toml|sql)|.*\+(?:json|xml)|" + re.escape(DOCUMENT)
)
_PARTS = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"[^\W_]")


class DriveTexts:
    """The index of one drive."""

    def __init__(self, path: Path, faults: list[str]) -> None:
        self._base = OwnDatabase(path, _SCHEMA, faults)
        self._current: tuple[tuple[str, int], Known] | None = None

    def find(self, values: Iterable[str], known: Known, read: Read) -> dict[str, list[str]]:
        """Return the ids of the files that contain each value, best first."""
        asked = {value: _match(value) for value in values}

        def answer(base: sqlite3.Connection) -> dict[str, list[str]]:
            return {value: _found(base, match) for value, match in asked.items()}

        def look(base: sqlite3.Connection) -> dict[str, list[str]] | None:
            return answer(base) if self._current == (self._base.state(base), known) else None

        def index(base: sqlite3.Connection) -> dict[str, list[str]]:
            if not _index(base, known, read):
                self._current = (self._base.state(base), known)
            return answer(base)

        found = self._base.read(look) if self._current else None
        return self._base.write(index) if found is None else found


def _index(base: sqlite3.Connection, known: Known, read: Read) -> bool:
    """Bring the index up to date; return True if it differed."""
    stamps: dict[str, _Stamp] = {one[0]: one[1:] for one in base.execute(_STAMPS)}
    new = [row for row in known.rows.values() if stamps.get(row.id) != _stamp(row)]
    dropped = [(one,) for one in stamps if one not in known.rows]
    dropped += [(row.id,) for row in new if row.id in stamps]
    base.executemany(_DROP_TEXT, dropped)
    base.executemany(_DROP_STAMP, dropped)
    for row in new:
        entry = base.execute(_PUT_STAMP, (row.id, *_stamp(row))).lastrowid
        base.execute(_PUT_TEXT, (entry, row.name, row.description, _text(row, read)))
    return bool(new or dropped)


def _stamp(row: Row) -> _Stamp:
    return (row.inode, row.size, row.modified, row.name, row.description)


def _text(row: Row, read: Read) -> str:
    if not _TEXTS.fullmatch(row.mime):
        return ""
    return read(row, _INDEXED).decode(errors="replace").replace("\0", " ")


def _match(value: str) -> str:
    """Return the FTS5 expression: all words must match, quoted ones as phrases."""
    phrases = dict.fromkeys(_phrases(value.replace("\0", " ")))
    if len(phrases) > _MOST_WORDS:
        why = f"fullText has {len(phrases)} words; at most {_MOST_WORDS} are searched at once"
        raise ToolError("invalid_input", why, query=why)
    return " AND ".join(f'"{phrase}"' for phrase in phrases)


def _phrases(value: str) -> Iterator[str]:
    for quoted, word in _PARTS.findall(value):
        phrase = (quoted or word).replace('"', " ")
        if _WORD.search(phrase):
            yield phrase


def _found(base: sqlite3.Connection, match: str) -> list[str]:
    return [one for (one,) in base.execute(_FIND, (match,))] if match else []

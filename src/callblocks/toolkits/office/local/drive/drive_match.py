"""Matching and sorting of files by a Drive query.

`name contains` matches word prefixes, as Google does: `Wor` is in `Hello World`, not in
`HelloWorld`. Case is ignored. Fields that have no local meaning (views, shares) never match.
"""

from __future__ import annotations

import operator
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import DOCUMENT
from callblocks.toolkits.office.drive_query import FIELDS, And, Not, Or, Query, Term
from callblocks.toolkits.office.local.database import OwnDatabase
from callblocks.toolkits.office.local.drive.drive_row import ROOT, DriveRow, Known, View

__all__ = (
    "DriveTexts",
    "Matches",
    "Read",
    "in_order",
    "matcher",
    "name_holds",
)

Matches: TypeAlias = Callable[[DriveRow], bool]

_WORD = re.compile(r"[^\W_]+")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_THOUSANDTH = 1_000_000  # nanoseconds
_DIGITS = re.compile(r"(\d+)")


def matcher(query: Query, view: View, texts: Mapping[str, Set[str]]) -> Matches:
    """Compile a query to a predicate; `texts` has the ids for each `fullText` value."""
    match query:
        case Term():
            return _term(query, view, texts)
        case Not(item):
            inner = matcher(item, view, texts)
            return lambda row: not inner(row)
        case And(items):
            return _both([matcher(item, view, texts) for item in items])
        case Or(items):
            some = [matcher(item, view, texts) for item in items]
            return lambda row: any(one(row) for one in some)


def _both(every: list[Matches]) -> Matches:
    # A plain loop, because this runs for every file.
    def holds(row: DriveRow) -> bool:
        for one in every:  # noqa: SIM110 `all` of a generator takes twice as long
            if not one(row):
                return False
        return True

    return holds


def name_holds(name: str, value: str) -> bool:
    """Tell if a name contains consecutive words that start with these."""
    return _name_holds(value)(name)


def _name_holds(value: str) -> Callable[[str], bool]:
    whole = value.casefold()
    wanted = _WORD.findall(whole)
    if not wanted:
        return lambda name: whole in name.casefold()
    *first, last = wanted

    def holds(name: str) -> bool:
        lower = name.casefold()
        if last not in lower:  # most names, and it is soon seen
            return False
        words = _WORD.findall(lower)
        return any(
            words[at : at + len(first)] == first and words[at + len(first)].startswith(last)
            for at in range(len(words) - len(first))
        )

    return holds


def in_order(rows: Iterable[DriveRow], order: Iterable[tuple[str, bool]]) -> list[DriveRow]:
    """Sort files by these keys, then by id."""
    ordered = sorted(rows, key=lambda row: row.id)
    for key, down in reversed([*order]):
        ordered.sort(key=_KEYS[key], reverse=down)
    return ordered


def _term(term: Term, view: View, texts: Mapping[str, Set[str]]) -> Matches:
    is_equal, value = term.operator == "=", str(term.value)
    match FIELDS[term.field].kind:
        case "time":
            return _time(term.field, term.operator, value)
        case "truth":
            held = _truth(term.field, view)
            wanted = term.value is is_equal
            return lambda row: held(row) is wanted
        case "members":
            return _member(term.field, value)
        case "text":
            found = texts.get(value, frozenset[str]())
            return _text(term, value) or (lambda row: row.id in found)


def _text(term: Term, value: str) -> Matches | None:
    """Return the comparison of a name or a type; `None` for the text of a file."""
    is_equal = term.operator == "="
    match term.field, term.operator:
        case "name", "contains":
            holds = _name_holds(value)
            return lambda row: holds(row.name)
        case "name", _:
            lower = value.casefold()
            return lambda row: (row.name.casefold() == lower) is is_equal
        case "mimeType", "contains":
            return lambda row: value in row.mime
        case "mimeType", _:
            return lambda row: (row.mime == value) is is_equal
        case _:
            return None


def _time(field: str, how: str, value: str) -> Matches:
    compare = _COMPARE[how]
    moment = round(datetime.fromisoformat(value).timestamp() * 1000)
    if field == "viewedByMeTime":
        return lambda _: False
    if field == "createdTime":
        return lambda row: compare(row.created // _THOUSANDTH, moment)
    return lambda row: compare(row.modified // _THOUSANDTH, moment)


def _truth(field: str, view: View) -> Matches:
    if field == "trashed":
        return view.is_trashed
    return (lambda row: bool(row.starred)) if field == "starred" else (lambda _: False)


def _member(field: str, value: str) -> Matches:
    if field != "parents":  # all is the owner's
        return lambda _: value == "me"
    parent = ROOT if value == "root" else value
    return lambda row: row.parent == parent


def _natural(row: DriveRow) -> list[tuple[bool, int, str]]:
    parts = _DIGITS.split(row.name.casefold())
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _never(_: DriveRow) -> int:
    return 0


_KEYS: dict[str, Callable[[DriveRow], int | str | list[tuple[bool, int, str]]]] = {
    "createdTime": lambda row: row.created,
    "folder": lambda row: not row.is_folder,
    "modifiedByMeTime": lambda row: row.modified,
    "modifiedTime": lambda row: row.modified,
    "name": lambda row: row.name.casefold(),
    "name_natural": _natural,
    "quotaBytesUsed": lambda row: row.size,
    "recency": lambda row: row.modified,
    "sharedWithMeTime": _never,
    "starred": lambda row: not row.starred,
    "viewedByMeTime": _never,
}


# --- Full-text index of the drive: FTS5 in `office/.index/drive-texts.sqlite` ---
#
# A search first reads new and changed files. The index may be deleted at any time; a damaged one is
# rebuilt. Names and descriptions are indexed too, as Google does.

# A function that reads the first bytes of a file; b"" if it cannot.
Read: TypeAlias = Callable[[DriveRow, int], bytes]

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
_INDEXED_WORD = re.compile(r"[^\W_]")


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
        base.execute(_PUT_TEXT, (entry, row.name, row.description, _indexed_text(row, read)))
    return bool(new or dropped)


def _stamp(row: DriveRow) -> _Stamp:
    return (row.inode, row.size, row.modified, row.name, row.description)


def _indexed_text(row: DriveRow, read: Read) -> str:
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
        if _INDEXED_WORD.search(phrase):
            yield phrase


def _found(base: sqlite3.Connection, match: str) -> list[str]:
    return [one for (one,) in base.execute(_FIND, (match,))] if match else []

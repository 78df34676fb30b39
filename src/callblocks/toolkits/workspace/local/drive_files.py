"""The database of the drive, `office/drive.sqlite`: what the file system does not store.

It has ids, names, types and the origins of trashed files. A writer holds the database from its
first look to its last change, so two processes never act on the same view. A damaged file is set
aside and a new one started: only ids and given names are lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from callblocks.toolkits.workspace.local.drive_row import Row
from callblocks.toolkits.workspace.local.own_database import OwnDatabase

__all__ = ("Decision", "DriveFiles", "Known")

T = TypeVar("T")

_COLUMNS = Row.__struct_fields__
_NUMBERS = {"device", "inode", "size", "modified", "created", "starred"}
_TABLE = ", ".join(f"{name} {'INTEGER' if name in _NUMBERS else 'TEXT'}" for name in _COLUMNS)
_SCHEMA = f"CREATE TABLE IF NOT EXISTS files ({_TABLE}, PRIMARY KEY (id)) WITHOUT ROWID"
_LOAD = f"SELECT {', '.join(_COLUMNS)} FROM files"
_PUT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * len(_COLUMNS))})"
_DROP = "DELETE FROM files WHERE id = ?"

# The result of a decision: an answer, the rows to write, and the ids to drop.
Decision: TypeAlias = tuple[T, Iterable[Row], Iterable[str]]


class Known(msgspec.Struct, frozen=True):
    """All files at one moment: by id, and by folder and stored name."""

    rows: dict[str, Row]
    folders: dict[str, dict[str, Row]]

    def changed(self, rows: Iterable[Row], gone: Iterable[str]) -> Known:
        """Return a copy with rows replaced and ids removed."""
        new = self.rows | {row.id: row for row in rows}
        for one in gone:
            new.pop(one, None)
        return _known(new.values())


class DriveFiles:
    """The database of one drive, for use from several threads."""

    def __init__(self, path: Path, faults: list[str]) -> None:
        self._base = OwnDatabase(path, _SCHEMA, faults)
        self._loaded: tuple[tuple[str, int], Known] | None = None

    def known(self) -> Known:
        """Return all files; nothing is created if there is no database."""
        return self._base.read(self._load) if self._base.is_there() else _known(())

    def change(self, decide: Callable[[Known], Decision[T]]) -> T:
        """Lock the database, and apply the rows and ids that `decide` returns."""

        def write(base: sqlite3.Connection) -> tuple[T, tuple[tuple[str, int], Known]]:
            known = self._load(base)
            name, count = self._base.state(base)
            done, rows, gone = decide(known)
            rows, gone = [*rows], [*gone]
            if not rows and not gone:
                return done, ((name, count), known)
            base.executemany(_DROP, [(one,) for one in gone])
            base.executemany(_PUT, map(msgspec.structs.astuple, rows))
            return done, ((name, count + 1), known.changed(rows, gone))

        done, self._loaded = self._base.write(write)
        return done

    def _load(self, base: sqlite3.Connection) -> Known:
        # The parsed rows are cached under the database's identity and change counter: loading ten
        # thousand rows takes longer than everything else in a call.
        state = self._base.state(base)
        loaded = self._loaded
        if loaded is None or loaded[0] != state:
            loaded = self._loaded = (state, _known(map(_row, base.execute(_LOAD))))
        return loaded[1]


def _row(values: tuple[Any, ...]) -> Row:
    return Row(*values)


def _known(rows: Iterable[Row]) -> Known:
    by_id = {row.id: row for row in rows}
    folders: dict[str, dict[str, Row]] = {}
    for row in by_id.values():
        folders.setdefault(row.folder, {})[row.stored] = row
    return Known(by_id, folders)

"""A check that the tables of a SQLite file are the ones that we made.

A file may come from somebody else. A view in the place of a table could run forever, and a trigger
could change what is written: both are refused before anything is read.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from callblocks.model.errors import TimelineError

__all__ = ("check_tables",)

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

"""A spreadsheet in an SQLite file, readable with the `sqlite3` shell.

    sheets   id, title, position, rows, columns
    cells    sheet, row, col, value, kind, pattern

Rows and columns count from 1. Empty cells are not stored. `kind` is text, number, boolean (1 or 0)
or formula; `pattern` is the number format: `0%`, `$#,##0.00`. The file may have been edited or made
by others, so every value is cast and checked on reading.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import COLUMNS, Box
from callblocks.toolkits.workspace.entered import Cell
from callblocks.toolkits.workspace.local.database import database, make_database

__all__ = ("Place", "Sheet", "SheetTables", "make_sheet_file")

# A row and a column.
Place = tuple[int, int]

_SCHEMA = """
create table sheets (
    id integer primary key,
    title text not null,
    position integer not null,
    rows integer not null default 1000,
    columns integer not null default 26
) strict;
create table cells (
    sheet integer not null references sheets (id),
    row integer not null,
    col integer not null,
    value any not null,
    kind text not null check (kind in ('text', 'number', 'boolean', 'formula')),
    pattern text not null default '',
    primary key (sheet, row, col)
) strict, without rowid;
create index cells_by_column on cells (sheet, col, row)
"""
# Approximate memory limit of one answer in bytes.
_MOST_READ = 32_000_000

_PER_CELL = 64
_BOX = "sheet = ? and row between ? and ? and col between ? and ?"


class Sheet(msgspec.Struct, frozen=True):
    """A sheet and the size of its grid; cells beyond it are empty until written."""

    id: int
    title: str
    rows: int
    columns: int


class SheetTables:
    """The tables of an open file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def sheets(self) -> list[Sheet]:
        """Return the sheets in their order."""
        found = self.connection.execute(
            "select id, cast(ifnull(title, '') as text), "
            "max(cast(ifnull(rows, 1) as integer), 1), "
            "max(cast(ifnull(columns, 1) as integer), 1) from sheets order by position, id"
        )
        return [Sheet(*row) for row in found]

    def cells(self, sheet: Sheet, box: Box) -> Iterator[tuple[int, int, Cell]]:
        """Yield row, column and cell of a box, row by row."""
        found = self.connection.execute(
            "select cast(row as integer), cast(col as integer), value, kind, pattern "
            f"from cells where {_BOX} order by row, col",
            _where(sheet, box),
        )
        left, before = _MOST_READ, (0, 0)
        for row, column, value, kind, pattern in found:
            if (row, column) == before:  # a file of others may have a cell twice
                continue
            before = row, column
            left -= len(value) + _PER_CELL if isinstance(value, (str, bytes)) else _PER_CELL
            if left < 0:
                why = "these cells hold too much to be read at once; ask for a smaller range"
                raise ToolError("invalid_input", why, range=why)
            yield row, column, _cell(value, kind, pattern)

    def put(self, sheet: Sheet, cells: Mapping[Place, Cell | None]) -> None:
        """Write cells; `None` empties one."""
        gone = [(sheet.id, *place) for place, cell in cells.items() if cell is None]
        held = [
            (sheet.id, *place, cell.value, cell.kind, cell.pattern)
            for place, cell in cells.items()
            if cell is not None
        ]
        self._many("delete from cells where sheet = ? and row = ? and col = ?", gone)
        self._many("insert or replace into cells values (?, ?, ?, ?, ?, ?)", held)

    def empty(self, sheet: Sheet, box: Box) -> None:
        """Remove the cells of a box."""
        self.connection.execute(f"delete from cells where {_BOX}", _where(sheet, box))

    def resize(self, sheet: Sheet, rows: int, columns: int) -> None:
        """Resize a sheet's grid."""
        self.connection.execute(
            "update sheets set rows = ?, columns = ? where id = ?", (rows, columns, sheet.id)
        )

    def holds_from(self, sheet: Sheet, row: int) -> bool:
        """Tell if anything is in a row or below it."""
        found = self.connection.execute(
            "select 1 from cells where sheet = ? and row >= ? limit 1", (sheet.id, row)
        )
        return found.fetchone() is not None

    def formulas(self, sheet: Sheet, box: Box) -> int:
        """Count the formulas in a box."""
        (count,) = self.connection.execute(
            f"select count(*) from cells where {_BOX} and kind = 'formula'", _where(sheet, box)
        ).fetchone()
        return count

    def has_formulas(self) -> bool:
        """Tell if any cell of the file is a formula."""
        found = self.connection.execute("select 1 from cells where kind = 'formula' limit 1")
        return found.fetchone() is not None

    def shift(self, sheet: Sheet, row: int, count: int) -> None:
        """Move a row, and all below it, down."""
        # Through negative rows: the primary key is checked per row, and shifted rows would collide
        # with those that have not moved yet.
        self.connection.execute(
            "update cells set row = -(row + ?) where sheet = ? and row >= ?",
            (count, sheet.id, row),
        )
        self.connection.execute(
            "update cells set row = -row where sheet = ? and row < 0", (sheet.id,)
        )

    def _many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self.connection.executemany(statement, rows)


def make_sheet_file(path: Path, titles: Iterable[str]) -> None:
    """Create an empty spreadsheet with these sheets."""
    make_database(path, _SCHEMA)
    with database(path, write=True) as connection:
        connection.executemany(
            "insert into sheets (title, position) values (?, ?)",
            [(title, position) for position, title in enumerate(titles)],
        )


def _where(sheet: Sheet, box: Box) -> tuple[int, ...]:
    return sheet.id, box.top, box.bottom, box.left, min(box.right, COLUMNS)


def _cell(value: Any, kind: Any, pattern: Any) -> Cell:
    """Return a stored cell; one that was edited by hand is interpreted by its value."""
    if isinstance(value, str):
        return Cell(value, "formula" if kind == "formula" else "text")
    if isinstance(value, bytes):
        return Cell(value.decode(errors="replace"), "text")
    if value is None or not math.isfinite(value):
        return Cell("#NUM!", "text")
    if kind == "boolean":
        return Cell(bool(value), kind)
    return Cell(value, "number", str(pattern or ""))

"""A spreadsheet in an SQLite file, readable with the `sqlite3` shell, and its export."""

from __future__ import annotations

import csv
import io
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.database import damaged, database, make_database
from callblocks.toolkits.office.tools.cells import (
    CELLS,
    COLUMNS,
    ROWS,
    Box,
    Cell,
    Value,
    enter,
    print_box,
    shown,
    typed,
)

__all__ = (
    "CSV",
    "EXPORTS",
    "XLSX",
    "Found",
    "Place",
    "Sheet",
    "SheetTables",
    "enter_cells",
    "export_sheet",
    "insert_rows",
    "lines_of",
    "make_sheet_file",
)

# --- A spreadsheet in an SQLite file, readable with the `sqlite3` shell ---
#
#     sheets   id, title, position, rows, columns
#     cells    sheet, row, col, value, kind, pattern
#
# Rows and columns count from 1. Empty cells are not stored. `kind` is text, number, boolean (1 or
# 0) or formula; `pattern` is the number format: `0%`, `$#,##0.00`. The file may have been edited
# or made by others, so every value is cast and checked on reading.


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


# --- Writing of cells into a sheet, whose grid grows up to the limit of a spreadsheet ---


def enter_cells(
    tables: SheetTables,
    sheet: Sheet,
    start: Place,
    values: Sequence[Sequence[Any]],
    entered: str,
) -> Json:
    """Write rows of values from a cell on; `None` leaves a cell as it is, "" empties it."""
    top, left = start
    width = max(map(len, values))
    box = Box(top, left, top + len(values) - 1, left + width - 1)
    _grow(tables, sheet, max(sheet.rows, box.bottom), max(sheet.columns, box.right))
    cells = {
        (row, column): _written_cell(value, entered)
        for row, line in enumerate(values, top)
        for column, value in enumerate(line, left)
        if value is not None
    }
    tables.put(sheet, cells)
    return _updates(sheet, box, cells)


def insert_rows(tables: SheetTables, sheet: Sheet, row: int, count: int) -> Sheet:
    """Insert rows and return the resized sheet; existing rows move down.

    Formulas are not rewritten here, so nothing is moved in a file that has any.
    """
    if tables.holds_from(sheet, row):
        if tables.has_formulas():
            why = (
                f"something lies in or below row {row}, and moving it down would break the "
                "formulas of this spreadsheet; append to another range, or use sheets_write"
            )
            raise ToolError("conflict", why)
        tables.shift(sheet, row, count)
    rows = max(sheet.rows, row - 1) + count
    _grow(tables, sheet, rows, sheet.columns)
    return Sheet(sheet.id, sheet.title, rows, sheet.columns)


def _written_cell(value: Any, entered: str) -> Cell | None:
    if value == "":
        return None
    cell = enter(value) if entered == "USER_ENTERED" else typed(value)
    return None if cell.value == "" else cell


def _grow(tables: SheetTables, sheet: Sheet, rows: int, columns: int) -> None:
    if (rows, columns) == (sheet.rows, sheet.columns):
        return
    others = sum(one.rows * one.columns for one in tables.sheets() if one.id != sheet.id)
    if columns > COLUMNS or rows * columns + others > CELLS:
        why = (
            f"the sheet would have {rows:,} rows and {columns:,} columns; a spreadsheet has at "
            f"most {CELLS:,} cells and {COLUMNS:,} columns, empty ones too"
        )
        raise ToolError("invalid_input", why, range=why)
    tables.resize(sheet, rows, columns)


def _updates(sheet: Sheet, box: Box, cells: dict[Place, Cell | None]) -> Json:
    answer: Json = {
        "updatedRange": print_box(sheet.title, box),
        "updatedRows": len({row for row, _ in cells}),
        "updatedColumns": len({column for _, column in cells}),
        "updatedCells": len(cells),
    }
    formulas = sum(cell is not None and cell.kind == "formula" for cell in cells.values())
    return answer | {"uncomputed": formulas} if formulas else answer


# --- Export of a local spreadsheet for other programs ---
#
#     text/csv                             the first sheet, as a person sees it
#     application/vnd.openxmlformats-…     all sheets, for Excel and LibreOffice
#
# Cells are not altered: text that starts with `=` or `@` stays as it is, and a program that opens a
# CSV may take it for a formula.


# --- Cells as rows or columns, without empty ends ---

# Row, column and value of a cell.
Found: TypeAlias = tuple[int, int, Value]


def lines_of(found: Iterable[Found], box: Box, major: str) -> list[list[Value]]:
    """Return the values of a box by row, or by column (`COLUMNS`); "" is an empty cell."""
    if major == "COLUMNS":
        turned = sorted(((column, row, value) for row, column, value in found), key=_place)
        return _lines(turned, box.left, box.top)
    return _lines(found, box.top, box.left)


def _place(one: Found) -> tuple[int, int]:
    return one[0], one[1]


def _lines(found: Iterable[Found], first_line: int, first: int) -> list[list[Value]]:
    lines: list[list[Value]] = []
    filled = 0
    for line, place, value in found:
        missing = line - first_line + 1 - len(lines)
        if missing > 0:
            filled = _count(filled + missing)
            lines.extend([] for _ in range(missing))
        cells = lines[-1]
        gap = place - first - len(cells)
        if gap > 0:
            filled = _count(filled + gap)
            cells.extend([""] * gap)
        cells.append(value)
    return lines


def _count(filled: int) -> int:
    """Count filled cells against a limit: two distant cells must not exhaust memory."""
    if filled > CELLS:
        why = f"there are more than {CELLS:,} cells in this range; ask for a smaller one"
        raise ToolError("invalid_input", why, range=why)
    return filled


# --- Export of a local spreadsheet for other programs ---

CSV = "text/csv"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# The types that a spreadsheet can be exported as.
EXPORTS = (CSV, XLSX)

_ALL = Box(1, 1, ROWS, COLUMNS)


def export_sheet(path: Path, mime: str) -> bytes:
    """Export a spreadsheet; `invalid_input` for a type that is not in `EXPORTS`.

    A CSV contains a formula's text, an Excel file the formula.
    """
    if mime not in EXPORTS:
        why = f"a spreadsheet is not exported as {brief(mime)}; choose from: {', '.join(EXPORTS)}"
        raise ToolError("invalid_input", why, mimeType=why)
    with database(path) as connection:
        tables = SheetTables(connection)
        sheets = tables.sheets()
        if not sheets:
            raise damaged(path, "it has no sheets")
        return _csv(tables, sheets[0]) if mime == CSV else _xlsx(tables, sheets)


def _csv(tables: SheetTables, sheet: Sheet) -> bytes:
    found = ((row, column, shown(cell)) for row, column, cell in tables.cells(sheet, _ALL))
    lines = lines_of(found, _ALL, "ROWS")
    width = max(map(len, lines), default=0)
    # Rows are padded to one length, unless a few long rows would blow the file up.
    width = width if width * len(lines) <= CELLS else 0
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([*line, *[""] * (width - len(line))] for line in lines)
    return text.getvalue().encode()


def _xlsx(tables: SheetTables, sheets: list[Sheet]) -> bytes:
    try:
        from callblocks.toolkits.office.local.sheet_excel import write_excel
    except ImportError as error:
        why = f"the package openpyxl is not installed here; ask for {CSV}"
        raise ToolError("invalid_input", why, mimeType=why) from error

    def cells(sheet: Sheet) -> Iterator[tuple[int, int, Cell]]:
        return tables.cells(sheet, _ALL)

    return write_excel([(sheet.title, cells(sheet)) for sheet in sheets])

"""Local spreadsheets: SQLite files of the drive, `<Title>.sheet`.

Formulas are stored and returned as they were typed; they are not computed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import SPREADSHEET, Json
from callblocks.toolkits.office.local.database import damaged, database
from callblocks.toolkits.office.local.sheet_file import (
    Sheet,
    SheetTables,
    enter_cells,
    insert_rows,
    lines_of,
    make_sheet_file,
)
from callblocks.toolkits.office.tools.cells import (
    COLUMNS,
    ROWS,
    Box,
    Range,
    print_box,
    read_range,
    rendered,
)

__all__ = (
    "SUFFIX",
    "LocalSheets",
    "SheetDrive",
    "last_table",
)

# --- Detection of the table that rows are appended to ---
#
# A table is a box of cells surrounded by empty cells. If a range touches several, the last one
# counts; a range that touches none has no table. The box grows from its last cell in both
# directions until neither changes it (a fixed point), as Google's append does.


def last_table(connection: sqlite3.Connection, sheet: int, within: Box) -> Box | None:
    """Return the last table that a box of a sheet touches."""
    last = connection.execute(
        "select row, col from cells where sheet = ? and row between ? and ? "
        "and col between ? and ? order by row desc, col desc limit 1",
        (sheet, within.top, within.bottom, within.left, within.right),
    ).fetchone()
    if last is None:
        return None
    row, column = last
    box = Box(row, column, row, column)
    before = None
    # Widening can reveal new rows and vice versa. Each round only grows the box within the sheet,
    # so the loop ends.
    while box != before:
        before = box
        box = _heightened(connection, sheet, _widened(connection, sheet, box))
    return box


def _widened(connection: sqlite3.Connection, sheet: int, box: Box) -> Box:
    """Extend a box by adjacent columns that hold something."""

    def holds(column: int) -> bool:
        found = connection.execute(
            "select 1 from cells where sheet = ? and col = ? and row between ? and ? limit 1",
            (sheet, column, box.top - 1, box.bottom + 1),
        )
        return found.fetchone() is not None

    left, right = box.left, box.right
    while holds(left - 1):
        left -= 1
    while holds(right + 1):
        right += 1
    return Box(box.top, left, box.bottom, right)


def _heightened(connection: sqlite3.Connection, sheet: int, box: Box) -> Box:
    """Extend a box by adjacent rows that hold something."""
    beside = (box.left - 1, box.right + 1)
    top = _end(connection, sheet, beside, box.top, -1)
    bottom = _end(connection, sheet, beside, box.bottom, 1)
    return Box(top, box.left, bottom, box.right)


def _end(
    connection: sqlite3.Connection, sheet: int, beside: tuple[int, int], row: int, step: int
) -> int:
    """Return the last row in a direction (-1 or 1) before an empty one.

    A column is followed as far as it is filled; then any other column may continue. That takes one
    query per column instead of one per row.
    """
    order = "row > ? order by row" if step > 0 else "row < ? order by row desc"
    while True:
        next_row = connection.execute(
            "select col from cells where sheet = ? and row = ? and col between ? and ? limit 1",
            (sheet, row + step, *beside),
        ).fetchone()
        if next_row is None:
            return row
        column = f"select row from cells where sheet = ? and col = ? and {order}"
        for (filled,) in connection.execute(column, (sheet, *next_row, row)):
            if filled != row + step:
                break
            row = filled


# --- Local spreadsheets: SQLite files of the drive, `<Title>.sheet` ---

SUFFIX = ".sheet"


class SheetDrive(Protocol):
    """The drive as spreadsheets need it."""

    def place(self, file_id: str, mime_prefixes: Sequence[str]) -> Path:
        """Return the path of a file that has one of these types."""
        ...

    def adopt(self, name: str, suffix: str, mime: str, write: Callable[[Path], None]) -> Json:
        """Create a file that `write` writes."""
        ...

    def touch(self, file_id: str) -> None:
        """Set a file's modification time to now."""
        ...

    def file(self, file_id: str) -> Json:
        """Return the metadata of a file."""
        ...


class LocalSheets:
    """The spreadsheets of a local drive."""

    def __init__(self, drive: SheetDrive) -> None:
        self._drive = drive

    def spreadsheet(self, spreadsheet_id: str) -> Json:
        """Return its title and its sheets, without cells."""
        with self._opened(spreadsheet_id) as tables:
            sheets = tables.sheets()
        title = self._drive.file(spreadsheet_id)["name"]
        return _spreadsheet(spreadsheet_id, title, sheets)

    def values(self, spreadsheet_id: str, range: str, *, render: str, major: str) -> Json:
        """Return the cells of a range as a ValueRange; `uncomputed` counts formulas among them."""
        wanted = read_range(range)
        with self._opened(spreadsheet_id) as tables:
            sheet = _sheet(tables, wanted)
            reach = _reach(wanted)
            found = tables.cells(sheet, reach)
            values = ((row, column, rendered(cell, render)) for row, column, cell in found)
            box = wanted.within(sheet.rows, sheet.columns)
            lines = lines_of(values, box, major)
            formulas = 0 if render == "FORMULA" else tables.formulas(sheet, reach)
        answer: Json = {
            "range": print_box(sheet.title, box),
            "majorDimension": major,
            "values": lines,
        }
        return answer | {"uncomputed": formulas} if formulas else answer

    def write(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Write cells from the start of a range on. An UpdateValuesResponse."""
        wanted = read_range(range)
        with self._opened(spreadsheet_id, write=True) as tables:
            sheet = _sheet(tables, wanted)
            updates = enter_cells(tables, sheet, wanted.start, values, entered)
        self._touch(spreadsheet_id)
        return {"spreadsheetId": spreadsheet_id} | updates

    def append(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Add rows below the table in that range; rows below it move down."""
        wanted = read_range(range)
        answer: Json = {"spreadsheetId": spreadsheet_id}
        with self._opened(spreadsheet_id, write=True) as tables:
            sheet = _sheet(tables, wanted)
            table = last_table(tables.connection, sheet.id, _reach(wanted))
            start = wanted.start
            if table is not None:
                answer["tableRange"] = print_box(sheet.title, table)
                start = (table.bottom + 1, table.left)
            sheet = insert_rows(tables, sheet, start[0], len(values))
            updates = enter_cells(tables, sheet, start, values, entered)
        self._touch(spreadsheet_id)
        return answer | {"updates": {"spreadsheetId": spreadsheet_id} | updates}

    def create(self, title: str, sheets: Sequence[str]) -> Json:
        """Make a spreadsheet with these sheets."""
        titles = tuple(sheets) or ("Sheet1",)
        file = self._drive.adopt(
            title, SUFFIX, SPREADSHEET, lambda path: make_sheet_file(path, titles)
        )
        return self.spreadsheet(file["id"])

    def clear(self, spreadsheet_id: str, range: str) -> Json:
        """Empty the cells of a range. A ClearValuesResponse."""
        wanted = read_range(range)
        with self._opened(spreadsheet_id, write=True) as tables:
            sheet = _sheet(tables, wanted)
            tables.empty(sheet, _reach(wanted))
        self._touch(spreadsheet_id)
        box = wanted.within(sheet.rows, sheet.columns)
        return {"spreadsheetId": spreadsheet_id, "clearedRange": print_box(sheet.title, box)}

    def _path(self, spreadsheet_id: str) -> Path:
        try:
            return self._drive.place(spreadsheet_id, (SPREADSHEET,))
        except ToolError as error:
            if error.code != "invalid_input":
                raise
            file = self._drive.file(spreadsheet_id)
            what = f"{brief(file['name'])} is {file['mimeType']}, not a spreadsheet"
            why = f"{what}; read it with drive_read"
            raise ToolError("invalid_input", why, spreadsheetId=why) from error

    def _touch(self, spreadsheet_id: str) -> None:
        # The cells are written; a failure now would make the model write them again.
        with suppress(ToolError):
            self._drive.touch(spreadsheet_id)

    @contextmanager
    def _opened(self, spreadsheet_id: str, *, write: bool = False) -> Generator[SheetTables]:
        path = self._path(spreadsheet_id)
        with database(path, write=write) as connection:
            tables = SheetTables(connection)
            if not tables.sheets():
                raise damaged(path, "it has no sheets")
            yield tables


def _sheet(tables: SheetTables, wanted: Range) -> Sheet:
    """Return the sheet of a range; names are compared without case."""
    sheets = tables.sheets()
    if not wanted.sheet:
        return sheets[0]
    name = wanted.sheet.casefold()
    for sheet in sheets:
        if sheet.title.casefold() == name:
            return sheet
    raise ToolError("invalid_input", f"there is no sheet {brief(wanted.sheet)}")


def _reach(wanted: Range) -> Box:
    """Return the box to search: an open range includes cells beyond the grid."""
    top, left = wanted.start
    return Box(top, left, wanted.bottom or ROWS, wanted.right or COLUMNS)


def _spreadsheet(spreadsheet_id: str, title: str, sheets: Sequence[Sheet]) -> Json:
    return {
        "spreadsheetId": spreadsheet_id,
        "properties": {"title": title},
        "sheets": [
            {
                "properties": {
                    "sheetId": sheet.id,
                    "title": sheet.title,
                    "index": index,
                    "sheetType": "GRID",
                    "gridProperties": {"rowCount": sheet.rows, "columnCount": sheet.columns},
                }
            }
            for index, sheet in enumerate(sheets)
        ],
    }

"""Local spreadsheets: SQLite files of the drive, `<Title>.sheet`.

Formulas are stored and returned as they were typed; they are not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import COLUMNS, ROWS, Box, Range, print_box, read_range
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.drive_types import SPREADSHEET
from callblocks.toolkits.workspace.entered import rendered
from callblocks.toolkits.workspace.local.database import damaged, database
from callblocks.toolkits.workspace.local.sheet_file import Sheet, SheetTables, make_sheet_file
from callblocks.toolkits.workspace.local.sheet_rows import lines_of
from callblocks.toolkits.workspace.local.sheet_table import last_table
from callblocks.toolkits.workspace.local.sheet_writing import enter_cells, insert_rows

__all__ = ("SUFFIX", "LocalSheets", "SheetDrive")

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

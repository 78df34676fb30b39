"""Writing of cells into a sheet, whose grid grows up to the limit of a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import CELLS, COLUMNS, Box, print_box
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.entered import Cell, enter, typed
from callblocks.toolkits.workspace.local.sheet_file import Place, Sheet, SheetTables

__all__ = ("enter_cells", "insert_rows")


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
        (row, column): _cell(value, entered)
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


def _cell(value: Any, entered: str) -> Cell | None:
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

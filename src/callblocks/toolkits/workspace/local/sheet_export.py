"""Export of a local spreadsheet for other programs.

    text/csv                             the first sheet, as a person sees it
    application/vnd.openxmlformats-…     all sheets, for Excel and LibreOffice

Cells are not altered: text that starts with `=` or `@` stays as it is, and a program that opens a
CSV may take it for a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import CELLS, COLUMNS, ROWS, Box
from callblocks.toolkits.workspace.entered import Cell, shown
from callblocks.toolkits.workspace.local.database import damaged, database
from callblocks.toolkits.workspace.local.sheet_file import Sheet, SheetTables
from callblocks.toolkits.workspace.local.sheet_rows import lines_of

__all__ = ("CSV", "EXPORTS", "XLSX", "export_sheet")

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
        from callblocks.toolkits.workspace.local.excel import write_excel
    except ImportError as error:
        why = f"the package openpyxl is not installed here; ask for {CSV}"
        raise ToolError("invalid_input", why, mimeType=why) from error

    def cells(sheet: Sheet) -> Iterator[tuple[int, int, Cell]]:
        return tables.cells(sheet, _ALL)

    return write_excel([(sheet.title, cells(sheet)) for sheet in sheets])

"""Export of a local spreadsheet for other programs.

    text/csv                             the first sheet, as a person sees it
    application/vnd.openxmlformats-…     all sheets, for Excel and LibreOffice

Cells are not altered: text that starts with `=` or `@` stays as it is, and a program that opens a
CSV may take it for a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.a1 import CELLS, COLUMNS, ROWS, Box
from callblocks.toolkits.office.local.database import damaged, database
from callblocks.toolkits.office.local.sheet_file import Sheet, SheetTables
from callblocks.toolkits.office.tools.cells import Cell, Value, shown

__all__ = (
    "CSV",
    "EXPORTS",
    "XLSX",
    "Found",
    "export_sheet",
    "lines_of",
)

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

"""Sheets as an Excel workbook, through openpyxl.

Excel's own limits differ: 1,048,576 rows, 16,384 columns, 32,767 characters in a cell, names of
31 characters. A name is cut; a cell that does not fit is refused, as it would be lost.
"""

# The package has no types.
# pyright: reportMissingModuleSource=false, reportUnknownMemberType=false

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.tools.cells import Cell, cell_name

__all__ = ("write_excel",)

_ROWS, _COLUMNS, _LENGTH, _NAME = 1_048_576, 16_384, 32_767, 31
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\]")
# Characters that XML 1.0 cannot represent.
_NOT_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

ExcelCells = tuple[int, int, Cell]


def write_excel(sheets: Sequence[tuple[str, Iterable[ExcelCells]]]) -> bytes:
    """Return a workbook of these sheets: the name of each, and its cells row by row."""
    book: Any = Workbook(write_only=True)
    names: set[str] = set()
    for title, found in sheets:
        page = book.create_sheet(_name(title, names))
        _fill(page, title, found)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _fill(page: Any, title: str, found: Iterable[ExcelCells]) -> None:
    line: list[Any] = []
    at = 1
    for row, column, cell in found:
        _require_fit(title, row, column, cell)
        while at < row:
            page.append(line)
            line = []
            at += 1
        line.extend([None] * (column - 1 - len(line)))
        line.append(_excel_cell(page, cell))
    page.append(line)


def _excel_cell(page: Any, cell: Cell) -> Any:
    value = cell.value
    if isinstance(value, str):
        value = _NOT_IN_TEXT.sub("\ufffd", value)
    # A plain value is much faster than a cell object, so that is made only where needed.
    if not cell.pattern and (cell.kind != "text" or not str(value).startswith(("=", "#"))):
        return value
    made: Any = WriteOnlyCell(page, value)
    if cell.kind == "text":
        made.data_type = "s"  # also where it looks like a formula or an error
    if cell.pattern:
        made.number_format = cell.pattern
    return made


def _require_fit(title: str, row: int, column: int, cell: Cell) -> None:
    long = isinstance(cell.value, str) and len(cell.value) > _LENGTH
    if row > _ROWS or column > _COLUMNS or long:
        why = (
            f"the cell {cell_name(row, column)} of {brief(title)} does not fit into an Excel "
            "file; export text/csv"
        )
        raise ToolError("invalid_input", why, mimeType=why)


def _name(title: str, taken: set[str]) -> str:
    """Return a valid and unused sheet name."""
    plain = _NOT_IN_NAMES.sub("_", _NOT_IN_TEXT.sub("_", title)).strip("'") or "Sheet"
    name, number = plain[:_NAME], 1
    while name.casefold() in taken:
        number += 1
        end = f" ({number})"
        name = plain[: _NAME - len(end)] + end
    taken.add(name.casefold())
    return name

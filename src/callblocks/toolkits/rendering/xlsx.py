"""`write_xlsx`: a workbook with a sheet for each table, in a look that can be worked with."""

# The package has no types.
# pyright: reportMissingModuleSource=false, reportUnknownMemberType=false

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.properties import PageSetupProperties

from callblocks.toolkits.rendering.faults import Unrenderable
from callblocks.toolkits.rendering.letters import room_of
from callblocks.toolkits.rendering.look import ACCENT, FONT, TINT
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.reading import Document
from callblocks.toolkits.rendering.sheet_tables import SheetTable, tables_of
from callblocks.toolkits.rendering.sheet_values import Value, value_of
from callblocks.toolkits.rendering.wire import Job, Made

__all__ = ("write_xlsx",)

_CELLS = 500_000
_COLUMNS = 16_384
_LENGTH = 32_767
_NAME = 31
_NARROW, _WIDE = 8, 60
# Maximum width in characters of a sheet that is printed in portrait.
_PORTRAIT = 100
# Points of one line, and the maximum height of a row.
_LINE, _HIGHEST = 15.0, 409.0
# A text that begins with one of these becomes a formula when the cell is edited or exported as CSV
# (CSV injection). Such cells get the quote prefix.
_ACTS = ("=", "+", "-", "@", "\t")
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\\u202a-\u202e\u2066-\u2069]")
_STEP = 5_000


def write_xlsx(job: Job, outside: Outside) -> Made:
    """Render the tables as XLSX."""
    tables, document = tables_of(job, outside)
    if document is not None and document.references.listed:
        tables.append(_sources(document))
    _require_fit(tables)
    # The write-only mode streams rows to disk. A normal workbook keeps about fifty times the size
    # of its data in memory.
    book: Any = Workbook(write_only=True)
    book.properties.title = (document.title if document else job.title) or job.name
    book.properties.creator = (document.author if document else job.author) or ""
    names: set[str] = set()
    for number, table in enumerate(tables, 1):
        outside.say(f"sheet {number} of {len(tables)}")
        _Sheet(book.create_sheet(_name(table.name, names)), table, outside).write()
    written = io.BytesIO()
    book.save(written)
    return Made(written.getvalue(), {"sheets": len(tables), "rows": sum(map(_body, tables))})


class _Sheet:
    """A writer of one table, whose head is frozen, filterable and highlighted."""

    def __init__(self, page: Any, table: SheetTable, outside: Outside) -> None:
        self._page = page
        self._table = table
        self._outside = outside
        self._font, self._bold = Font(name=FONT, size=11), Font(name=FONT, bold=True, color=ACCENT)
        self._fill = PatternFill("solid", fgColor=TINT)
        self._line = Border(bottom=Side("medium", color=ACCENT))
        self._plain, self._right = Alignment(vertical="top"), Alignment("right", "top")
        self._wrapped = Alignment(vertical="top", wrap_text=True)
        self._numbers = _number_columns(table)
        self._patterns: dict[int, str] = {}

    def write(self) -> None:
        """Write the column widths, then the rows: the write-only mode needs this order."""
        rows, heads = self._table.rows, self._table.heads
        columns = max((len(row) for row in rows), default=0)
        widths = [_width(row[at] for row in rows if at < len(row)) for at in range(columns)]
        for at, width in enumerate(widths, 1):
            self._page.column_dimensions[get_column_letter(at)].width = width
        if heads and columns:
            self._page.freeze_panes = f"A{heads + 1}"
            last = get_column_letter(columns)
            self._page.auto_filter.ref = f"A{heads}:{last}{len(rows)}"
        self._set_paper(heads, sum(widths))
        for number, row in enumerate(rows):
            if number % _STEP == _STEP - 1:
                self._outside.say(f"row {number + 1} of {len(rows)}")
            # Not every program grows rows for wrapped text by itself.
            if (lines := max(map(_lines, row), default=1)) > 1:
                self._page.row_dimensions[number + 1].height = min(_HIGHEST, _LINE * lines)
            self._page.append(self._cells(row, is_head=number < heads))

    def _set_paper(self, heads: int, width: int) -> None:
        """Print all columns on one page width, with the head on each page."""
        self._page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        self._page.page_setup.fitToHeight = 0
        self._page.page_setup.orientation = "landscape" if width > _PORTRAIT else "portrait"
        if heads:
            self._page.print_title_rows = f"1:{heads}"

    def _cells(self, row: list[Any], *, is_head: bool) -> list[Any]:
        cells = [self._cell(value, is_head=is_head) for value in row]
        for at in self._numbers if is_head else ():
            cells[at].alignment = self._right
        for at, cell in enumerate(() if is_head else cells):
            # A formula gets the number format of the cell above it.
            if cell.data_type == "f":
                cell.number_format = self._patterns.get(at, cell.number_format)
            elif cell.data_type in ("n", "d") and cell.value is not None:
                self._patterns[at] = cell.number_format
        return cells

    def _cell(self, given: Any, *, is_head: bool) -> Any:
        value = Value(given) if is_head else value_of(given)
        if value.refused:
            words = (
                "what begins with = and is no formula that only reckons with its sheet stays text"
            )
            self._outside.tell("formula_as_text", words)
        made: Any = WriteOnlyCell(self._page, value.value)
        if isinstance(value.value, str):
            made.value = _short(value.value, _LENGTH)
            # openpyxl would turn every text with a leading `=` into a formula.
            made.data_type = "f" if value.formula else "s"
            # Without the quote prefix the text would become a formula on editing or in CSV.
            made.quotePrefix = not value.formula and value.value.startswith(_ACTS)
            made.alignment = self._wrapped if _lines(value.value) > 1 else self._plain
        else:
            made.number_format = value.pattern or made.number_format
            made.alignment = self._plain
        made.font = self._bold if is_head else self._font
        if is_head:
            made.fill, made.border = self._fill, self._line
        return made


def _require_fit(tables: list[SheetTable]) -> None:
    widest = max(len(row) for table in tables for row in table.rows or [[]])
    if sum(len(row) for table in tables for row in table.rows) > _CELLS or widest > _COLUMNS:
        raise Unrenderable("document_too_large", f"a workbook has at most {_CELLS:,} cells here")


def _body(table: SheetTable) -> int:
    return max(0, len(table.rows) - table.heads)


def _number_columns(table: SheetTable) -> list[int]:
    """Return the columns whose first value is a number; their heads are right-aligned."""
    body = table.rows[table.heads :]
    first: list[Any] = body[0] if body else []
    heads = min((len(row) for row in table.rows[: table.heads]), default=0)
    values = [value_of(value).value for value in first[:heads]]
    return [at for at, value in enumerate(values) if isinstance(value, int | float)]


def _width(values: Iterable[Any]) -> int:
    """Return the width of a column; long text is wrapped."""
    longest = max((room_of(line) for value in values for line in _shown(value)), default=0)
    return min(_WIDE, max(_NARROW, longest + 3))


def _lines(value: Any) -> int:
    return sum(max(1, math.ceil(room_of(line) / (_WIDE - 3))) for line in _shown(value))


def _shown(value: Any) -> list[str]:
    return [""] if value is None else str(value).split("\n")


def _name(title: str, taken: set[str]) -> str:
    """Return a valid and unused sheet name."""
    kept = " ".join(_NOT_IN_NAMES.sub(" ", title).split())
    base = _short(kept, _NAME).strip(" '") or "Sheet"
    # Excel reserves this name.
    base = "History 1" if base.lower() == "history" else base
    name, number = base, 2
    while name.lower() in taken:
        end = f" {number}"
        name, number = _short(base, _NAME - len(end)) + end, number + 1
    taken.add(name.lower())
    return name


def _short(text: str, most: int) -> str:
    """Cut a text to a length in UTF-16 units, in which Excel counts."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def _sources(document: Document) -> SheetTable:
    rows: list[list[Any]] = [["Number", "Title", "Address", "Date"]]
    for number, source in document.references.listed:
        rows.append([f"[{number}]", source.title, source.address, source.date])
    return SheetTable("Sources", rows)

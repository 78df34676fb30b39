"""`write_xlsx`: a workbook with a sheet for each table, in a look that can be worked with."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, cast

import msgspec
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.worksheet.properties import PageSetupProperties

from callblocks.toolkits.documents.markdown_tree import Document, plain_text, read_markdown
from callblocks.toolkits.documents.render_protocol import Made, Outside, RenderJob, Unrenderable
from callblocks.toolkits.documents.runs import ACCENT, FONT, TINT, grid_of, room_of
from callblocks.toolkits.office.tools.cells import Cell, enter

__all__ = (
    "SheetTable",
    "Value",
    "only_reckons",
    "tables_of",
    "value_of",
    "write_xlsx",
)

# --- The tables that become sheets: from Markdown, CSV or rows ---

_SIGNS = ",;\t|"
_LONGEST = 32_000


class SheetTable(msgspec.Struct, frozen=True):
    """A named table; its first `heads` rows are the head."""

    name: str
    rows: list[list[Any]]
    heads: int = 1


def tables_of(job: RenderJob, outside: Outside) -> tuple[list[SheetTable], Document | None]:
    """Return every table of a job, and the document that contains them, if any."""
    if job.rows is not None:
        return [SheetTable(job.title, [*_lists(job.rows)])], None
    if not job.content.strip():
        raise Unrenderable("document_empty", "there is no table; give some content, or rows")
    if job.format == "csv":
        return [SheetTable(job.title, _csv(job.content))], None
    document = read_markdown(job, outside)
    found = [*_markdown(document)]
    if not found:
        words = "the Markdown has no table; write one with |, or give csv or rows"
        raise Unrenderable("no_table", words)
    return found, document


def _markdown(document: Document) -> Iterator[SheetTable]:
    heading = ""
    for block in document.blocks:
        if block.type == "heading":
            heading = plain_text(block).strip()
        for table in block.walk() if block.type != "heading" else ():
            if table.type == "table" and (grid := grid_of(table)).rows:
                rows = [[cell.text.strip() for cell in row] for row in grid.rows]
                yield SheetTable(heading, rows, grid.heads)


def _csv(text: str) -> list[list[Any]]:
    """Parse CSV with the delimiter that is most frequent in the first line."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    sign = max(_SIGNS, key=first.count)
    # The default limit of 128 KiB per field is a global of the module; the process has one
    # document.
    csv.field_size_limit(_LONGEST * 4)
    try:
        return [*csv.reader(text.lstrip("\ufeff").splitlines(keepends=True), delimiter=sign)]
    except csv.Error as error:
        raise Unrenderable("document_invalid", f"this is no CSV: {error}") from error


def _lists(rows: list[Any]) -> Iterator[list[Any]]:
    """Yield rows as lists; objects contribute their keys as the head."""
    named = [cast("Mapping[str, Any]", row) for row in rows if isinstance(row, Mapping)]
    keys = list(dict.fromkeys(key for row in named for key in row))
    if keys:
        yield list(keys)
    for row in rows:
        if isinstance(row, Mapping):
            yield [cast("Mapping[str, Any]", row).get(key) for key in keys]
        else:
            yield list(cast("list[Any]", row)) if isinstance(row, list) else [row]


# --- The allow-list of spreadsheet formulas: those that only compute ---
#
#     =SUM(B2:B9)   =IF(A1>2, A1*1.19, 0)   ="Total " & C3
#     =WEBSERVICE("…")   ='[x]y'!A1         they do more: they fetch, link or start something
#     => see below   =SUM(A1   =SUM(A1;2)   they are none: a workbook that holds one is broken
#
# Strategy: strings are replaced by the placeholder `#` first, then innermost brackets repeatedly by
# `#` if their content is valid, else by `!`, which no rule accepts. At the end the whole text must
# be one expression. Regular expressions suffice because each step is flat.

_LONGEST_FORMULA = 500
_LONGEST_STRING = 255
_MANY = 255
_DEEPEST = 30
# The minimum and maximum number of arguments of each permitted function.
_FUNCTIONS = {
    **dict.fromkeys(("ABS", "DAY", "INT", "MONTH", "NOT", "SQRT", "YEAR"), (1, 1)),
    **dict.fromkeys(("CEILING", "COUNTIF", "FLOOR", "IFERROR", "MOD"), (2, 2)),
    **dict.fromkeys(("ROUND", "ROUNDDOWN", "ROUNDUP"), (2, 2)),
    **dict.fromkeys(("AVERAGEIF", "IF", "SUMIF"), (2, 3)),
    "DATE": (3, 3),
    **dict.fromkeys(("AND", "AVERAGE", "COUNT", "COUNTA", "MAX", "MEDIAN"), (1, _MANY)),
    **dict.fromkeys(("MIN", "OR", "PRODUCT", "STDEV", "SUM", "SUMPRODUCT"), (1, _MANY)),
}
_STRING = re.compile(r'"((?:[^"]|"")*)"')
_BRACKETS = re.compile(r"([A-Za-z]*)\(([^()]*)\)")
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})", re.IGNORECASE)
_CELL = r"\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6}"
_FORMULA_COLUMNS = r"\$?[A-Z]{1,3}:\$?[A-Z]{1,3}"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:E[+-]?[0-9]{1,2})?"
_VALUE = rf"(?:\#|{_CELL}(?::{_CELL})?|{_FORMULA_COLUMNS}|{_NUMBER}|TRUE|FALSE)"
# Each space can match in one place only: an ambiguous pattern would backtrack exponentially.
_SIGNED = rf"[+\- ]*{_VALUE}(?: *%)*"
_EXPRESSION = re.compile(rf"{_SIGNED}(?: *(?:<>|<=|>=|[+\-*/^&=<>]){_SIGNED})* *", re.IGNORECASE)


def only_reckons(formula: str) -> bool:
    """Tell if a text that begins with `=` is a complete formula that only computes."""
    if len(formula) > _LONGEST_FORMULA or "#" in formula:
        return False
    strings = _STRING.findall(formula)
    text = _STRING.sub("#", formula[1:])
    if any(len(string) > _LONGEST_STRING for string in strings) or not _cells_exist(text):
        return False
    for _ in range(_DEEPEST):
        text, count = _BRACKETS.subn(_bracketed, text)
        if not count:
            break
    return bool(_EXPRESSION.fullmatch(text))


def _bracketed(match: re.Match[str]) -> str:
    """Return `#` for valid bracket content, or `!`, which nothing accepts."""
    values = match[2].split(",")
    least, most = _FUNCTIONS.get(match[1].upper(), (1, 0)) if match[1] else (1, 1)
    right = least <= len(values) <= most and all(map(_EXPRESSION.fullmatch, values))
    return "#" if right else "!"


def _cells_exist(text: str) -> bool:
    """Tell if all cell references are within 16,384 columns and 1,048,576 rows."""
    return all(
        column_index_from_string(column.upper()) <= 16_384 and int(row) <= 1_048_576
        for column, row in _REFERENCE.findall(text)
    )


# --- The value of a spreadsheet cell: number, date, boolean, simple formula or text ---
#
#     11,482   −2.5   +4 %   $12.50     numbers, shown as they were written
#     2030-01-31                        a date, from 1900 on
#     =SUM(B2:B9)                       a formula, if it only computes within its own sheet
#     =WEBSERVICE("…")   007            text, as are numbers that would lose digits or their form

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LEADING_ZERO = re.compile(r"[+-]?0\d")
# Spreadsheets have no dates before this year.
_FIRST_YEAR = 1900
# Spreadsheets store numbers as doubles and show 15 digits; larger ones (card numbers) stay text.
_EXACT = 10**15


class Value(msgspec.Struct, frozen=True):
    """A value and its number format; `refused` marks a formula that stays text."""

    value: Any
    pattern: str = ""
    formula: bool = False
    refused: bool = False


def value_of(given: Any) -> Value:
    """Interpret a value as a person means it who writes it into a table."""
    if given is None:
        return Value(None)
    if isinstance(given, bool) or (isinstance(given, int | float) and abs(given) < _EXACT):
        return Value(given)
    text = str(given)
    word = text.strip()
    if word.startswith("=") and len(word) > 1:
        return Value(word, formula=True) if only_reckons(word) else Value(text, refused=True)
    if _DATE.fullmatch(word):
        return _date(word)
    if _LEADING_ZERO.match(word):
        return Value(text)
    entered = enter(word.replace("\u2212", "-").replace("\u00a0", " ").replace(" %", "%"))
    return _number(entered, word) if entered.kind in ("number", "boolean") else Value(text)


def _number(entered: Cell, word: str) -> Value:
    """Return a number with a format that keeps its notation."""
    pattern = entered.pattern
    decimals = len(word.rstrip("% ").partition(".")[2])
    if entered.kind == "number" and not pattern:
        whole = "#,##0" if "," in word else "0"
        if "e" not in word.lower():
            pattern = f"{whole}.{'0' * decimals}" if decimals else whole
    if word.startswith("+") and pattern:
        pattern = f"+{pattern};-{pattern};{pattern}"
    return Value(entered.value, pattern)


def _date(word: str) -> Value:
    try:
        day = date.fromisoformat(word)
    except ValueError:
        return Value(word)
    return Value(day, "yyyy-mm-dd") if day.year >= _FIRST_YEAR else Value(word)


# --- `write_xlsx`: a workbook with a sheet for each table, in a look that can be worked with ---

# The package has no types.
# pyright: reportMissingModuleSource=false, reportUnknownMemberType=false


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


def write_xlsx(job: RenderJob, outside: Outside) -> Made:
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

"""Validation and preview of the cells that a model writes.

A cell is a string, a number, true, false, or null, which leaves it as it is; "" empties it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.tools.drive_view import cut

__all__ = (
    "CELLS",
    "COLUMNS",
    "ROWS",
    "Box",
    "Cell",
    "CellValue",
    "Kind",
    "Range",
    "Rows",
    "Value",
    "cell_name",
    "changes_text",
    "column_name",
    "contents_text",
    "enter",
    "print_box",
    "print_range",
    "quote_sheet",
    "read_range",
    "rendered",
    "require_cells",
    "shown",
    "typed",
    "written_box",
)

# --- Ranges of a spreadsheet in A1 notation, read and printed ---
#
#     Sheet1!A1:C3      a box            A:C     whole columns
#     'My sheet'!B2     one cell         2:5     whole rows
#     Sheet1            a whole sheet    A2:C    from row 2 down
#     'Q1'              a sheet whose name looks like a cell
#
# Rows and columns count from 1. A range without a sheet is on the first one.

# Google's last column, ZZZ.
COLUMNS = 18_278
# Google's limit of cells per spreadsheet, including empty ones.
CELLS = 10_000_000
ROWS = CELLS

_END = r"(?:\$?([A-Za-z]{1,3}))?(?:\$?([0-9]{1,20}))?"
_CELLS = re.compile(f"{_END}(?:(:){_END})?")
# `A1-B2` and `A1..B2` are written by models and mean a box, but a sheet may have such a name. They
# are refused with the right spelling instead of being guessed.
_ONE_CELL = re.compile(r"\$?[A-Za-z]{1,3}\$?[0-9]{1,20}")
_WITH_DASH = re.compile(
    rf"((?:[^'!]|'[^']*')*!)?({_ONE_CELL.pattern})\s*(?:-|–|\.\.)\s*({_ONE_CELL.pattern})"
)
_QUOTED = re.compile(r"'((?:[^']|'')+)'(?:!(.*))?", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIKE_A_CELL = re.compile(r"[A-Za-z]{1,3}[0-9]*")


class Box(msgspec.Struct, frozen=True, order=True):
    """A box of cells, both corners included."""

    top: int
    left: int
    bottom: int
    right: int


class Range(msgspec.Struct, frozen=True):
    """A range as written: a side that is `None` is open; `sheet` "" is the first one."""

    sheet: str = ""
    top: int | None = None
    left: int | None = None
    bottom: int | None = None
    right: int | None = None

    @property
    def start(self) -> tuple[int, int]:
        """Row and column of its first cell."""
        return self.top or 1, self.left or 1

    @property
    def is_cell(self) -> bool:
        """True for a single cell: values may then extend from it."""
        corners = (self.top, self.left)
        return None not in corners and corners == (self.bottom, self.right)

    def within(self, rows: int, columns: int) -> Box:
        """Return the box on a grid of that size; one that starts outside is kept."""
        top, left = self.start
        # A range that starts outside of the grid is not clipped: it would become empty or inverted.
        bottom = min(self.bottom or rows, rows) if top <= rows else self.bottom or top
        right = min(self.right or columns, columns) if left <= columns else self.right or left
        return Box(top, left, bottom, right)


def read_range(text: str) -> Range:
    """Parse A1 notation; "" is the whole first sheet. `invalid_input` for anything else."""
    text = text.strip()
    if written := _WITH_DASH.fullmatch(text):
        # A sheet whose name looks like that must be quoted.
        raise _no_range(text, f"write {written[1] or ''}{written[2]}:{written[3]}")
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        sheet, cells = quoted[1].replace("''", "'"), quoted[2]
        return Range(sheet) if cells is None else _box(text, sheet, cells)
    if text.startswith("'"):
        raise _no_range(text, "a quoted name of a sheet is written 'My sheet'!A1")
    if "!" in text:
        sheet, _, cells = text.rpartition("!")
        return _box(text, sheet, cells)
    # Without `!` and `:` a text is a cell if it looks like one, else the name of a sheet. A sheet
    # that is named like a cell must be quoted, as at Google.
    return _box(text, "", text) if ":" in text or _ONE_CELL.fullmatch(text) else Range(text)


def print_range(range: Range) -> str:
    """Write a range so that `read_range` gives it back."""
    first = _corner(range.top, range.left)
    last = _corner(range.bottom, range.right)
    cells = first if range.is_cell else f"{first}:{last}" if first else ""
    sheet = quote_sheet(range.sheet) if range.sheet else ""
    return f"{sheet}!{cells}" if sheet and cells else sheet or cells


def print_box(sheet: str, box: Box) -> str:
    """Write a box of a sheet: `Sheet1!A1:C3`."""
    return print_range(Range(sheet, box.top, box.left, box.bottom, box.right))


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell: `B3`."""
    return f"{column_name(column)}{row}"


def column_name(column: int) -> str:
    """Return the letters of a column: 1 is A, 27 is AA."""
    letters = ""
    while column:
        # Bijective base 26: there is no zero digit, hence the `- 1`.
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return letters


def quote_sheet(name: str) -> str:
    """Quote the name of a sheet if a range needs it."""
    if _PLAIN_NAME.fullmatch(name) and not _LIKE_A_CELL.fullmatch(name):
        return name
    return "'" + name.replace("'", "''") + "'"


def _box(text: str, sheet: str, cells: str) -> Range:
    """Parse the cells of a range; only its end may leave a side open: `A2:C`, `A2:5`."""
    found = _CELLS.fullmatch(cells)
    if not sheet and "!" in text:
        raise _no_range(text, "name the sheet before the `!`")
    if found is None or not cells:
        raise _no_range(text, "write a range such as Sheet1!A1:C3, A:C, 2:5, or a sheet's name")
    left, top = _column(found[1]), _row(text, found[2])
    right, bottom = _column(found[4]), _row(text, found[5])
    if not found[3]:
        right, bottom = left, top
    if (top, left) == (None, None) or (not found[3] and None in (top, left)):
        raise _no_range(text, "name a column and a row, such as A1")
    if (left is None and right is not None) or (top is None and bottom is not None):
        raise _no_range(text, "name the first cell in full, such as A2:C or A2:C5")
    if right is None and bottom is None:
        raise _no_range(text, "name where it ends, such as A2:C5")
    (top, bottom), (left, right) = _sorted(top, bottom), _sorted(left, right)
    return Range(sheet, top, left, bottom, right)


def _sorted(first: int | None, last: int | None) -> tuple[int | None, int | None]:
    return (last, first) if first and last and last < first else (first, last)


def _column(letters: str | None) -> int | None:
    if not letters:
        return None
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def _row(text: str, digits: str | None) -> int | None:
    if not digits:
        return None
    if not 1 <= int(digits) <= ROWS:
        raise _no_range(text, f"rows go from 1 to {ROWS:,}")
    return int(digits)


def _corner(row: int | None, column: int | None) -> str:
    return f"{column_name(column or 0)}{row or ''}"


def _no_range(text: str, way_out: str) -> ToolError:
    why = f"{brief(text)} is no range: {way_out}"
    return ToolError("invalid_input", why, range=why)


# --- Validation and preview of the cells that a model writes ---

# --- Interpretation of a value that a person types into a cell (`USER_ENTERED`) ---
#
#     12   -3.5   1e3   1,234.5     numbers           TRUE   false    booleans
#     12%  $1,234.50                numbers, with the pattern that shows them so
#     =SUM(A1:A3)                   a formula, kept as it is
#     '007                          text: 007
#     2030-01-31   3/1/2030         dates: they stay as typed, and so readable
#
# Everything else is text, also a number of more than 15 digits, which would lose its end.

Kind: TypeAlias = Literal["text", "number", "boolean", "formula"]
Value: TypeAlias = str | int | float | bool

# A double keeps 15 significant decimal digits; more would change the number silently.
_DIGITS = 15
_NUMBER = re.compile(
    r"([+-]?)([$€£¥]?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?(%?)"
)
_SIGNS = "$€£¥"


class Cell(msgspec.Struct, frozen=True, gc=False):
    """The content of a cell; `pattern` is the number format: `0%`, `$#,##0.00`."""

    value: Value
    kind: Kind
    pattern: str = ""


def typed(value: Value) -> Cell:
    """Return a cell that holds a value as it is (`RAW`)."""
    if isinstance(value, str):
        return Cell(value, "text")
    if isinstance(value, bool):
        return Cell(value, "boolean")
    # Whole numbers become integers, so that 3.0 is shown as 3. Above 2**53 not every integer is a
    # double, and the conversion would invent digits.
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return Cell(int(value) if whole else value, "number")


def enter(value: Value) -> Cell:
    """Return a cell with the value that a typed text means."""
    if not isinstance(value, str):
        return typed(value)
    if value.startswith("=") and len(value) > 1:
        return Cell(value, "formula")
    if value.startswith("'"):
        return Cell(value[1:], "text")
    word = value.strip()
    if word.upper() in ("TRUE", "FALSE"):
        return Cell(word.upper() == "TRUE", "boolean")
    return _number(word) or Cell(value, "text")


def rendered(cell: Cell, render: str) -> Value:
    """Return a cell as FORMATTED_VALUE, UNFORMATTED_VALUE or FORMULA."""
    return shown(cell) if render == "FORMATTED_VALUE" else cell.value


def shown(cell: Cell) -> str:
    """Return a cell as a person sees it."""
    value = cell.value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return value
    return _patterned(value, cell.pattern) if cell.pattern else f"{value:.15g}"


def _number(word: str) -> Cell | None:
    found = _NUMBER.fullmatch(word)
    if found is None:
        return None
    sign, currency, whole, part, power, percent = found.groups(default="")
    digits = (whole + part[1:]).replace(",", "")
    # Grouping and decimals alone are no number, and `$5%` means nothing.
    if not digits or len(digits.strip("0")) > _DIGITS or (currency and percent):
        return None
    # The exponent is changed instead of dividing by 100: 7.1 / 100 is 0.07099999999999999.
    power = power or ("e-2" if percent else "")
    number = float(f"{sign}{whole.replace(',', '')}{part}{power}")
    number = number / 100 if percent and power != "e-2" else number
    if abs(number) == float("inf"):
        return None
    value = typed(number).value
    return Cell(value, "number", _pattern(currency, "," in whole, part, percent))


def _pattern(currency: str, grouped: bool, part: str, percent: str) -> str:
    """Return the number format of a typed number; "" for a plain one."""
    # Spreadsheets show two decimals as soon as one was typed.
    end = ".00" if part[1:] else ""
    if percent:
        return f"0{end}%"
    return f"{currency}#,##0{end}" if currency or grouped else ""


def _patterned(number: float, pattern: str) -> str:
    plain = pattern.rstrip("%")
    percent = plain != pattern
    digits = 2 if plain.endswith(".00") else 0
    size = abs(number) * 100 if percent else abs(number)
    grouped = "," if "," in plain else ""
    sign = "-" if number < 0 else ""
    currency = plain[:1] if plain[:1] in _SIGNS else ""
    return f"{sign}{currency}{size:{grouped}.{digits}f}{'%' if percent else ''}"


# --- Validation and preview of the cells that a model writes ---

CellValue: TypeAlias = str | bool | int | float | None
Rows: TypeAlias = Sequence[Sequence[CellValue]]

LENGTH = 50_000
_SHOWN = 400
_SHOWN_VALUE = 500


def require_cells(values: Rows, start: tuple[int, int] | None) -> None:
    """Raise `invalid_input` for a cell that no spreadsheet can hold, named by its place.

    `start` is the row and column of the first cell, if known.
    """
    if not any(values):
        raise _refused("there are no cells in `values`; give rows of cells: [[1, 2], [3]]")
    for number, row in enumerate(values):
        for place, value in enumerate(row):
            problem = _problem(value)
            if problem:
                at = f"values[{number}][{place}]"
                name = f"{cell_name(start[0] + number, start[1] + place)}, " if start else ""
                raise _refused(f"the cell {name}{at} {problem}")


def written_box(place: Range, values: Rows) -> Box:
    """Return the box of values from the start of a range; they must fit into it.

    A range of a single cell only says where they start.
    """
    top, left = place.start
    box = Box(top, left, top + len(values) - 1, left + max(map(len, values)) - 1)
    bottom, right = (None, None) if place.is_cell else (place.bottom, place.right)
    if box.bottom > (bottom or ROWS) or box.right > (right or COLUMNS):
        raise _refused(
            f"the values take {box.bottom - top + 1} rows and {box.right - left + 1} columns from "
            f"{cell_name(top, left)} on, which is more than the range has; give the first cell "
            "alone to write as many as there are",
            "range",
        )
    return box


def changes_text(box: Box, old: Rows, looks: Rows, new: Rows, entered: str) -> str:
    """Describe the cells that would change, old and new; `looks` is the shown form of old ones.

    The same number may look different afterwards: `0.5, shown as 50%`.
    """
    read = enter if entered == "USER_ENTERED" else typed

    def changes() -> Iterator[str]:
        for number, row in enumerate(new):
            for place, value in enumerate(row):
                if value is None:
                    continue
                was, look, will = _at(old, number, place), _at(looks, number, place), read(value)
                if _differs(was, look, will):
                    name = cell_name(box.top + number, box.left + place)
                    yield f"{name}: {_looking(was, look)} → {_entered(will)}"

    return _list(changes(), "no cell changes")


def contents_text(start: tuple[int, int], values: Rows) -> str:
    """Describe the cells that hold something."""
    held = (
        f"{cell_name(start[0] + number, start[1] + place)}: {_say(value)}"
        for number, row in enumerate(values)
        for place, value in enumerate(row)
        if value is not None and value != ""
    )
    return _list(held, "these cells are empty already")


def _problem(value: CellValue) -> str:
    if isinstance(value, str):
        return _text_problem(value)
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "is no finite number"
    # Above 2**53 integers lose digits in a double. Those that happen to be exact are accepted.
    if abs(value) > 2**53 and not _is_exact(value):
        return f"has more digits than a spreadsheet keeps: {brief(value, 40)}; write it as a string"
    return ""


def _is_exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _text_problem(text: str) -> str:
    if len(text) > LENGTH:
        return f"has {len(text):,} characters; {LENGTH:,} is the most"
    if "\0" in text:
        return "has a NUL character; leave it out"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "is not Unicode text: half of a character is missing"
    return ""


def _at(rows: Rows, number: int, place: int) -> CellValue:
    row = rows[number] if number < len(rows) else ()
    return row[place] if place < len(row) else ""


def _differs(old: CellValue, look: CellValue, new: Cell) -> bool:
    # In Python `True == 1`, but a cell with TRUE is not one with 1.
    same = old == new.value and isinstance(old, bool) == isinstance(new.value, bool)
    # Text that begins with "=" may be a formula or literal text.
    unsure = isinstance(old, str) and old.startswith("=")
    return not same or unsure or (_is_number(old) and str(look) != shown(new))


def _looking(value: CellValue, look: CellValue) -> str:
    """Describe a cell, with its shown form if that differs from its value."""
    said = _say(value)
    return f"{said}, shown as {look}" if _is_number(value) and str(look) != said else said


def _entered(cell: Cell) -> str:
    said = _looking(cell.value, shown(cell))
    is_plain = cell.kind == "text" and str(cell.value).startswith("=")
    return f"{said}, as text" if is_plain else said


def _is_number(value: CellValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _say(value: CellValue) -> str:
    return "(empty)" if value is None or value == "" else cut(repr(value), _SHOWN_VALUE)


def _list(lines: Iterator[str], nothing: str) -> str:
    # The rest is counted, not built: the preview says how many more cells would change.
    shown = list(islice(lines, _SHOWN))
    more = sum(1 for _ in lines)
    return "\n".join([*shown, f"… and {more:,} more"] if more else shown) or nothing


def _refused(why: str, field: str = "values") -> ToolError:
    return ToolError("invalid_input", why, **{field: why})

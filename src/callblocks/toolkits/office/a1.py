"""Ranges of a spreadsheet in A1 notation, read and printed.

    Sheet1!A1:C3      a box            A:C     whole columns
    'My sheet'!B2     one cell         2:5     whole rows
    Sheet1            a whole sheet    A2:C    from row 2 down
    'Q1'              a sheet whose name looks like a cell

Rows and columns count from 1. A range without a sheet is on the first one.
"""

from __future__ import annotations

import re

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief

__all__ = (
    "CELLS",
    "COLUMNS",
    "ROWS",
    "Box",
    "Range",
    "cell_name",
    "column_name",
    "print_box",
    "print_range",
    "quote_sheet",
    "read_range",
)

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
        raise _refused(text, f"write {written[1] or ''}{written[2]}:{written[3]}")
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        sheet, cells = quoted[1].replace("''", "'"), quoted[2]
        return Range(sheet) if cells is None else _box(text, sheet, cells)
    if text.startswith("'"):
        raise _refused(text, "a quoted name of a sheet is written 'My sheet'!A1")
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
        raise _refused(text, "name the sheet before the `!`")
    if found is None or not cells:
        raise _refused(text, "write a range such as Sheet1!A1:C3, A:C, 2:5, or a sheet's name")
    left, top = _column(found[1]), _row(text, found[2])
    right, bottom = _column(found[4]), _row(text, found[5])
    if not found[3]:
        right, bottom = left, top
    if (top, left) == (None, None) or (not found[3] and None in (top, left)):
        raise _refused(text, "name a column and a row, such as A1")
    if (left is None and right is not None) or (top is None and bottom is not None):
        raise _refused(text, "name the first cell in full, such as A2:C or A2:C5")
    if right is None and bottom is None:
        raise _refused(text, "name where it ends, such as A2:C5")
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
        raise _refused(text, f"rows go from 1 to {ROWS:,}")
    return int(digits)


def _corner(row: int | None, column: int | None) -> str:
    return f"{column_name(column or 0)}{row or ''}"


def _refused(text: str, way_out: str) -> ToolError:
    why = f"{brief(text)} is no range: {way_out}"
    return ToolError("invalid_input", why, range=why)

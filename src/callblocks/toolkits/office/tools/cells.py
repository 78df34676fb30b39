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
from callblocks.toolkits.office.a1 import COLUMNS, ROWS, Box, Range, cell_name
from callblocks.toolkits.office.tools.drive_view import cut

__all__ = (
    "Cell",
    "CellValue",
    "Kind",
    "Rows",
    "Value",
    "changes_text",
    "contents_text",
    "enter",
    "rendered",
    "require_cells",
    "shown",
    "typed",
    "written_box",
)

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

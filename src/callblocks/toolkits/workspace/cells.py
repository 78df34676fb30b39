"""Validation and preview of the cells that a model writes.

A cell is a string, a number, true, false, or null, which leaves it as it is; "" empties it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import COLUMNS, ROWS, Box, Range, cell_name
from callblocks.toolkits.workspace.entered import Cell, enter, shown, typed
from callblocks.toolkits.workspace.told_change import cut

__all__ = ("CellValue", "Rows", "changes_text", "contents_text", "require_cells", "written_box")

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

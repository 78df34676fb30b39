"""Cells as rows or columns, without empty ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import CELLS, Box
from callblocks.toolkits.workspace.entered import Value

__all__ = ("Found", "lines_of")

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

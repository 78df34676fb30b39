"""Detection of the table that rows are appended to.

A table is a box of cells surrounded by empty cells. If a range touches several, the last one
counts; a range that touches none has no table. The box grows from its last cell in both directions
until neither changes it (a fixed point), as Google's append does.
"""

from __future__ import annotations

import sqlite3

from callblocks.toolkits.workspace.a1 import Box

__all__ = ("last_table",)


def last_table(connection: sqlite3.Connection, sheet: int, within: Box) -> Box | None:
    """Return the last table that a box of a sheet touches."""
    last = connection.execute(
        "select row, col from cells where sheet = ? and row between ? and ? "
        "and col between ? and ? order by row desc, col desc limit 1",
        (sheet, within.top, within.bottom, within.left, within.right),
    ).fetchone()
    if last is None:
        return None
    row, column = last
    box = Box(row, column, row, column)
    before = None
    # Widening can reveal new rows and vice versa. Each round only grows the box within the sheet,
    # so the loop ends.
    while box != before:
        before = box
        box = _heightened(connection, sheet, _widened(connection, sheet, box))
    return box


def _widened(connection: sqlite3.Connection, sheet: int, box: Box) -> Box:
    """Extend a box by adjacent columns that hold something."""

    def holds(column: int) -> bool:
        found = connection.execute(
            "select 1 from cells where sheet = ? and col = ? and row between ? and ? limit 1",
            (sheet, column, box.top - 1, box.bottom + 1),
        )
        return found.fetchone() is not None

    left, right = box.left, box.right
    while holds(left - 1):
        left -= 1
    while holds(right + 1):
        right += 1
    return Box(box.top, left, box.bottom, right)


def _heightened(connection: sqlite3.Connection, sheet: int, box: Box) -> Box:
    """Extend a box by adjacent rows that hold something."""
    beside = (box.left - 1, box.right + 1)
    top = _end(connection, sheet, beside, box.top, -1)
    bottom = _end(connection, sheet, beside, box.bottom, 1)
    return Box(top, box.left, bottom, box.right)


def _end(
    connection: sqlite3.Connection, sheet: int, beside: tuple[int, int], row: int, step: int
) -> int:
    """Return the last row in a direction (-1 or 1) before an empty one.

    A column is followed as far as it is filled; then any other column may continue. That takes one
    query per column instead of one per row.
    """
    order = "row > ? order by row" if step > 0 else "row < ? order by row desc"
    while True:
        next_row = connection.execute(
            "select col from cells where sheet = ? and row = ? and col between ? and ? limit 1",
            (sheet, row + step, *beside),
        ).fetchone()
        if next_row is None:
            return row
        column = f"select row from cells where sheet = ? and col = ? and {order}"
        for (filled,) in connection.execute(column, (sheet, *next_row, row)):
            if filled != row + step:
                break
            row = filled

"""An office for people: a table for each of its parts, cut to the width of the terminal.

Mail  15
  2026-11-13 12:00  Coast Weather  Warning: westerly gale, Saturday night  unread  9c1f…
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callblocks.views.rows import Bit, Kind, Row, columns
from callblocks.views.safe import visible_line

__all__ = ("Line", "PartTable", "part_rows")

Line = Sequence[str]
"""The cells of one line, as texts of others."""

_GAP = "  "
_LEAST = 8
_KINDS: tuple[Kind, ...] = ("quiet", "name", "plain", "quiet", "mark")


class PartTable(msgspec.Struct, frozen=True):
    """One part of an office: its name, how much there is, and lines of cells.

    `kinds` say what each column is, `flexible` is the column that is cut where there is no room.
    """

    name: str
    count: str
    lines: Sequence[Line]
    kinds: tuple[Kind, ...] = _KINDS
    flexible: int = 1


def part_rows(part: PartTable, width: int) -> list[Row]:
    """A heading with the count, and a row for each line."""
    rows: list[Row] = [(("heading", part.name), ("quiet", f"{_GAP}{part.count}"))]
    lines = [[visible_line(cell) for cell in line] for line in part.lines]
    widths = _widths(lines, part.flexible, width - len(_GAP))
    return rows + [_row(line, widths, part.kinds) for line in lines]


def _widths(lines: Sequence[Line], flexible: int, room: int) -> list[int]:
    """The width of each column; the flexible one gives way, the last takes what it needs."""
    count = max(map(len, lines), default=0)
    widths = [
        max((columns(line[at]) for line in lines if at < len(line)), default=0)
        for at in range(count)
    ]
    over = sum(widths) + len(_GAP) * (count - 1) - room
    if over > 0 and flexible < count:
        widths[flexible] = max(_LEAST, widths[flexible] - over)
    return widths


def _row(line: Line, widths: Sequence[int], kinds: Sequence[Kind]) -> Row:
    cells = [_fit(cell, width) for cell, width in zip(line, widths, strict=False)]
    bits: list[Bit] = [(kind, f"{_GAP}{cell}") for kind, cell in zip(kinds, cells, strict=False)]
    return tuple(bits)


def _fit(cell: str, width: int) -> str:
    """A cell as wide as its column."""
    if columns(cell) > width:
        while columns(cell) > width - 1:
            cell = cell[:-1]
        cell += "…"
    return cell + " " * (width - columns(cell))

"""Sections of a report as rows of a terminal: tables with their numbers to the right; no plots."""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.views.report import Section, Table, cell_text
from callblocks.views.rows import Row, columns, visible_line, wrap

__all__ = ("section_rows",)

_LEAST = 12


def section_rows(sections: Sequence[Section], width: int) -> list[Row]:
    """A heading for each section, its tables and its paragraphs, with an empty row before it."""
    rows: list[Row] = []
    for section in sections:
        rows.append(())
        rows.append((("heading", visible_line(section.title)),))
        for part in section.parts:
            if isinstance(part, Table):
                rows += _table(part, width)
            elif isinstance(part, str):
                rows += wrap((("quiet", f"  {visible_line(part)}"),), width, (("quiet", "  "),))
    return rows[1:]


def _table(table: Table, width: int) -> list[Row]:
    lines = [[visible_line(cell_text(cell)) for cell in row] for row in table.rows]
    head = [list(table.head)] if table.head else []
    count = max(map(len, [*head, *lines]), default=0)
    widths = [
        max((columns(row[at]) for row in (*head, *lines) if at < len(row)), default=0)
        for at in range(count)
    ]
    over = sum(widths) + 2 * count - width
    if over > 0 and count:
        # The words give way first, then the last column, which may hold examples.
        for at in (0, count - 1):
            cut = min(max(over, 0), max(0, widths[at] - _LEAST))
            widths[at] -= cut
            over -= cut
    rows: list[Row] = [(("quiet", _line(row, widths)),) for row in head]
    return rows + [(("plain", _line(row, widths)),) for row in lines]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = zip(cells, widths, strict=False)
    shown = [_cell(cell, wide, at == 0) for at, (cell, wide) in enumerate(cut)]
    return f"  {'  '.join(shown)}".rstrip()


def _cell(cell: str, wide: int, is_left: bool) -> str:
    if columns(cell) > wide:
        while cell and columns(cell) > wide - 1:
            cell = cell[:-1]
        cell += "…"
    gap = " " * (wide - columns(cell))
    return cell + gap if is_left else gap + cell

"""A table as rows of cells, for writers that have no HTML."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from markdown_it.tree import SyntaxTreeNode
from msgspec.structs import replace

from callblocks.toolkits.rendering.letters import room_of
from callblocks.toolkits.rendering.runs import Run, runs_of

__all__ = ("Cell", "Grid", "grid_of")

# Bounds in characters for the estimated width of a column.
_LEAST, _MOST = 4, 36


class Cell(msgspec.Struct, frozen=True):
    """The runs of a cell, and their alignment."""

    runs: list[Run] = []
    align: str = ""

    @property
    def text(self) -> str:
        """The plain text."""
        return "".join(run.text for run in self.runs)


class Grid(msgspec.Struct, frozen=True):
    """Rows of the same length; the first `heads` are the head."""

    rows: list[list[Cell]]
    heads: int

    def widths(self, whole: int) -> list[int]:
        """Return the width of each column, in proportion to its longest text; their sum is
        `whole`.
        """
        lengths = [
            min(_MOST, max(_LEAST, *(room_of(row[at].text) + 2 for row in self.rows)))
            for at in range(len(self.rows[0]))
        ]
        return [whole * length // sum(lengths) for length in lengths]


def grid_of(table: SyntaxTreeNode) -> Grid:
    """Return the rows of a table, with short rows filled up."""
    heads = [*_rows(table, "thead")]
    rows = [*heads, *_rows(table, "tbody")]
    size = max((len(row) for row in rows), default=0)
    return Grid([row + [Cell()] * (size - len(row)) for row in rows if size], len(heads))


def _rows(table: SyntaxTreeNode, part: str) -> Iterator[list[Cell]]:
    for section in table.children:
        if section.type == part:
            for row in section.children:
                yield [_cell(cell, bold=part == "thead") for cell in row.children]


def _cell(node: SyntaxTreeNode, *, bold: bool) -> Cell:
    style = str(node.attrs.get("style", ""))
    runs = [*runs_of(node)]
    align = style.rpartition(":")[2].strip()
    return Cell([replace(run, bold=True) for run in runs] if bold else runs, align)

"""Tables of a Word document: a repeated head row, and column widths by content."""

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt
from docx.text.paragraph import Paragraph

from callblocks.toolkits.rendering.docx_runs import Pen
from callblocks.toolkits.rendering.grids import Cell, Grid
from callblocks.toolkits.rendering.look import ACCENT, LINE, TINT

__all__ = ("add_table",)

_ALIGN = {
    "left": WD_ALIGN_PARAGRAPH.LEFT,
    "center": WD_ALIGN_PARAGRAPH.CENTER,
    "right": WD_ALIGN_PARAGRAPH.RIGHT,
}
_TWIPS = 635


def add_table(pen: Pen, grid: Grid, before: Any) -> None:
    """Insert a table before an element of the document's body."""
    widths = grid.widths(int(pen.width) // _TWIPS)
    columns = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    edge = f'w:val="single" w:sz="4" w:space="0" w:color="{LINE}"'
    table: Any = parse_xml(
        f'<w:tbl {nsdecls("w")}><w:tblPr><w:tblW w:w="{sum(widths)}" w:type="dxa"/>'
        '<w:tblInd w:w="100" w:type="dxa"/>'
        f"<w:tblBorders><w:bottom {edge}/><w:insideH {edge}/></w:tblBorders>"
        '<w:tblLayout w:type="fixed"/><w:tblCellMar><w:top w:w="50" w:type="dxa"/>'
        '<w:left w:w="100" w:type="dxa"/><w:bottom w:w="50" w:type="dxa"/>'
        '<w:right w:w="100" w:type="dxa"/></w:tblCellMar></w:tblPr>'
        f"<w:tblGrid>{columns}</w:tblGrid></w:tbl>"
    )
    before.addprevious(table)
    for number, row in enumerate(grid.rows):
        is_head = number < grid.heads
        table.append(_row(pen, row, widths, is_head=is_head))


def _row(pen: Pen, cells: Sequence[Cell], widths: Sequence[int], *, is_head: bool) -> Any:
    again = "<w:tblHeader/>" if is_head else ""
    row: Any = parse_xml(f"<w:tr {nsdecls('w')}><w:trPr><w:cantSplit/>{again}</w:trPr></w:tr>")
    for cell, width in zip(cells, widths, strict=True):
        look = (
            f'<w:tcBorders><w:bottom w:val="single" w:sz="8" w:space="0" w:color="{ACCENT}"/>'
            f'</w:tcBorders><w:shd w:val="clear" w:color="auto" w:fill="{TINT}"/>'
            if is_head
            else ""
        )
        made: Any = parse_xml(
            f'<w:tc {nsdecls("w")}><w:tcPr><w:tcW w:w="{width}" w:type="dxa"/>{look}</w:tcPr>'
            "<w:p/></w:tc>"
        )
        row.append(made)
        paragraph = Paragraph(made.p_lst[0], pen.document._body)
        form = paragraph.paragraph_format
        form.space_after, form.line_spacing = Pt(0), 1.0
        form.alignment = _ALIGN.get(cell.align)
        pen.write(paragraph, cell.runs)
    return row

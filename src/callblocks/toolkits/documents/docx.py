"""`write_docx`: a document for Word and its like, with real headings, lists and tables."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from docx import Document as new_document
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Inches, Pt, RGBColor
from docx.text.paragraph import Paragraph
from markdown_it.tree import SyntaxTreeNode

from callblocks.toolkits.documents.docx_runs import (
    BULLETS,
    NUMBERS,
    Pen,
    add_property,
    set_page,
    set_styles,
)
from callblocks.toolkits.documents.markdown_tree import Document, read_markdown
from callblocks.toolkits.documents.render_protocol import Made, Outside, RenderJob
from callblocks.toolkits.documents.runs import (
    ACCENT,
    LINE,
    TINT,
    Cell,
    Grid,
    TextRun,
    grid_of,
    highlighted,
    runs_of,
    without_tags,
)

__all__ = (
    "add_table",
    "write_docx",
)

# --- Tables of a Word document: a repeated head row, and column widths by content ---

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


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


# --- `write_docx`: a document for Word and its like, with real headings, lists and tables ---

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


_ROWS = 2_000
# Blocks between two progress reports.
_STEP = 100
# Not ☑ for a ticked box: where fonts lack it, an emoji font would be used.
_BOXES = {True: "☒ ", False: "☐ "}


def write_docx(job: RenderJob, outside: Outside) -> Made:
    """Render the document as DOCX."""
    read = read_markdown(job, outside, _ROWS)
    document: Any = new_document()
    set_styles(document)
    width = set_page(document, job, read.title)
    about = document.core_properties
    about.title, about.author = (read.title or job.name)[:255], read.author[:255]
    about.last_modified_by, about.comments = read.author[:255], ""
    about.created = about.modified = datetime.now(UTC).replace(tzinfo=None)
    _Writer(Pen(document, outside, width), read).write()
    written = io.BytesIO()
    outside.say("writing")
    document.save(written)
    return Made(written.getvalue(), {"blocks": len(read.blocks)})


class _Writer:
    """A writer of blocks into a document."""

    def __init__(self, pen: Pen, read: Document) -> None:
        self._pen = pen
        self._read = read
        self._document: Any = pen.document
        self._last: Any = None

    def write(self) -> None:
        """Write the title if no heading has it, the blocks, the notes and the sources."""
        blocks = self._read.blocks
        headings = [block for block in blocks if block.type == "heading"]
        if self._read.title and not any(block.tag == "h1" for block in headings):
            self._document.add_paragraph(self._read.title, "Heading 1")
            self._say_author()
        for number, block in enumerate(blocks):
            if number % _STEP == _STEP - 1:
                self._pen.outside.say(f"block {number + 1} of {len(blocks)}")
            self._block(block, 0, None)
            if block.type == "heading" and number == 0 and block.tag == "h1":
                self._say_author()
        self._notes()
        self._sources()

    def _say_author(self) -> None:
        if self._read.author:
            self._document.add_paragraph(self._read.author, "Subtitle")

    def _blocks(self, blocks: Iterable[SyntaxTreeNode], level: int, style: str | None) -> None:
        for block in blocks:
            self._block(block, level, style)

    def _block(self, node: SyntaxTreeNode, level: int, style: str | None) -> None:
        match node.type:
            case "heading":
                self._paragraph(runs_of(node.children[0]), f"Heading {node.tag[1]}")
            case "paragraph" | "dt":
                made = self._paragraph(runs_of(node.children[0]), style, bold=node.type == "dt")
                self._indent(made, level)
            case "bullet_list" | "ordered_list":
                self._list(node, level)
            case "blockquote":
                self._blocks(node.children, level, "Quote")
            case "fence" | "code_block":
                self._code(node)
            case "table":
                self._table(node)
            case "math_block" | "math_block_label":
                made = self._document.add_paragraph()
                made.alignment = WD_ALIGN_PARAGRAPH.CENTER
                self._pen.formula(made, node.content)
            case "hr":
                self._rule()
            case "html_block":
                if words := without_tags(node.content):
                    self._paragraph([TextRun(text=words)], style)
            case "dd":
                self._blocks(node.children, level + 1, style)
            case _:
                self._blocks(node.children, level, style)

    def _paragraph(self, runs: Iterable[TextRun], style: str | None, *, bold: bool = False) -> Any:
        made = self._document.add_paragraph(style=style)
        runs = [*runs]
        if bold:
            runs = [TextRun(text=run.text, bold=True) for run in runs]
        if len(runs) == 1 and runs[0].picture:
            made.alignment = WD_ALIGN_PARAGRAPH.CENTER
        self._pen.write(made, runs)
        self._last = made
        return made

    def _indent(self, paragraph: Any, level: int) -> None:
        if level:
            paragraph.paragraph_format.left_indent = Inches(0.236 * level)

    def _list(self, node: SyntaxTreeNode, level: int) -> None:
        ordered = node.type == "ordered_list"
        number = self._new_list(ordered=ordered, start=int(node.attrs.get("start", 1)), level=level)
        for item in node.children:
            task = item.meta.get("task")
            first, *rest = item.children or [None]
            if first is not None and first.type == "paragraph":
                runs = [*runs_of(first.children[0])]
                if task is not None:
                    runs.insert(0, TextRun(text=_BOXES[task]))
                made = self._paragraph(runs, None)
                made.paragraph_format.space_after = Pt(2)
                self._in_list(made, number if task is None else 0, level)
            else:
                rest = list(item.children)
            self._blocks([one for one in rest if one is not None], level + 1, None)
        # Restore the space behind the last item of the outermost list.
        if self._last is not None and not level:
            self._last.paragraph_format.space_after = None

    def _new_list(self, *, ordered: bool, start: int, level: int) -> int:
        """Create a list that counts from its own start, and return its number."""
        # In OOXML the numbering continues over all paragraphs with the same numId. So each list
        # needs a `w:num` of its own that overrides the start of the shared abstract definition.
        numbering = self._document.part.numbering_part.element
        made = numbering.add_num(int(NUMBERS if ordered else BULLETS))
        if ordered:
            made.add_lvlOverride(level % 9).add_startOverride(min(max(start, 0), 30_000))
        return made.numId

    def _in_list(self, paragraph: Any, number: int, level: int) -> None:
        form = paragraph.paragraph_format
        if number:
            properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
            properties.get_or_add_ilvl().val = min(level, 8)
            properties.get_or_add_numId().val = number
        else:
            form.left_indent, form.first_line_indent = Inches(0.236 * (level + 1)), Inches(-0.21)

    def _code(self, node: SyntaxTreeNode) -> None:
        made = self._document.add_paragraph(style="Code")
        words = node.info.split()
        lines = highlighted(node.content, words[0] if words else "")
        for number, line in enumerate(lines):
            if number:
                made.add_run().add_break()
            for piece in line:
                run = made.add_run(piece.text)
                run.bold, run.italic = piece.bold or None, piece.italic or None
                if piece.color:
                    run.font.color.rgb = RGBColor.from_string(piece.color)

    def _table(self, node: SyntaxTreeNode) -> None:
        grid = grid_of(node)
        # A table must be followed by a paragraph, which also separates it from the next block.
        after = self._document.add_paragraph()
        after.paragraph_format.space_after = Pt(4)
        if grid.rows:
            add_table(self._pen, grid, after._p)

    def _rule(self) -> None:
        made = self._document.add_paragraph()
        edge = f'w:val="single" w:sz="6" w:space="1" w:color="{LINE}"'
        border = parse_xml(f"<w:pBdr {nsdecls('w')}><w:bottom {edge}/></w:pBdr>")
        add_property(made._p.get_or_add_pPr(), border)

    def _notes(self) -> None:
        if not self._read.notes:
            return
        self._document.add_paragraph("Notes", "Heading 2")
        for number, note in self._read.notes.items():
            runs = [TextRun(text=f"{number}. ")]
            for part in note.children:
                between = [TextRun(text=" ")] if len(runs) > 1 else []
                runs += [*between, *runs_of(part.children[0])] if part.children else []
            self._pen.mark(self._paragraph(runs, None), f"note-{number}")

    def _sources(self) -> None:
        listed = self._read.references.listed
        if not listed:
            return
        self._document.add_paragraph("Sources", "Heading 2")
        for number, source in listed:
            title = source.title or source.address or f"Source {source.sid}"
            runs = [TextRun(text=f"[{number}] "), TextRun(text=title, bold=True)]
            if source.title and source.address:
                runs += [TextRun(text="\n"), TextRun(text=source.address, link=source.address)]
            if source.date:
                runs.append(TextRun(text=f"\n{source.date}"))
            self._pen.mark(self._paragraph(runs, None), f"source-{number}")

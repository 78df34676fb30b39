"""`write_pptx`: slides, with a title each, tables that can be edited, pictures and code."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.util import Inches, Pt

from callblocks.toolkits.documents.markdown_tree import read_markdown
from callblocks.toolkits.documents.pdf import picture
from callblocks.toolkits.documents.render_protocol import Made, Outside, RenderJob, Unrenderable
from callblocks.toolkits.documents.runs import (
    ACCENT,
    CODE_FONT,
    FILL,
    FONT,
    INK,
    LINE,
    MATH_FONT,
    MUTED,
    TINT,
    Grid,
    TextRun,
    leads_outside,
    runs_left,
)
from callblocks.toolkits.documents.slides import (
    AREA,
    GAP,
    LEFT,
    RIGHT,
    Area,
    Code,
    Image,
    Part,
    Slide,
    SlideLine,
    SlidePage,
    SlideText,
    Table,
    beside,
    height_of,
    pages_of,
    sizes,
    slides_of,
)

__all__ = (
    "add_slide_number",
    "new_presentation",
    "write_pptx",
)

# --- The empty presentation: wide slides, two layouts, one look ---
#
# It starts from python-pptx's default template, which is 4:3. Layouts, placeholders and the
# master's styles are changed in place, because the library cannot create a master.

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


WIDTH, HEIGHT = 13.333, 7.5
_OPENING, _CONTENT = 0, 1
_NUMBER = "12"


def new_presentation() -> Any:
    """Return a presentation without slides; layout 0 opens, layout 1 has a title and content."""
    deck: Any = Presentation()
    deck.slide_width, deck.slide_height = Inches(WIDTH), Inches(HEIGHT)
    master = deck.slide_master
    for layout in list(deck.slide_layouts)[_CONTENT + 1 :]:
        deck.slide_layouts.remove(layout)
    _set_letters(master)
    for holder in (master, deck.slide_layouts[_CONTENT]):
        _place(holder, "title", 0.7, 0.45, 11.93, 0.85)
        _place(holder, "body", 0.7, 1.5, 11.93, 5.2)
        _place(holder, "number", 11.6, 6.95, 1.03, 0.35)
    _place(deck.slide_layouts[_OPENING], "number", 11.6, 6.95, 1.03, 0.35)
    for holder in (master, *deck.slide_layouts):
        for shape in list(holder.placeholders):
            if shape.placeholder_format.type in (15, 16):
                shape._element.getparent().remove(shape._element)
    _add_line(deck.slide_layouts[_CONTENT])
    _make_opening(deck.slide_layouts[_OPENING])
    return deck


def add_slide_number(slide: Any) -> None:
    """Add the slide's number at the place of its layout."""
    slide.shapes._spTree.append(
        parse_xml(
            f'<p:sp {nsdecls("p", "a")}><p:nvSpPr><p:cNvPr id="{90_000}" name="Slide number"/>'
            '<p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr>'
            f'<p:ph type="sldNum" sz="quarter" idx="{_NUMBER}"/></p:nvPr></p:nvSpPr><p:spPr/>'
            '<p:txBody><a:bodyPr/><a:lstStyle/><a:p><a:pPr algn="r"/>'
            '<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum">'
            f'<a:rPr lang="en-US" sz="1100"><a:solidFill><a:srgbClr val="{MUTED}"/></a:solidFill>'
            "</a:rPr><a:t>‹#›</a:t></a:fld></a:p></p:txBody></p:sp>"
        )
    )


def _set_letters(master: Any) -> None:
    """Set the fonts of titles and of each level of text."""
    styles = master._element.find(qn("p:txStyles"))
    title = styles.find(qn("p:titleStyle")).find(qn("a:lvl1pPr"))
    title.set("algn", "l")
    _letters(title.find(qn("a:defRPr")), 28, ACCENT, bold=True)
    for level in styles.find(qn("p:bodyStyle")):
        _letters(level.find(qn("a:defRPr")), 20, INK, bold=False)


def _letters(look: Any, size: float, color: str, *, bold: bool) -> None:
    look.set("sz", str(int(size * 100)))
    look.set("b", str(int(bold)))
    for fill in look.findall(qn("a:solidFill")):
        look.remove(fill)
    fill = parse_xml(f'<a:solidFill {nsdecls("a")}><a:srgbClr val="{color}"/></a:solidFill>')
    look.insert(0, fill)
    for name in ("latin", "ea", "cs"):
        font = look.find(qn(f"a:{name}"))
        if font is not None and name == "latin":
            font.set("typeface", FONT)


def _place(holder: Any, what: str, *where: float) -> None:
    kinds = {"title": (1, 3), "body": (2, 7), "number": (13,)}[what]
    for shape in holder.placeholders:
        if shape.placeholder_format.type in kinds:
            shape.left, shape.top, shape.width, shape.height = (Inches(one) for one in where)
            if what == "title":
                shape.text_frame.vertical_anchor = 4
                shape.text_frame.margin_left = 0


def _add_line(layout: Any) -> None:
    """Add a thin line below the title."""
    left, top = Inches(0.7), Inches(1.32)
    layout.shapes._spTree.append(
        parse_xml(
            f'<p:cxnSp {nsdecls("p", "a")}><p:nvCxnSpPr><p:cNvPr id="80000" name="Line"/>'
            f'<p:cNvCxnSpPr/><p:nvPr/></p:nvCxnSpPr><p:spPr><a:xfrm><a:off x="{left}" y="{top}"/>'
            f'<a:ext cx="{Inches(11.93)}" cy="0"/></a:xfrm><a:prstGeom prst="line"><a:avLst/>'
            f'</a:prstGeom><a:ln w="15875"><a:solidFill><a:srgbClr val="{ACCENT}"/></a:solidFill>'
            "</a:ln></p:spPr></p:cxnSp>"
        )
    )


def _make_opening(layout: Any) -> None:
    """Style the opening layout: white text on the accent colour."""
    layout.background.fill.solid()
    layout.background.fill.fore_color.rgb = RGBColor.from_string(ACCENT)
    for shape in layout.placeholders:
        kind = shape.placeholder_format.type
        if kind in (1, 3):
            where, size, color, bold = (0.9, 2.3, 11.5, 1.6), 44, "FFFFFF", True
        elif kind == 4:
            where, size, color, bold = (0.9, 4.05, 11.5, 1.6), 22, "DCE6F0", False
        else:
            continue
        shape.left, shape.top, shape.width, shape.height = (Inches(one) for one in where)
        shape.text_frame.vertical_anchor = 4 if bold else 1
        shape.text_frame.margin_left = 0
        body = shape._element.txBody
        styles = body.find(qn("a:lstStyle"))
        for child in list(styles):
            styles.remove(child)
        styles.append(
            parse_xml(
                f'<a:lvl1pPr {nsdecls("a")} marL="0" indent="0" algn="l"><a:buNone/>'
                f'<a:defRPr sz="{size * 100}" b="{int(bold)}"><a:solidFill>'
                f'<a:srgbClr val="{color}"/></a:solidFill></a:defRPr></a:lvl1pPr>'
            )
        )


# --- `write_pptx`: slides, with a title each, tables that can be edited, pictures and code ---

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


_ROWS = 300
_SLIDES = 300
_LINK = "1F5F99"
_ALIGN = {"left": PP_ALIGN.LEFT, "center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}


def write_pptx(job: RenderJob, outside: Outside) -> Made:
    """Render the document as PPTX."""
    document = read_markdown(job, outside, _ROWS)
    slides = slides_of(document, outside)
    pages = [(slide, page) for slide in slides for page in _pages(slide)]
    if not pages:
        raise Unrenderable("document_empty", "there is nothing to show; give some content")
    if len(pages) > _SLIDES:
        raise Unrenderable("document_too_large", f"it has more than {_SLIDES} slides; cut it")
    deck = new_presentation()
    about = deck.core_properties
    about.title, about.author = (document.title or job.name)[:255], document.author[:255]
    about.last_modified_by = document.author[:255]
    about.created = about.modified = datetime.now(UTC).replace(tzinfo=None)
    for number, (slide, page) in enumerate(pages, 1):
        outside.say(f"slide {number} of {len(pages)}")
        if slide.opens:
            _open(deck, slide, document.author if number == 1 else "")
        else:
            _Writer(deck, outside, page).write()
    written = io.BytesIO()
    deck.save(written)
    return Made(written.getvalue(), {"slides": len(pages)})


def _pages(slide: Slide) -> Iterable[SlidePage]:
    return [SlidePage(slide.title, slide.parts, 1.0)] if slide.opens else pages_of(slide)


def _open(deck: Any, slide: Slide, author: str) -> None:
    """Add the slide that begins a deck, or a part of it."""
    made = deck.slides.add_slide(deck.slide_layouts[0])
    title, below = made.placeholders[0], made.placeholders[1]
    title.text_frame.text = slide.title
    lines = [line for part in slide.parts if isinstance(part, SlideText) for line in part.lines]
    if author:
        lines.append(SlideLine([TextRun(text=author)]))
    if not lines:
        below._element.getparent().remove(below._element)
        return
    for number, line in enumerate(lines):
        paragraph = (
            below.text_frame.paragraphs[0] if not number else below.text_frame.add_paragraph()
        )
        paragraph.text = line.text


class _Writer:
    """A writer of the parts of one page onto a slide, from top to bottom."""

    def __init__(self, deck: Any, outside: Outside, page: SlidePage) -> None:
        self._outside = outside
        self._page = page
        self._text, self._code, self._table = sizes(page.scale)
        self._slide: Any = deck.slides.add_slide(deck.slide_layouts[1])
        self._body: Any = self._slide.placeholders[1]

    def write(self) -> None:
        """Write all parts and the slide number."""
        self._slide.shapes.title.text_frame.text = self._page.title
        image, rest = beside(self._page.parts)
        self._put_below(rest, LEFT if image else AREA)
        if image is not None:
            self._put_image(image, RIGHT)
        # An unused placeholder would show "Click to add text" in the editor.
        if self._body is not None:
            self._body._element.getparent().remove(self._body._element)
        add_slide_number(self._slide)

    def _put_below(self, parts: list[Part], area: Area) -> None:
        """Stack the parts; pictures share the free height."""
        heights = [height_of(part, self._page.scale, area.width) for part in parts]
        free = max(0.0, area.height - sum(heights) - GAP * (len(parts) - 1))
        images = sum(isinstance(part, Image) and not part.formula for part in parts)
        top = area.top
        for part, height in zip(parts, heights, strict=True):
            grows = isinstance(part, Image) and not part.formula
            room = height + (free / images if grows else 0.0)
            # A single text may use the whole area.
            tall = area.height if len(parts) == 1 and isinstance(part, SlideText) else room
            self._put(part, Area(area.left, top, area.width, tall))
            top += room + GAP

    def _put(self, part: Part, area: Area) -> None:
        match part:
            case SlideText():
                self._put_text(part, area)
            case Code():
                self._put_code(part, area)
            case Table():
                self._put_table(part.grid, area)
            case Image():
                self._put_image(part, area)

    def _put_text(self, part: SlideText, area: Area) -> None:
        if self._body is not None:
            shape, self._body = self._body, None
            shape.left, shape.top, shape.width, shape.height = _inches(area)
        else:
            shape = self._slide.shapes.add_textbox(*_inches(area))
        frame = shape.text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        for number, line in enumerate(part.lines):
            paragraph = frame.paragraphs[0] if not number else frame.add_paragraph()
            self._set_line(paragraph, line)

    def _set_line(self, paragraph: Any, line: SlideLine) -> None:
        size = self._text * (0.9 if line.level else 1.0)
        paragraph.space_after = Pt(5)
        about = paragraph._p.get_or_add_pPr()
        if runs_left(line.text):
            about.set("rtl", "1")
            about.set("algn", "r")
        # A hanging indent of about one letter and a blank, in inches.
        hang = size * 1.35 / 72 if line.sign else 0.0
        about.set("marR" if runs_left(line.text) else "marL", str(Inches(0.35 * line.level + hang)))
        about.set("indent", str(-Inches(hang)))
        about.append(parse_xml(_bullet(line)))
        for run in line.runs:
            color = MUTED if line.quoted else INK
            _write(paragraph, run, size, color)

    def _put_code(self, part: Code, area: Area) -> None:
        shape = self._slide.shapes.add_textbox(*_inches(area))
        shape.fill.solid()
        shape.fill.fore_color.rgb = RGBColor.from_string(FILL)
        shape.line.color.rgb = RGBColor.from_string("E1E6EB")
        frame = shape.text_frame
        frame.word_wrap, frame.vertical_anchor = True, MSO_ANCHOR.TOP
        frame.margin_left = frame.margin_right = Inches(0.15)
        frame.margin_top = frame.margin_bottom = Inches(0.1)
        for number, line in enumerate(part.lines):
            paragraph = frame.paragraphs[0] if not number else frame.add_paragraph()
            paragraph.alignment = PP_ALIGN.LEFT
            for piece in line:
                run = paragraph.add_run()
                run.text, run.font.name, run.font.size = piece.text, CODE_FONT, Pt(self._code)
                run.font.bold, run.font.italic = piece.bold, piece.italic
                run.font.color.rgb = RGBColor.from_string(piece.color or INK)

    def _put_table(self, grid: Grid, area: Area) -> None:
        rows, columns = len(grid.rows), len(grid.rows[0])
        made = self._slide.shapes.add_table(rows, columns, *_inches(area))
        table = made.table
        # The built-in style "No Style, No Grid", known by its GUID.
        style = made._element.graphic.graphicData.tbl.tblPr.find(f"{{{_A}}}tableStyleId")
        if style is not None:
            style.text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
        table.horz_banding = False
        for column, width in zip(table.columns, grid.widths(int(area.width * 1000)), strict=True):
            column.width = Inches(width / 1000)
        for number, (row, cells) in enumerate(zip(table.rows, grid.rows, strict=True)):
            row.height = int(Inches(area.height) / rows)
            for place, cell in zip(row.cells, cells, strict=True):
                self._set_cell(place, cell.runs, cell.align, is_head=number < grid.heads)

    def _set_cell(self, place: Any, runs: list[TextRun], align: str, *, is_head: bool) -> None:
        place.margin_top = place.margin_bottom = Inches(0.05)
        place.vertical_anchor = MSO_ANCHOR.MIDDLE
        paragraph = place.text_frame.paragraphs[0]
        if align in _ALIGN:
            paragraph.alignment = _ALIGN[align]
        for run in runs:
            _write(paragraph, run, self._table, ACCENT if is_head else INK)
        about = place._tc.get_or_add_tcPr()
        color, width = (ACCENT, 12700) if is_head else (LINE, 6350)
        about.append(
            parse_xml(
                f'<a:lnB {nsdecls("a")} w="{width}"><a:solidFill><a:srgbClr val="{color}"/>'
                "</a:solidFill></a:lnB>"
            )
        )
        fill = f'<a:srgbClr val="{TINT}"/>'
        kind = f"<a:solidFill {nsdecls('a')}>{fill}</a:solidFill>"
        about.append(parse_xml(kind if is_head else f"<a:noFill {nsdecls('a')}/>"))

    def _put_image(self, part: Image, area: Area) -> None:
        found = picture(part.name, self._outside)
        if found is None:
            self._put_text(
                SlideText([SlideLine([TextRun(text=f"[{part.about or 'picture'}]", italic=True)])]),
                area,
            )
            return
        # A small picture is enlarged by 1.6 at most.
        scale = min(area.width / found.width, area.height / found.height, 1.6)
        width, height = found.width * scale, found.height * scale
        left, top = area.left + (area.width - width) / 2, area.top + (area.height - height) / 2
        shape = self._slide.shapes.add_picture(
            io.BytesIO(found.content), *_inches(Area(left, top, width, height))
        )
        shape._element.nvPicPr.cNvPr.set("descr", part.about)


_A = "http://schemas.openxmlformats.org/drawingml/2006/main"


def _write(paragraph: Any, run: TextRun, size: float, color: str) -> None:
    text = str(run.note) if run.note else run.text
    for number, line in enumerate(text.split("\n")):
        if number:
            paragraph.add_line_break()
        if not line:
            continue
        made = paragraph.add_run()
        made.text, made.font.size = line, Pt(size * (0.9 if run.code else 1.0))
        made.font.bold, made.font.italic = run.bold or None, run.italic or run.math or None
        made.font.color.rgb = RGBColor.from_string(color)
        if run.code or run.math:
            made.font.name = CODE_FONT if run.code else MATH_FONT
        look = made._r.get_or_add_rPr()
        if run.struck:
            look.set("strike", "sngStrike")
        if run.raised or run.lowered:
            look.set("baseline", "30000" if run.raised else "-25000")
        if leads_outside(run.link):
            made.hyperlink.address = run.link
        elif run.link.startswith("#"):
            made.font.color.rgb = RGBColor.from_string(_LINK)


def _bullet(line: SlideLine) -> str:
    space = nsdecls("a")
    if line.sign == "#":
        start = min(max(line.number, 1), 32_767)
        return f'<a:buAutoNum {space} type="arabicPeriod" startAt="{start}"/>'
    if line.sign:
        return f'<a:buChar {space} char="{line.sign}"/>'
    return f"<a:buNone {space}/>"


def _inches(area: Area) -> tuple[int, int, int, int]:
    return (
        Inches(area.left),
        Inches(area.top),
        max(1, Inches(area.width)),
        max(1, Inches(area.height)),
    )

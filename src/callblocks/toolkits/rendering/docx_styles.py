"""The styles of a Word document: real headings, lists, quotes and code, in one look."""

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_TAB_ALIGNMENT
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Emu, Inches, Pt, RGBColor

from callblocks.toolkits.rendering.look import ACCENT, CODE_FONT, FILL, FONT, INK, LINE, MUTED
from callblocks.toolkits.rendering.wire import Job

__all__ = ("BULLETS", "NUMBERS", "add_property", "field", "set_page", "set_styles")

# Ids of the two abstract list definitions.
BULLETS, NUMBERS = "901", "902"

_SIZES = {1: 22, 2: 15, 3: 12.5, 4: 11, 5: 11, 6: 11}
_SIGNS = "•◦▪"
_PAPER = {"a4": (8.268, 11.693), "letter": (8.5, 11.0)}
_MARGIN = 0.85
# The schema fixes the order of paragraph properties; a document that violates it is invalid.
_ORDER = ("pBdr", "shd", "tabs", "bidi", "spacing", "ind", "contextualSpacing", "jc", "outlineLvl")


def set_styles(document: Document) -> None:
    """Set the look of all styles in use."""
    styles: Any = document.styles
    _letter(styles["Normal"], 11, INK)
    _space(styles["Normal"], 0, 6, 1.15)
    for level, size in _SIZES.items():
        style = styles[f"Heading {level}"]
        _letter(style, size, ACCENT, bold=True)
        _space(style, 0 if level == 1 else 16 if level == 2 else 12, 8 if level == 1 else 4, 1.0)
        style.paragraph_format.keep_with_next = True
    _border(styles["Heading 1"], "bottom", ACCENT, 10, 5)
    _letter(styles["Subtitle"], 11, MUTED)
    styles["Subtitle"].font.italic = False
    for spacing in styles["Subtitle"].element.rPr.findall(qn("w:spacing")):
        styles["Subtitle"].element.rPr.remove(spacing)
    _space(styles["Subtitle"], 0, 14, 1.0)
    _letter(styles["Quote"], 11, MUTED)
    styles["Quote"].font.italic = False
    styles["Quote"].paragraph_format.left_indent = Inches(0.18)
    _border(styles["Quote"], "left", LINE, 20, 9)
    _letter(styles["Footer"], 8.5, MUTED)
    code = styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH)
    _letter(code, 9, INK, font=CODE_FONT)
    _space(code, 4, 10, 1.1)
    code.paragraph_format.left_indent = code.paragraph_format.right_indent = Inches(0.1)
    shade = parse_xml(f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{FILL}"/>')
    add_property(code.element.get_or_add_pPr(), shade)
    for side in ("top", "bottom", "left", "right"):
        _border(code, side, FILL, 24, 3)
    _add_lists(document)


def set_page(document: Document, job: Job, title: str) -> Emu:
    """Set the paper and the footer; return the width of the text area."""
    section = document.sections[0]
    short, long = (Inches(inches) for inches in _PAPER[job.paper.partition("-")[0]])
    sides = (long, short) if job.paper.endswith("landscape") else (short, long)
    section.page_width, section.page_height = sides
    margin = Inches(_MARGIN)
    section.left_margin = section.right_margin = section.top_margin = margin
    section.bottom_margin = margin
    section.footer_distance = Inches(0.45)
    width = Emu(sides[0] - 2 * margin)
    foot = section.footer.paragraphs[0]
    for stop in list(foot.style.paragraph_format.tab_stops) if foot.style else []:
        foot.paragraph_format.tab_stops.add_tab_stop(stop.position, WD_TAB_ALIGNMENT.CLEAR)
    foot.paragraph_format.tab_stops.add_tab_stop(width, WD_TAB_ALIGNMENT.RIGHT)
    foot.add_run(f"{title}\t")
    field(foot, "PAGE")
    foot.add_run(" / ")
    field(foot, "NUMPAGES")
    return width


def field(paragraph: Any, code: str) -> None:
    """Add a field that the reader's program computes, such as a page number."""
    paragraph._p.append(
        parse_xml(
            f'<w:fldSimple {nsdecls("w")} w:instr="{code}"><w:r><w:t>1</w:t></w:r></w:fldSimple>'
        )
    )


def add_property(properties: Any, new: Any) -> None:
    """Insert a paragraph property at its place in the schema order."""
    names = [qn(f"w:{name}") for name in _ORDER]
    later = names[names.index(new.tag) + 1 :]
    following = next((child for child in properties if child.tag in later), None)
    properties.append(new) if following is None else following.addprevious(new)


def _letter(style: Any, size: float, color: str, *, bold: bool = False, font: str = FONT) -> None:
    style.font.name, style.font.size, style.font.bold = font, Pt(size), bold
    style.font.color.rgb = RGBColor.from_string(color)
    fonts = style.element.rPr.rFonts
    # A theme font would take precedence over the named one.
    for name in [key for key in fonts.attrib if key.endswith("Theme")]:
        del fonts.attrib[name]
    fonts.set(qn("w:cs"), font)


def _space(style: Any, before: float, after: float, lines: float) -> None:
    form = style.paragraph_format
    form.space_before, form.space_after, form.line_spacing = Pt(before), Pt(after), lines


def _border(style: Any, side: str, color: str, eighths: int, space: int) -> None:
    edge = f'w:val="single" w:sz="{eighths}" w:space="{space}" w:color="{color}"'
    properties = style.element.get_or_add_pPr()
    borders = properties.find(qn("w:pBdr"))
    if borders is None:
        borders = parse_xml(f"<w:pBdr {nsdecls('w')}/>")
        add_property(properties, borders)
    order = ("top", "left", "bottom", "right")
    new = parse_xml(f"<w:{side} {nsdecls('w')} {edge}/>")
    names = [qn(f"w:{name}") for name in order[order.index(side) + 1 :]]
    following = next((child for child in borders if child.tag in names), None)
    borders.append(new) if following is None else following.addprevious(new)


def _add_lists(document: Document) -> None:
    """Define two kinds of lists with nine levels each."""
    numbering: Any = document.part.numbering_part.element
    first = numbering.find(qn("w:num"))
    for number, ordered in ((BULLETS, False), (NUMBERS, True)):
        levels = "".join(_level(level, ordered=ordered) for level in range(9))
        first.addprevious(
            parse_xml(
                f'<w:abstractNum {nsdecls("w")} w:abstractNumId="{number}">'
                f'<w:multiLevelType w:val="hybridMultilevel"/>{levels}</w:abstractNum>'
            )
        )


def _level(level: int, *, ordered: bool) -> str:
    kind = ("decimal", "lowerLetter", "lowerRoman")[level % 3] if ordered else "bullet"
    text = f"%{level + 1}." if ordered else _SIGNS[level % 3]
    left = 340 * (level + 1)
    return (
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
        f'<w:lvlText w:val="{text}"/><w:lvlJc w:val="left"/>'
        f'<w:pPr><w:ind w:left="{left}" w:hanging="300"/></w:pPr></w:lvl>'
    )

"""The words of a paragraph in a Word document, with links, pictures and formulas."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable
from html import escape
from typing import Any
from xml.etree.ElementTree import Element

from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_TAB_ALIGNMENT
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Emu, Inches, Pt, RGBColor

from callblocks.toolkits.documents.pdf import picture
from callblocks.toolkits.documents.render_protocol import Outside, RenderJob
from callblocks.toolkits.documents.runs import (
    ACCENT,
    CODE_FONT,
    FILL,
    FONT,
    INK,
    LINE,
    MUTED,
    TextRun,
    formula_mathml,
    leads_outside,
    runs_left,
)

__all__ = (
    "BULLETS",
    "NUMBERS",
    "Pen",
    "add_property",
    "field",
    "formula_omml",
    "set_page",
    "set_styles",
)

# --- Conversion of MathML to OMML, the editable formulas of Word ---
#
# A recursive translation by element name. Unknown elements are replaced by their children, so that
# no text is lost.

_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/math"
# Operators whose limits Word stores in an n-ary object instead of as sub- and superscripts.
_BIG = "∑∏∐∫∬∭∮⋃⋂⋁⋀⨁⨂"
_OPEN, _CLOSE = "([{⟨⌈⌊|‖", ")]}⟩⌉⌋|‖"


def formula_omml(mathml: Element) -> str:
    """Return the XML of a formula."""
    return f'<m:oMath xmlns:m="{_NAMESPACE}">{_all(mathml)}</m:oMath>'


def _all(parts: Iterable[Element]) -> str:
    """Convert a row; a row between brackets becomes a delimiter object, whose brackets stretch."""
    row = list(parts)
    # MathML has no element for brackets in a row; they are operators at both ends. The last
    # condition excludes a row that begins with no operator at all: "" is in every string.
    if len(row) > 2 and _sign(row[0]) in _OPEN and _sign(row[-1]) in _CLOSE and _sign(row[0]):
        edges = f'<m:begChr m:val="{_sign(row[0])}"/><m:endChr m:val="{_sign(row[-1])}"/>'
        inner = "".join(map(_one, row[1:-1]))
        return f"<m:d><m:dPr>{edges}</m:dPr><m:e>{inner}</m:e></m:d>"
    return "".join(map(_one, row))


def _one(part: Element) -> str:
    make = _MAKERS.get(_name(part))
    if make is None or len(part) < _LEAST.get(_name(part), 0):
        return _all(part) if len(part) else _text(part)
    return make(part)


def _name(part: Element) -> str:
    return part.tag.rpartition("}")[2]


def _sign(part: Element) -> str:
    return (part.text or "").strip() if _name(part) == "mo" else ""


def _text(part: Element) -> str:
    text = escape(part.text or "", quote=False)
    plain = "<m:rPr><m:nor/></m:rPr>" if _name(part) == "mtext" else ""
    font = '<w:rPr><w:rFonts w:ascii="Cambria Math" w:hAnsi="Cambria Math"/></w:rPr>'
    run = '<m:r xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    return f'{run}{plain}{font}<m:t xml:space="preserve">{text}</m:t></m:r>' if text else ""


def _boxed(tag: str, part: Element) -> str:
    return f"<m:{tag}>{_one(part)}</m:{tag}>"


def _fraction(part: Element) -> str:
    bare = part.get("linethickness", "").startswith("0")
    kind = '<m:fPr><m:type m:val="noBar"/></m:fPr>' if bare else ""
    return f"<m:f>{kind}{_boxed('num', part[0])}{_boxed('den', part[1])}</m:f>"


def _root(part: Element) -> str:
    return f"<m:rad><m:radPr/>{_boxed('deg', part[1])}{_boxed('e', part[0])}</m:rad>"


def _square_root(part: Element) -> str:
    hide = '<m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/>'
    return f"<m:rad>{hide}<m:e>{_all(part)}</m:e></m:rad>"


def _below(part: Element) -> str:
    if (_sign(part[0]) or "x") in _BIG:
        return _big(part[0], part[1], None)
    return f"<m:sSub>{_boxed('e', part[0])}{_boxed('sub', part[1])}</m:sSub>"


def _above(part: Element) -> str:
    if (_sign(part[0]) or "x") in _BIG:
        return _big(part[0], None, part[1])
    return f"<m:sSup>{_boxed('e', part[0])}{_boxed('sup', part[1])}</m:sSup>"


def _both(part: Element) -> str:
    if (_sign(part[0]) or "x") in _BIG:
        return _big(part[0], part[1], part[2])
    boxes = _boxed("e", part[0]) + _boxed("sub", part[1]) + _boxed("sup", part[2])
    return f"<m:sSubSup>{boxes}</m:sSubSup>"


def _big(sign: Element, low: Element | None, high: Element | None) -> str:
    place = "undOvr" if _sign(sign) in "∑∏∐⋃⋂" else "subSup"
    hidden = ("" if low is not None else '<m:subHide m:val="1"/>') + (
        "" if high is not None else '<m:supHide m:val="1"/>'
    )
    about = f'<m:chr m:val="{_sign(sign)}"/><m:limLoc m:val="{place}"/>{hidden}'
    bounds = "".join(
        _boxed(tag, part) if part is not None else f"<m:{tag}/>"
        for tag, part in (("sub", low), ("sup", high))
    )
    return f"<m:nary><m:naryPr>{about}</m:naryPr>{bounds}<m:e/></m:nary>"


def _limit(part: Element) -> str:
    if (_sign(part[0]) or "x") in _BIG:
        return _big(part[0], part[1], None)
    return f"<m:limLow>{_boxed('e', part[0])}{_boxed('lim', part[1])}</m:limLow>"


def _accent(part: Element) -> str:
    if (_sign(part[0]) or "x") in _BIG:
        return _big(part[0], None, part[1])
    if sign := _sign(part[1]):
        about = f'<m:accPr><m:chr m:val="{escape(sign)}"/></m:accPr>'
        return f"<m:acc>{about}{_boxed('e', part[0])}</m:acc>"
    return f"<m:limUpp>{_boxed('e', part[0])}{_boxed('lim', part[1])}</m:limUpp>"


def _table(part: Element) -> str:
    rows = (
        "<m:mr>" + "".join(f"<m:e>{_all(cell)}</m:e>" for cell in row) + "</m:mr>" for row in part
    )
    return f"<m:m>{''.join(rows)}</m:m>"


_MAKERS: dict[str, Callable[[Element], str]] = {
    "mfrac": _fraction,
    "mroot": _root,
    "msqrt": _square_root,
    "msub": _below,
    "msup": _above,
    "msubsup": _both,
    "munder": _limit,
    "mover": _accent,
    "munderover": _both,
    "mtable": _table,
}
_LEAST = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}


# --- The styles of a Word document: real headings, lists, quotes and code, in one look ---

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


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


def set_page(document: Document, job: RenderJob, title: str) -> Emu:
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


# --- The words of a paragraph in a Word document, with links, pictures and formulas ---

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


_LINK = "1F5F99"
_HIGHEST = Inches(7.5)


class Pen:
    """A writer of runs into paragraphs; `width` is that of the text area."""

    def __init__(self, document: Document, outside: Outside, width: Emu) -> None:
        self.document = document
        self.outside = outside
        self.width = width
        self._marks = itertools.count(1)

    def write(self, paragraph: Any, runs: Iterable[TextRun]) -> None:
        """Write runs in order."""
        runs = [*runs]
        if runs_left("".join(run.text for run in runs)):
            add_property(paragraph._p.get_or_add_pPr(), OxmlElement("w:bidi"))
        for run in runs:
            if run.picture:
                self._picture(paragraph, run)
            elif run.math:
                self.formula(paragraph, run.text)
            elif run.note:
                self._words(paragraph, run, str(run.note), f"#note-{run.note}")
            elif run.text:
                self._words(paragraph, run, run.text, run.link)

    def mark(self, paragraph: Any, name: str) -> None:
        """Add a bookmark to a paragraph, as a target of links."""
        number = next(self._marks)
        start = f'<w:bookmarkStart {nsdecls("w")} w:id="{number}" w:name="{_mark(name)}"/>'
        paragraph._p.append(parse_xml(start))
        paragraph._p.append(parse_xml(f'<w:bookmarkEnd {nsdecls("w")} w:id="{number}"/>'))

    def formula(self, paragraph: Any, tex: str) -> None:
        """Add an editable formula, or its source text if it cannot be converted."""
        mathml = formula_mathml(tex, self.outside)
        if mathml is None:
            self._words(paragraph, TextRun(code=True), tex.strip(), "")
        else:
            paragraph._p.append(parse_xml(formula_omml(mathml)))

    def _words(self, paragraph: Any, run: TextRun, text: str, link: str) -> None:
        made = paragraph.add_run(text)
        made.font.rtl = runs_left(text) or None
        made.bold, made.italic = run.bold or None, run.italic or None
        made.font.strike = run.struck or None
        if run.raised or run.lowered:
            side = "superscript" if run.raised else "subscript"
            setattr(made.font, side, True)
        if run.code:
            made.font.name, made.font.size = CODE_FONT, Pt(9.5)
            shade = f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{FILL}"/>'
            made._r.get_or_add_rPr().append(parse_xml(shade))
        if link:
            self._link(paragraph, made, link)

    def _link(self, paragraph: Any, run: Any, link: str) -> None:
        element: Any = OxmlElement("w:hyperlink")
        if link.startswith("#"):
            element.set(qn("w:anchor"), _mark(link[1:]))
        elif leads_outside(link):
            relation = self.document.part.relate_to(
                link, RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
            element.set(qn("r:id"), relation)
        else:
            return
        run.font.color.rgb = RGBColor.from_string(_LINK)
        # python-docx cannot create hyperlinks. The run is added first, for its formatting, and then
        # moved into the link element, which takes its place.
        run._r.addprevious(element)
        element.append(run._r)

    def _picture(self, paragraph: Any, run: TextRun) -> None:
        found = picture(run.picture, self.outside)
        if found is None:
            self._words(paragraph, TextRun(italic=True), f"[{run.text or 'picture'}]", "")
            return
        width, height = Inches(found.width), Inches(found.height)
        scale = min(1.0, self.width / max(width, 1), _HIGHEST / max(height, 1))
        shape = paragraph.add_run().add_picture(
            io.BytesIO(found.content), max(1, int(width * scale)), max(1, int(height * scale))
        )
        # The alternative text, for screen readers.
        shape._inline.docPr.set("descr", run.text)


def _mark(name: str) -> str:
    """Return a valid bookmark name (letters, digits and underscores, at most 40)."""
    kept = "".join(char if char.isalnum() else "_" for char in name)
    return f"m_{kept}"[:40]

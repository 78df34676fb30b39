"""The empty presentation: wide slides, two layouts, one look.

It starts from python-pptx's default template, which is 4:3. Layouts, placeholders and the master's
styles are changed in place, because the library cannot create a master.
"""

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.util import Inches

from callblocks.toolkits.rendering.look import ACCENT, FONT, INK, MUTED

__all__ = ("add_slide_number", "new_presentation")

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

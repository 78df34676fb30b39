"""Conversion of MathML to OMML, the editable formulas of Word.

A recursive translation by element name. Unknown elements are replaced by their children, so that no
text is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from xml.etree.ElementTree import Element

__all__ = ("formula_omml",)

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

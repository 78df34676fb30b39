"""TeX formulas: as SVG for pages, as MathML for formats that support it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import msgspec

from callblocks.toolkits.documents.render_protocol import Outside

__all__ = (
    "ACCENT",
    "CODE_FONT",
    "FILL",
    "FONT",
    "INK",
    "LINE",
    "MATH_FONT",
    "MUTED",
    "TINT",
    "Piece",
    "formula_mathml",
    "formula_svg",
    "highlighted",
    "leads_outside",
    "room_of",
    "runs_left",
    "without_doors",
)

# The package has no types where it counts.
# pyright: reportUnknownMemberType=false, reportPrivateImportUsage=false


_LONGEST = 2_000
_PIXELS = 96 / 72
_SIZE = 11.5
_MARGIN = 1.0


def formula_svg(tex: str, outside: Outside) -> str:
    """Return the SVG of a formula aligned to the baseline; "" and a notice if that fails."""
    import ziamath

    # Paths only: not every SVG renderer supports `<symbol>`.
    ziamath.config.svg2 = False
    try:
        _require_short(tex)
        drawn: Any = ziamath.Math.fromlatex(tex.strip(), size=_SIZE * _PIXELS)
        svg, below = drawn.svg(), drawn.getyofst() - _MARGIN
    except Exception:  # it meets formulas that nobody thought of
        _tell(tex, outside)
        return ""
    return svg.replace("<svg ", f'<svg style="vertical-align:{below:.2f}px" ', 1)


def formula_mathml(tex: str, outside: Outside) -> ElementTree.Element | None:
    """Return a formula as MathML; `None` and a notice if it cannot be parsed."""
    from latex2mathml.converter import convert_to_element

    try:
        _require_short(tex)
        read: ElementTree.Element = convert_to_element(tex.strip())
    except Exception:  # it raises whatever comes
        _tell(tex, outside)
        return None
    # The converter writes symbols as character references, which must be resolved in a tree.
    for part in read.iter():
        part.text = unescape(part.text or "")
    return read


def _require_short(tex: str) -> None:
    if len(tex) > _LONGEST:
        raise ValueError("too long")


def _tell(tex: str, outside: Outside) -> None:
    shown = tex.strip()[:60]
    outside.tell("formula_as_text", f"{shown}: this formula cannot be set, and is shown as written")


# --- Syntax highlighting by Pygments, with the same colours in every kind of document ---

# The package has no types where it counts.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false


_STYLE = "tango"
# Length limit in characters; longer code is not coloured.
_LONGEST_CODE = 100_000


class Piece(msgspec.Struct, frozen=True):
    """A part of a line of code; `color` is hex, or "" for the text colour."""

    text: str
    color: str = ""
    bold: bool = False
    italic: bool = False


def highlighted(code: str, language: str) -> list[list[Piece]]:
    """Return the lines of code as coloured pieces; uncoloured if the language is unknown."""
    lines: list[list[Piece]] = [[]]
    for piece in _pieces(code.rstrip("\n"), language):
        for number, text in enumerate(piece.text.split("\n")):
            if number:
                lines.append([])
            if text:
                lines[-1].append(msgspec.structs.replace(piece, text=text))
    return lines


def _pieces(code: str, language: str) -> Iterator[Piece]:
    lexer = _lexer(language) if len(code) <= _LONGEST_CODE else None
    if lexer is None:
        yield Piece(code)
        return
    from pygments.styles import get_style_by_name

    style: Any = get_style_by_name(_STYLE)
    for kind, text in lexer.get_tokens(code):
        look = style.style_for_token(kind)
        yield Piece(text, look["color"] or "", look["bold"], look["italic"])


def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# --- Fonts and colours that all writers share; `page.css` has the same values for pages ---

# Where Calibri is not installed, Carlito has the same metrics.
FONT = "Calibri"
CODE_FONT = "Consolas"
MATH_FONT = "Cambria Math"

INK = "1F2933"
MUTED = "66727F"
ACCENT = "1F4E79"
LINE = "CBD2D9"
FILL = "F4F6F8"
TINT = "E8EEF4"


# --- Width and direction of text ---


def room_of(text: str) -> int:
    """Return the width of a text in columns: East Asian letters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_room, text))


def runs_left(text: str) -> bool:
    """Tell if a text runs from right to left, by its first strong character."""
    if text.isascii():
        return False
    kinds = map(unicodedata.bidirectional, text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def _room(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")


# --- The links that a document may have: to the web, to a mailbox, and within itself ---
#
# Others (`javascript:`, `file:`, `smb:`, a file beside the document) are removed and their text
# stays. Opening an `smb:` or `file:` link can leak the reader's credentials to a foreign server.

# One of the packages has no types.
# pyright: reportUnknownMemberType=false


_SCHEMES = ("http", "https", "mailto")
_LONGEST_LINK = 2_000
_LINK = "{http://www.w3.org/1999/xlink}href"


def leads_outside(link: str) -> bool:
    """Tell if a link leads to the web or to a mailbox."""
    try:
        return urlsplit(link).scheme in _SCHEMES and len(link) < _LONGEST_LINK
    except ValueError:
        return False


def without_doors(tree: Any) -> None:
    """Remove unsafe links and embedded attachments from an HTML tree."""
    for element in tree.iter():
        tag = str(element.tag).rpartition("}")[2].lower()
        if tag in ("a", "area"):
            for name in ("href", _LINK):
                link = element.get(name, "").strip()
                if link and not link.startswith("#") and not leads_outside(link):
                    del element.attrib[name]
        if tag in ("a", "area", "link") and "attachment" in element.get("rel", "").lower():
            del element.attrib["rel"]

"""Inline content as runs of equally formatted text, for writers without HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import msgspec
from markdown_it.tree import SyntaxTreeNode
from msgspec.structs import replace

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
    "Cell",
    "Grid",
    "Piece",
    "TextRun",
    "formula_mathml",
    "formula_svg",
    "grid_of",
    "highlighted",
    "leads_outside",
    "room_of",
    "runs_left",
    "runs_of",
    "without_doors",
    "without_tags",
)

_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^>]*>|<[!?][^>]*>", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_UNSEEN = re.compile(r"<(script|style|head)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
# Closing tags that separate words of cells and items.
_PARTING = re.compile(r"</(?:td|th|li|dt|dd|summary)\s*>", re.IGNORECASE)
_HTML: dict[str, dict[str, Any]] = {
    "b": {"bold": True},
    "strong": {"bold": True},
    "i": {"italic": True},
    "em": {"italic": True},
    "s": {"struck": True},
    "del": {"struck": True},
    "code": {"code": True},
    "kbd": {"code": True},
    "sup": {"raised": True},
    "sub": {"lowered": True},
}
_MARKS: dict[str, dict[str, Any]] = {
    "strong": {"bold": True},
    "em": {"italic": True},
    "s": {"struck": True},
}
_HTML_TAG = re.compile(r"<(/?)([A-Za-z]+)[^>]*>")


class TextRun(msgspec.Struct, frozen=True, kw_only=True):
    """Text with one format. `note` is a footnote's number, `picture` the name of an image."""

    text: str = ""
    bold: bool = False
    italic: bool = False
    struck: bool = False
    code: bool = False
    raised: bool = False
    lowered: bool = False
    math: bool = False
    link: str = ""
    note: int = 0
    picture: str = ""


def runs_of(node: SyntaxTreeNode, **look: Any) -> Iterator[TextRun]:
    """Yield the runs of an inline node, or of all inline nodes below a block."""
    marks: dict[str, Any] = {}
    for child in node.children:
        if child.type == "html_inline" and (tag := _HTML_TAG.fullmatch(child.content)):
            known = _HTML.get(tag[2].lower(), {})
            # HTML tags in Markdown come as separate tokens, so an open tag is a state that lasts
            # until its end tag. A tag that is never closed ends with the paragraph.
            marks = {k: v for k, v in marks.items() if k not in known} if tag[1] else marks | known
        yield from _run(child, {**look, **marks})


def without_tags(html: str) -> str:
    """Return the text of HTML that a writer cannot render."""
    parted = _PARTING.sub("  ", _BREAK.sub("\n", _UNSEEN.sub("", html)))
    return unescape(_TAG.sub("", parted)).replace("\xa0", " ").strip()


def _run(node: SyntaxTreeNode, look: dict[str, Any]) -> Iterator[TextRun]:
    if make := _MADE.get(node.type):
        yield _made(look, **make(node))
        return
    match node.type:
        case "html_inline":
            if _BREAK.fullmatch(node.content):
                yield _made(look, text="\n")
        case "citation":
            for number in node.meta["numbers"]:
                yield _made(look, text=f"[{number}]", link=f"#source-{number}")
        case "link":
            yield from runs_of(node, **{**look, "link": str(node.attrs.get("href", ""))})
        case "footnote_anchor":
            return
        case _:
            yield from runs_of(node, **{**look, **_MARKS.get(node.type, {})})


def _made(look: dict[str, Any], **more: Any) -> TextRun:
    return TextRun(**{**look, **more})


def _formula(node: SyntaxTreeNode) -> dict[str, Any]:
    return {"text": node.content.strip(), "math": True}


_MADE: dict[str, Callable[[SyntaxTreeNode], dict[str, Any]]] = {
    "text": lambda node: {"text": node.content},
    "softbreak": lambda _: {"text": " "},
    "hardbreak": lambda _: {"text": "\n"},
    "code_inline": lambda node: {"text": node.content, "code": True},
    "math_inline": _formula,
    "math_inline_double": _formula,
    "image": lambda node: {"text": node.content, "picture": str(node.attrs.get("src", ""))},
    "footnote_ref": lambda node: {"note": node.meta["id"] + 1, "raised": True},
}


# --- A table as rows of cells, for writers that have no HTML ---

# Bounds in characters for the estimated width of a column.
_LEAST, _MOST = 4, 36


class Cell(msgspec.Struct, frozen=True):
    """The runs of a cell, and their alignment."""

    runs: list[TextRun] = []
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


# --- TeX formulas: as SVG for pages, as MathML for formats that support it ---


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

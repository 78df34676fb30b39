"""Inline content as runs of equally formatted text, for writers without HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import msgspec
from markdown_it.tree import SyntaxTreeNode
from msgspec.structs import replace

from callblocks.toolkits.documents.formulas import room_of

__all__ = (
    "Cell",
    "Grid",
    "TextRun",
    "grid_of",
    "runs_of",
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

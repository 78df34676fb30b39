"""Inline content as runs of equally formatted text, for writers without HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import msgspec
from markdown_it.tree import SyntaxTreeNode

__all__ = ("Run", "runs_of", "without_tags")

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


class Run(msgspec.Struct, frozen=True, kw_only=True):
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


def runs_of(node: SyntaxTreeNode, **look: Any) -> Iterator[Run]:
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


def _run(node: SyntaxTreeNode, look: dict[str, Any]) -> Iterator[Run]:
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


def _made(look: dict[str, Any], **more: Any) -> Run:
    return Run(**{**look, **more})


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

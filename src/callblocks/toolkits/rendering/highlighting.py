"""Syntax highlighting by Pygments, with the same colours in every kind of document."""

# The package has no types where it counts.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = ("Piece", "highlighted")

_STYLE = "tango"
# Length limit in characters; longer code is not coloured.
_LONGEST = 100_000


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
    lexer = _lexer(language) if len(code) <= _LONGEST else None
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

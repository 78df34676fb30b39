"""Rows of a terminal: text whose parts say what they are, broken to a width.

A row is a tuple of `(kind, text)`; whoever prints it gives each kind its colour. Widths are
columns: a wide character takes two, a combining one none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, TypeAlias

__all__ = ("Bit", "Kind", "Row", "columns", "plain", "runs", "wrap")

Kind: TypeAlias = Literal[
    "plain",
    "quiet",
    "strong",
    "mark",
    "name",
    "key",
    "error",
    "warning",
    "code",
    "reasoning",
    "heading",
]
"""What a part of a row is: `mark` is what opens and ends a block, `quiet` what may be missed."""

Bit: TypeAlias = tuple[Kind, str]
Row: TypeAlias = tuple[Bit, ...]

_EMOJI_STYLE = "\ufe0f"


@lru_cache(maxsize=4096)
def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def columns(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_advance(text, at) for at in range(len(text)))


def plain(row: Iterable[Bit]) -> str:
    """The text of a row."""
    return "".join(text for _, text in row)


def wrap(row: Row, width: int, hang: Row = ()) -> list[Row]:
    """Break a row to a width, at a blank where there is one; further rows begin with `hang`."""
    if columns(plain(row)) <= width:
        return [row]
    chars: list[Bit] = [(kind, char) for kind, text in row for char in text]
    text, room, start = "".join(char for _, char in chars), width, 0
    rows: list[Row] = []
    while start < len(chars):
        end = _fit(text, start, room)
        rows.append((*(hang if rows else ()), *runs(chars[start:end])))
        start = end + (end < len(text) and text[end] == " ")
        room = max(10, width - columns(plain(hang)))
    return rows


def _advance(text: str, at: int) -> int:
    """The columns that one more character takes: the emoji style widens the one before it."""
    if text[at] == _EMOJI_STYLE:
        return int(at > 0 and _width(text[at - 1]) == 1)
    return _width(text[at])


def _fit(text: str, start: int, room: int) -> int:
    """Where the row that begins at `start` ends."""
    used, end = 0, start
    while end < len(text):
        used += _advance(text, end)
        if used > room and end > start:
            break
        end += 1
    else:
        return end
    if text[end] == " ":
        return end
    blank = text.rfind(" ", start, end)
    # A blank far back would leave the row half empty, and an indent is no place to break.
    worth = blank > start + (end - start) // 2 and not text[start:blank].isspace()
    return blank + 1 if worth else end


def runs(chars: Iterable[Bit]) -> Row:
    """Join neighbours of one kind."""
    bits: list[Bit] = []
    for kind, char in chars:
        if bits and bits[-1][0] == kind:
            bits[-1] = (kind, bits[-1][1] + char)
        else:
            bits.append((kind, char))
    return tuple(bits)

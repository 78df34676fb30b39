"""Rows of a terminal: text whose parts say what they are, broken to a width.

A row is a tuple of `(kind, text)`; whoever prints it gives each kind its colour. Widths are
columns: a wide character takes two, a combining one none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
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
_JOINTS = "/.:"


@lru_cache(maxsize=4096)
def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def columns(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text)) + _widened(text)


def plain(row: Iterable[Bit]) -> str:
    """The text of a row."""
    return "".join([text for _, text in row])


def wrap(row: Row, width: int, hang: Row = ()) -> list[Row]:
    """Break a row to a width, at a blank where there is one; further rows begin with `hang`.

    A word that is too long, as a path is, breaks behind one of `/ . :` where that is possible.
    """
    text = plain(row)
    if len(text) * 2 <= width or columns(text) <= width:
        return [row]
    rows: list[Row] = []
    start, room = 0, width
    while start < len(text):
        end = _fit(text, start, room)
        rows.append((*(hang if rows else ()), *_slice(row, start, end)))
        start = end + (end < len(text) and text[end] == " ")
        room = max(10, width - columns(plain(hang)))
    return rows


def runs(chars: Iterable[Bit]) -> Row:
    """Join neighbours of one kind."""
    bits: list[Bit] = []
    for kind, char in chars:
        if bits and bits[-1][0] == kind:
            bits[-1] = (kind, bits[-1][1] + char)
        else:
            bits.append((kind, char))
    return tuple(bits)


def _widened(text: str) -> int:
    """The columns that emoji style adds: it widens the character before it."""
    if _EMOJI_STYLE not in text:
        return 0
    return sum(_width(part[-1]) == 1 for part in text.split(_EMOJI_STYLE)[:-1] if part)


def _fit(text: str, start: int, room: int) -> int:
    """Where the row that begins at `start` ends."""
    end = min(start + room, len(text))
    while (over := columns(text[start:end]) - room) > 0 and end - start > 1:
        end -= (over + 1) // 2
    if end == len(text) or text[end] == " ":
        return end
    if text[end] == _EMOJI_STYLE and end - start > 1:
        return end - 1
    blank = text.rfind(" ", start, end)
    # A blank far back would leave the row half empty, and an indent is no place to break.
    worth = blank > start + (end - start) // 2 and not text[start:blank].isspace()
    return blank if worth else _joint(text, start, end)


def _joint(text: str, start: int, end: int) -> int:
    """Where to break a word that does not fit: behind one of its joints, or else anywhere."""
    for at in range(end, start + (end - start) // 2, -1):
        if text[at - 1] in _JOINTS and text[at] not in _JOINTS:
            return at
    return end


def _slice(row: Row, start: int, end: int) -> Iterator[Bit]:
    for kind, text in row:
        part = text[max(start, 0) : max(end, 0)]
        if part:
            yield kind, part
        start, end = start - len(text), end - len(text)

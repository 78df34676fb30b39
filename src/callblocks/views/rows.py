"""Rows of a terminal: text whose parts say what they are, broken to a width.

A row is a tuple of `(kind, text)`; whoever prints it gives each kind its colour. Widths are
columns: a wide character takes two, a combining one none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

__all__ = (
    "Bit",
    "Kind",
    "Row",
    "columns",
    "exact",
    "exact_line",
    "plain",
    "runs",
    "visible",
    "visible_line",
    "wrap",
)

Kind: TypeAlias = Literal[
    "plain",
    "quiet",
    "strong",
    "emphasis",
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
    """Return the number of terminal columns of a text."""
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
    """Return the end of the row that begins at `start`."""
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
    """Return the offset at which to break a word that is too long: behind a joint, else `end`."""
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


# --- Untrusted text, made safe to show: no control sequence reaches the terminal ---
#
#     ESC [ 3 1 m      ␛[31m         controls, as their pictures
#     U+009B           ⟨U+009B⟩      controls beyond ASCII
#     U+202E           ⟨U+202E⟩      what turns the reading direction
#     U+D800           ⟨U+D800⟩      half a character, which no encoding can write
#     tab              four blanks
#
# Line feeds stay. A carriage return that ends a line with its line feed goes; alone it is shown.

_RETURN = re.compile(r"\r(?=\n)")
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_TAB, _DELETE, _PICTURES = "\t", "\x7f", 0x2400


def visible(text: str) -> str:
    """Make text safe, keeping its lines."""
    if text.isprintable():
        return text
    return _UNSAFE.sub(_picture, _RETURN.sub("", text))


def visible_line(text: str) -> str:
    """Make text safe and put it on one line."""
    return text if text.isprintable() else visible(" ".join(text.splitlines()))


def _picture(found: re.Match[str]) -> str:
    char = found[0]
    if char == _TAB:
        return "    "
    if char == _DELETE:
        return "␡"
    return chr(_PICTURES + ord(char)) if char < " " else f"⟨U+{ord(char):04X}⟩"


# --- Text that a person approves, shown with every invisible character made visible ---
#
#     U+200B          ⟨U+200B⟩            what takes no room, or covers its neighbours
#     60 blanks       ⟨60 blanks⟩         what pushes the rest aside
#     9 empty lines   ⟨9 empty lines⟩     what pushes the rest away
#     CR LF           ␍ and a line end    a carriage return belongs to the word before it
#
# Beside that it is as safe as all text that is shown.

_BLANKS = re.compile(r" {20,}")
_EMPTY = re.compile(r"\n(?:[ ␍]*\n){4,}")
# Letters and signs of no width or without ink that Unicode does not call formatting.
_INKLESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_EMOJI_PRESENTATION, _KEYCAP = "\ufe0f", "\u20e3"
_MARKS = 3
"""How many marks may stand on a letter; a higher stack covers the lines around it."""


def exact(text: str) -> str:
    """The text with all that cannot be seen named."""
    plain = text.replace("\r", "␍").replace("\t", " " * 4)
    folded = _EMPTY.sub(lambda run: f"\n⟨{run[0].count(chr(10)) - 1} empty lines⟩\n", plain)
    folded = _BLANKS.sub(lambda run: f"⟨{len(run[0])} blanks⟩", folded)
    if folded.isascii():
        return visible(folded)
    marks = 0
    seen: list[str] = []
    for char in folded:
        marks = marks + 1 if unicodedata.category(char) == "Mn" else 0
        seen.append(char if _is_seen(char) and marks <= _MARKS else _named(char))
    return visible("".join(seen))


def exact_line(text: str) -> str:
    """The same on one line."""
    return exact(text).replace("\n", "␊")


def _is_seen(char: str) -> bool:
    if char.isascii() or char in (_EMOJI_PRESENTATION, _KEYCAP):
        return True
    if char in _INKLESS or "\ufe00" <= char <= "\ufe0e" or "\U000e0000" <= char <= "\U000e0fff":
        return False
    return unicodedata.category(char) not in ("Cf", "Zs", "Cn", "Co", "Me")


def _named(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"

"""Other spellings of markers.

Tokens such as `<|tool_call|>` and `<｜tool▁call▁begin｜>` are spelled out by models that lack them,
with the bars of the other family, or with a plain underscore for U+2581.

Models drop the variation selector U+FE0F of an emoji at times. Old transcripts were UTF-8 that
was once read as a one-byte encoding, so that `🛠️` became `ðŸ› ï¸`: bytes with no character in that
encoding were lost, or kept as the control character of the same number, and so was Mac
Roman's apple, which Unicode has only for private use; a no-break space often became a plain
one. All of these are recognised but the shortest: `ð [` stands in any Icelandic text. Writers
write the first spelling.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TypeAlias

__all__ = ("Spellings", "damaged", "is_barred", "respell", "respelt_atoms", "spellings")

SELECTOR = "\ufe0f"
# The Apple logo of Mac Roman, which is a private-use character in Unicode.
APPLE = "\uf8ff"
# Shorter damaged spellings occur in ordinary text: `ð [` in Icelandic.
SHORTEST = 3
# The one-byte encodings with which UTF-8 was decoded by mistake in old transcripts.
ENCODINGS = ("mac_roman", "cp1252", "cp1254", "latin-1")
# A marker, or all its spellings; the first one is written.
Spellings: TypeAlias = str | tuple[str, ...]
BAR, WIDE_BAR, BLANK = "|", "\uff5c", "\u2581"
_ATOMS = {BAR: f"[{BAR}{WIDE_BAR}]", WIDE_BAR: f"[{BAR}{WIDE_BAR}]", BLANK: f"[{BLANK}_]"}


def is_barred(marker: str) -> bool:
    """Return whether a marker has bars, which models write in two ways (`|` and `｜`)."""
    return BAR in marker or WIDE_BAR in marker


def respell(markers: Spellings) -> Spellings:
    """Return a marker with the other bars, or a tuple of markers with all their spellings."""
    if isinstance(markers, str):
        return _with_other_bars(markers)
    others = [(one, one.replace(BLANK, "_")) for one in markers]
    spelt = (made for pair in others for one in pair for made in (one, _with_other_bars(one)))
    return tuple(dict.fromkeys((*markers, *spelt)))


def respelt_atoms(marker: str) -> tuple[str, ...]:
    """Return the atoms of a pattern that matches a marker in each of its spellings."""
    return tuple(_ATOMS.get(char) or re.escape(char) for char in marker)


def _with_other_bars(marker: str) -> str:
    if WIDE_BAR in marker:
        return marker.replace(WIDE_BAR, BAR)
    return marker.replace(BAR, WIDE_BAR)


def spellings(marker: str) -> tuple[str, ...]:
    """Return the spellings of a marker with and without each variation selector."""
    parts = marker.split(SELECTOR)
    choices = product((SELECTOR, ""), repeat=len(parts) - 1)
    return tuple(
        "".join(part + mark for part, mark in zip(parts, (*marks, ""), strict=True))
        for marks in choices
    )


def damaged(marker: str) -> tuple[str, ...]:
    """Return the spellings that a wrong decoding makes of a marker, the longest first."""
    read = {
        _misread(spelling, encoding, keep)
        for spelling in spellings(marker)
        for encoding in ENCODINGS
        for keep in (True, False)
    }
    read |= {text.replace("\xa0", " ") for text in read}
    told = (text for text in read if len(text) >= SHORTEST)
    return tuple(sorted(told, key=lambda text: (-len(text), text)))


def _misread(text: str, encoding: str, keep: bool) -> str:
    return "".join(_character(byte, encoding, keep) for byte in text.encode())


def _character(byte: int, encoding: str, keep: bool) -> str:
    character = bytes([byte]).decode(encoding, "ignore") or chr(byte)
    is_lost = character == APPLE or 0x7F <= ord(character) < 0xA0
    return "" if is_lost and not keep else character

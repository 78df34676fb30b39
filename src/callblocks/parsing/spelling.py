"""How an emoji marker may be spelled.

Models drop the variation selector U+FE0F at times. Old transcripts were UTF-8 that was once
read as a one-byte encoding, so that `🛠️` became `ðŸ› ï¸`: bytes with no character in that
encoding were lost, or kept as the control character of the same number, and so was Mac
Roman's apple, which Unicode has only for private use; a no-break space often became a plain
one. All of these are recognised but the shortest: `ð [` stands in any Icelandic text. Writers
write the first spelling.
"""

from __future__ import annotations

from itertools import product

__all__ = ("damaged", "spellings")

SELECTOR = "\ufe0f"
APPLE = "\uf8ff"
SHORTEST = 3
ENCODINGS = ("mac_roman", "cp1252", "cp1254", "latin-1")


def spellings(marker: str) -> tuple[str, ...]:
    """Every spelling of a marker that still holds its emoji: each selector there or not."""
    parts = marker.split(SELECTOR)
    choices = product((SELECTOR, ""), repeat=len(parts) - 1)
    return tuple(
        "".join(part + mark for part, mark in zip(parts, (*marks, ""), strict=True))
        for marks in choices
    )


def damaged(marker: str) -> tuple[str, ...]:
    """Every spelling that a wrong decoding made of the marker, longest first."""
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

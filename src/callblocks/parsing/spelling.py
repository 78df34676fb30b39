"""How an emoji marker may be spelled.

Models drop the variation selector U+FE0F at times. Old transcripts were UTF-8 that was once
read as a one-byte encoding, so that `🛠️` became `ðŸ› ï¸`: bytes with no character in that
encoding were lost, or kept as the control character of the same number; a no-break space
often became a plain one. All of these are recognised; writers write the first spelling.
"""

from __future__ import annotations

from itertools import product

__all__ = ("damaged", "spellings")

SELECTOR = "\ufe0f"
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
        _misread(spelling, encoding, keep_controls)
        for spelling in spellings(marker)
        for encoding in ENCODINGS
        for keep_controls in (True, False)
    }
    read |= {text.replace("\xa0", " ") for text in read}
    return tuple(sorted(read, key=lambda text: (-len(text), text)))


def _misread(text: str, encoding: str, keep_controls: bool) -> str:
    return "".join(_character(byte, encoding, keep_controls) for byte in text.encode())


def _character(byte: int, encoding: str, keep_controls: bool) -> str:
    character = bytes([byte]).decode(encoding, "ignore") or chr(byte)
    is_control = 0x7F <= ord(character) < 0xA0
    return "" if is_control and not keep_controls else character

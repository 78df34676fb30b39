"""Texts for blocks: without secrets, cut to a size, never inside a character.

A store takes blocks up to a limit; larger content is kept as an artifact, and the block says so.
"""

from __future__ import annotations

import msgspec

from callblocks.model.redaction import redact

__all__ = ("ROOM", "TEXT", "TRUNCATED", "cut", "fits", "fits_base64", "shown")

# The most bytes, as a store encodes them, of the text of one block; other fields need little.
ROOM = 12 * 2**20

# The most bytes shown of a result: such a text fits, however it is encoded.
TEXT = 1_000_000

# The mark where a text was cut.
TRUNCATED = "...[truncated]"

# A secret that begins this far before the cut is still recognized, though its end is missing.
_MARGIN = 512


def fits(text: str) -> bool:
    """Return whether a block can hold the text; in JSON a control character takes six bytes."""
    return len(text) * 6 <= ROOM or len(msgspec.json.encode(text)) <= ROOM


def fits_base64(size: int) -> bool:
    """Return whether a block can hold so many bytes as base64."""
    return (size + 2) // 3 * 4 <= ROOM


def cut(text: str, size: int) -> str:
    """Return the text, or its first `size` bytes as UTF-8 and a mark that there was more."""
    start = _start(text, size)
    return text if len(start) == len(text) else start + TRUNCATED


def shown(text: str, size: int = TEXT) -> str:
    """Return the text without secrets, cut like this; the rest is not scanned."""
    # Redacted with a margin beyond the cut, which is removed afterwards: a secret that the cut
    # would split is still recognized as a whole.
    window = text[: size + _MARGIN]
    safe = redact(window)
    if len(window) == len(text):
        return cut(safe, size)
    return _start(safe[:-_MARGIN], size) + TRUNCATED


def _start(text: str, size: int) -> str:
    if len(text) * 4 <= size:
        return text
    content = text[:size].encode(errors="replace")
    return text[:size] if len(content) <= size else content[:size].decode(errors="ignore")

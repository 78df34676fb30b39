"""How much room words take, and which way they run."""

from __future__ import annotations

import unicodedata

__all__ = ("room_of", "runs_left")


def room_of(text: str) -> int:
    """The room of a text in letters: those of East Asia take two, marks above others none."""
    return len(text) if text.isascii() else sum(map(_room, text))


def runs_left(text: str) -> bool:
    """Whether a text runs from right to left, by its first letter that has a direction."""
    if text.isascii():
        return False
    kinds = map(unicodedata.bidirectional, text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def _room(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")

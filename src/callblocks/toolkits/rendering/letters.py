"""Width and direction of text."""

from __future__ import annotations

import unicodedata

__all__ = ("room_of", "runs_left")


def room_of(text: str) -> int:
    """Return the width of a text in columns: East Asian letters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_room, text))


def runs_left(text: str) -> bool:
    """Tell if a text runs from right to left, by its first strong character."""
    if text.isascii():
        return False
    kinds = map(unicodedata.bidirectional, text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def _room(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")

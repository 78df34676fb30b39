"""The text that has arrived and that nobody has taken yet.

Two promises that everything above leans on:

1. Text is free to go as soon as no marker can begin in it.
2. The cost is linear in the text, whatever the pieces are: taking text moves a position,
   what is left is copied only when the next piece comes, and by then it is short.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from callblocks.parsing.markers import Markers

__all__ = ("SIGHT", "Scanner", "end_of")

# How many characters before a marker may say what it means.
SIGHT = 200


class Scanner:
    """`text[pos:]` waits; `base` is the offset of `text[0]` in the whole input.

    `fresh` says that `pos` is the start of a line although no newline stands before it in
    the text: at the start of the input, and after a line that was taken with its end. `tail` is
    the end of the input before `text[0]`, up to `SIGHT` characters of it; nothing is kept there
    unless `looks_back` says that somebody needs it.
    """

    __slots__ = ("base", "closed", "fresh", "looks_back", "pos", "tail", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.base = 0
        self.closed = False
        self.fresh = True
        self.looks_back = False
        self.tail = ""

    @property
    def offset(self) -> int:
        """How much of the whole input was taken."""
        return self.base + self.pos

    @property
    def empty(self) -> bool:
        return self.pos == len(self.text)

    @property
    def before(self) -> str:
        """What stands before the position: `SIGHT` characters, or all that there are."""
        pos = self.pos
        if not pos or not self.looks_back:
            return self.tail
        if pos >= SIGHT:
            return self.text[pos - SIGHT : pos]
        return (self.tail + self.text[:pos])[-SIGHT:]

    def feed(self, piece: str) -> None:
        if self.looks_back:
            self.tail = self.before
        self.base += self.pos
        self.text = self.text[self.pos :] + piece
        self.pos = 0

    def drain(self) -> str:
        """Hand over the text that waits; it goes on from the same offset."""
        if self.looks_back:
            self.tail = self.before
        pos = self.pos
        text = self.text[pos:]
        self.base += pos
        self.text, self.pos = "", 0
        return text

    def find(self, markers: Markers) -> tuple[int, re.Match[str] | None]:
        """Where the text that is free of markers ends, and the marker there, if it is certain."""
        hit = self._match_fresh(markers) if self.fresh else None
        if hit is None:
            pattern = markers.final if self.closed else markers.growing
            hit = pattern.search(self.text, self.pos)
        if hit is None:
            return len(self.text), None
        return hit.start(), hit if hit.lastindex else None

    def match(self, markers: Markers) -> tuple[str | None, bool]:
        """The marker that begins right here, if any, and whether that is certain."""
        hit = self._match_fresh(markers) if self.fresh else None
        if hit is None:
            pattern = markers.final if self.closed else markers.growing
            hit = pattern.match(self.text, self.pos)
        if hit is None:
            return None, self.closed or not self.empty
        return (hit[0], True) if hit.lastindex else (None, False)

    def take(self, end: int) -> str:
        """Take the text up to a position."""
        if end > self.pos:
            self.fresh = False
        text = self.text[self.pos : end]
        self.pos = end
        return text

    def rewind(self, start: int, taken: list[str], fresh: bool, before: str) -> None:
        """Give back what was taken since the offset `start`; `before` is what stands before it."""
        if start >= self.base:
            self.pos = start - self.base
        else:
            self.text = "".join(taken) + self.text[self.pos :]
            self.base, self.pos, self.tail = start, 0, before
        self.fresh = fresh

    def _match_fresh(self, markers: Markers) -> re.Match[str] | None:
        pattern = markers.fresh_final if self.closed else markers.fresh
        return pattern.match(self.text, self.pos) if pattern else None


def end_of(parts: Iterable[str]) -> str:
    """Return the last `SIGHT` characters of a text that is given in parts, the last one first."""
    end = ""
    for part in parts:
        end = part[-SIGHT:] + end
        if len(end) >= SIGHT:
            break
    return end[-SIGHT:]

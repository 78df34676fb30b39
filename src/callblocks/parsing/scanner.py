"""The scanner: a buffer of text that has arrived and is not consumed yet.

Guarantees that the engine relies on
    1. Text is released as soon as no marker can begin in it.
    2. The cost is linear in the text, whatever the pieces are. Consuming text moves `pos`; the rest
       of the buffer is copied only when the next piece arrives, and by then it is shorter than a
       marker, unless a reader looks ahead.
    3. `find` and `match` give an answer that more text cannot change, or say that it is uncertain.

Offsets and positions: `offset` counts from the start of the input, `pos` from the start of the
buffer, and `offset == base + pos`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from callblocks.parsing.markers import Markers

__all__ = ("SIGHT", "Scanner", "end_of")

# The length of the lookbehind: so many characters before an opener decide whether it is quoted.
SIGHT = 200


class Scanner:
    """A buffer: `text[pos:]` is pending; `base` is the offset of `text[0]` in the whole input.

    `fresh` says that `pos` is the start of a line although no newline stands before it in the
    pending text: at the start of the input, and behind a line that was consumed with its end. Line
    markers then match without their newline.

    `tail` is the text before `text[0]`, up to `SIGHT` characters. It is kept only if `looks_back`
    is set, since it costs a slice per piece.
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
        """The number of characters of the input that were consumed."""
        return self.base + self.pos

    @property
    def empty(self) -> bool:
        return self.pos == len(self.text)

    @property
    def before(self) -> str:
        """The lookbehind: the last `SIGHT` characters before `pos`, or all that there are."""
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
        """Empty the buffer, and return the pending text; the offset does not change."""
        if self.looks_back:
            self.tail = self.before
        pos = self.pos
        text = self.text[pos:]
        self.base += pos
        self.text, self.pos = "", 0
        return text

    def find(self, markers: Markers) -> tuple[int, re.Match[str] | None]:
        """Return the position where the free text ends, and the marker there if it is certain.

        Without a certain marker, the text from that position on may be the beginning of one.
        """
        # A line marker at a fresh position has no newline before it, so the usual patterns cannot
        # find it. It is tried first: it begins at `pos`, before anything that a search can find.
        hit = self._match_fresh(markers) if self.fresh else None
        if hit is None:
            pattern = markers.final if self.closed else markers.growing
            hit = pattern.search(self.text, self.pos)
        if hit is None:
            return len(self.text), None
        return hit.start(), hit if hit.lastindex else None

    def match(self, markers: Markers) -> tuple[str | None, bool]:
        """Return the marker at `pos`, or None, and whether more text cannot change that."""
        hit = self._match_fresh(markers) if self.fresh else None
        if hit is None:
            pattern = markers.final if self.closed else markers.growing
            hit = pattern.match(self.text, self.pos)
        if hit is None:
            return None, self.closed or not self.empty
        return (hit[0], True) if hit.lastindex else (None, False)

    def take(self, end: int) -> str:
        """Consume the text up to a position, and return it."""
        if end > self.pos:
            self.fresh = False
        text = self.text[self.pos : end]
        self.pos = end
        return text

    def rewind(self, start: int, taken: list[str], fresh: bool, before: str) -> None:
        """Return to the offset `start`; `taken` is the text that was consumed since.

        `fresh` and `before` are the values that the scanner had there.
        """
        # While the buffer still holds `start`, moving `pos` is enough. Otherwise pieces arrived in
        # between and the buffer was cut: it is built again from what the reader kept.
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
    """Return the last `SIGHT` characters of a text in parts; the last part comes first."""
    end = ""
    for part in parts:
        end = part[-SIGHT:] + end
        if len(end) >= SIGHT:
            break
    return end[-SIGHT:]

"""The last stretch of a text, with its line numbers: enough to point at what is spoken of.

Lines and columns count from one, in characters. Text that is forgotten is gone, but its lines keep
their numbers: a problem may be reported long after the line it is about.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

__all__ = ("Window",)

_LINE_END = re.compile("\n")


class Window:
    """`base` is the offset of the first character kept, `end` that after the last."""

    def __init__(self) -> None:
        self.base = 0
        self.end = 0
        self._parts: list[str] = []
        # The offsets at which all lines start, eight bytes a line.
        self._starts = array("Q", (0,))

    def add(self, piece: str) -> None:
        """Take more text."""
        self._parts.append(piece)
        self._starts.extend(self.end + found.end() for found in _LINE_END.finditer(piece))
        self.end += len(piece)

    def line(self, offset: int) -> int:
        """The number of the line that an offset stands in."""
        return self._at(offset) + 1

    def column(self, offset: int) -> int:
        """The column of an offset."""
        return offset - self._starts[self._at(offset)] + 1

    def line_end(self, offset: int) -> int | None:
        """Where the line of an offset ends, its line feed included; None if it goes on."""
        at = self._at(offset) + 1
        return self._starts[at] if at < len(self._starts) else None

    def text(self, start: int, end: int) -> str:
        """The characters of a span, as far as they are kept."""
        if len(self._parts) != 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0][max(0, start - self.base) : max(0, end - self.base)]

    def forget(self, offset: int) -> None:
        """Let go of the text before an offset. It costs what is kept: forget seldom and much."""
        if offset <= self.base:
            return
        self._parts, self.base = [self.text(offset, self.end)], offset

    def _at(self, offset: int) -> int:
        return max(0, bisect_right(self._starts, offset) - 1)

"""A text that is written on: what each stretch is, what is wrong with it, and notes below lines.

A sheet is drawn line by line from the top; what is drawn is forgotten.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile

from callblocks.model.calls import Span
from callblocks.views.rows import Bit, Kind, Row, wrap
from callblocks.views.source import GUTTER, Fault, SourceLine, draw_source
from callblocks.views.window import Window

__all__ = ("Sheet",)

# A line longer than this is drawn in parts, so that a text without line ends can pass.
_LONGEST = 4_000
_HANG: Row = (("plain", " " * GUTTER),)


class Sheet:
    """`window` is the text that is not drawn yet. Paint is put on in the order of the text."""

    def __init__(self, width: int) -> None:
        self.window = Window()
        self._width = width
        self._paint: deque[tuple[int, Kind]] = deque()
        self._faults: list[Fault] = []
        self._notes: list[tuple[int, Row]] = []

    def paint(self, span: Span, kind: Kind) -> None:
        """Say what a stretch is; it follows the one before."""
        if span[1] > span[0]:
            self._paint.append((span[1], kind))

    def repaint(self, start: int, kind: Kind) -> None:
        """Say anew what all from a place on is."""
        count = sum(1 for _ in takewhile(lambda end: end[0] > start, reversed(self._paint)))
        for at in range(len(self._paint) - count, len(self._paint)):
            self._paint[at] = (self._paint[at][0], kind)

    def fault(self, fault: Fault) -> None:
        """Say what is wrong at a place."""
        self._faults.append(fault)

    def note(self, offset: int, row: Row) -> None:
        """Put something below the line of a character."""
        self._notes.append((offset, row))

    def draw(self, upto: int, *, last: bool = False) -> list[Row]:
        """Draw the lines that end before an offset; the last time, also a line without an end."""
        self._faults.sort(key=lambda fault: fault.span[0])
        self._notes.sort(key=lambda note: note[0])
        rows: list[Row] = []
        start = self.window.base
        while (stop := self._line_end(start, upto, last)) is not None:
            rows += self._draw_line(start, stop)
            start = stop
        self.window.forget(start)
        return rows

    def _line_end(self, start: int, upto: int, last: bool) -> int | None:
        """Where the next line to draw ends, if it is time for it."""
        end = self.window.line_end(start)
        if start >= upto:
            return None
        if end is None or end > upto:
            end = upto if last or upto - start >= _LONGEST else None
        return end if end is None else min(end, start + _LONGEST)

    def _draw_line(self, start: int, stop: int) -> list[Row]:
        text = self.window.text(start, stop)
        faults = list(takewhile(lambda fault: fault.span[0] < stop, self._faults))
        notes = list(takewhile(lambda note: note[0] < stop, self._notes))
        del self._faults[: len(faults)], self._notes[: len(notes)]
        line = SourceLine(
            number=self.window.line(start) if self.window.column(start) == 1 else None,
            start=start,
            bits=self._bits(text, start),
            faults=faults,
        )
        rows = draw_source(line, self._width)
        for _, row in notes:
            rows += wrap((("mark", "╰ ".rjust(GUTTER)), *row), self._width, _HANG)
        return rows

    def _bits(self, text: str, start: int) -> Row:
        """A stretch in its kinds. What is drawn needs no paint any more."""
        bits: list[Bit] = []
        at, stop = start, start + len(text)
        while self._paint and at < stop:
            end, kind = self._paint[0]
            if end > at:
                bits.append((kind, text[at - start : min(end, stop) - start]))
            if end > stop:
                return tuple(bits)
            at = end
            self._paint.popleft()
        return (*bits, ("plain", text[at - start :])) if at < stop else tuple(bits)

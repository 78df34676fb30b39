"""A text that is written on: what each stretch is, what is wrong with it, and notes below lines.

A sheet is drawn line by line from the top; what is drawn is forgotten.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import takewhile

import msgspec

from callblocks.core.calls import Span
from callblocks.views.rows import Bit, Kind, Row, columns, plain, runs, visible, wrap

__all__ = (
    "GUTTER",
    "Sheet",
    "SourceLine",
    "TextFault",
    "Window",
    "draw_source",
)

# --- One line of a text with its number, and under it what is wrong with it ---
#
#       7 │ Done. 🛠️[/end]
#         │       ^^^^^^^^
#         │       ⚠ emoji-bracket.stray-end: no block is open here
#
# A line that is too wide goes on in the next row; carets stay under what they mean.

GUTTER = 8
"""The columns of a number and its bar."""
_IN_BLOCK = ("mark", "code", "error")


class TextFault(msgspec.Struct, frozen=True):
    """Something wrong in a span; a `grave` one is why there is no call."""

    span: Span
    code: str
    detail: str
    grave: bool


class SourceLine(msgspec.Struct, frozen=True):
    """A line with its end, or a part of a long one, which then has no number."""

    number: int | None
    start: int
    bits: Row
    faults: list[TextFault]


def draw_source(line: SourceLine, width: int) -> list[Row]:
    """Draw a line and its faults."""
    text, room = plain(line.bits), max(20, width - GUTTER)
    bare = text.removesuffix("\n").removesuffix("\r")
    bar: Bit = ("mark", "┃ ") if _in_block(line.bits, bool(bare)) else ("quiet", "│ ")
    number: Row = (("quiet", f"{line.number or '':>{GUTTER - 3}} "), bar)
    if not line.faults and bare.isprintable() and columns(bare) <= room:
        return [(*number, *((kind, part.rstrip("\r\n")) for kind, part in line.bits))]
    chars: list[Bit] = [(kind, visible(char)) for kind, part in line.bits for char in part]
    return _draw_rows(line, chars[: len(bare)], number, width)


def _draw_rows(line: SourceLine, chars: list[Bit], number: Row, width: int) -> list[Row]:
    """Draw a line in as many rows as it takes, each with the faults that begin in it."""
    gutter: Row = (("quiet", " " * (GUTTER - 2)), number[1])
    shown = [text for _, text in chars]
    rows: list[Row] = []
    start = 0
    for end in _breaks(shown, max(20, width - GUTTER)):
        rows.append((*(gutter if start else number), *runs(chars[start:end])))
        for place, faults in _in_row(line, start, end, len(shown)):
            rows += _draw_faults(faults, place, shown[start:end], gutter, width)
        start = end
    return rows


def _in_block(bits: Row, solid: bool) -> bool:
    """Return whether a part of a line, or a blank line, is inside a block."""
    return any(kind in _IN_BLOCK for kind, text in bits if not solid or text.strip("\r\n"))


def _in_row(
    line: SourceLine, start: int, end: int, length: int
) -> Iterator[tuple[Span, list[TextFault]]]:
    """The faults that begin in a row, together where they look the same."""
    here: dict[Span, list[TextFault]] = {}
    for fault in line.faults:
        at = max(fault.span[0] - line.start, 0)
        if start <= at and (at < end or end == length):
            stop = min(max(at, fault.span[1] - line.start), end)
            here.setdefault((at - start, stop - start), []).append(fault)
    yield from here.items()


def _breaks(shown: list[str], room: int) -> list[int]:
    """Return the end of each row of a line."""
    ends: list[int] = []
    start = 0
    while start < len(shown):
        row = "".join(shown[start : start + room + 1])
        fits = sum(len(text) for _, text in wrap((("plain", row),), room)[0])
        end = start + 1
        used = len(shown[start])
        while end < len(shown) and used + len(shown[end]) <= fits:
            used += len(shown[end])
            end += 1
        # The blank at which a row breaks ends that row rather than begin the next.
        start = end + (end < len(shown) and shown[end] == " ")
        ends.append(start)
    return ends or [0]


def _draw_faults(
    faults: list[TextFault], place: Span, row: list[str], gutter: Row, width: int
) -> list[Row]:
    """Carets under a place of a row, and below them what is wrong there."""
    before = columns("".join(row[: place[0]]))
    carets = "^" * max(1, columns("".join(row[place[0] : place[1]]).rstrip()))
    kind: Kind = "error" if any(fault.grave for fault in faults) else "warning"
    rows: list[Row] = [(*gutter, ("plain", " " * before), (kind, carets))]
    for fault in faults:
        rows += _draw_message(fault, before, gutter, width)
    return rows


def _draw_message(fault: TextFault, before: int, gutter: Row, width: int) -> list[Row]:
    kind: Kind = "error" if fault.grave else "warning"
    head, room = f"{'✗' if fault.grave else '⚠'} {fault.code}", width - GUTTER
    # A message far to the right would be squeezed: it moves left until it has room.
    wide = min(columns(head + fault.detail), room)
    indent: Bit = ("plain", " " * max(0, min(before, room - max(24, wide))))
    hang: Row = (*gutter, indent, ("plain", "  "))
    return wrap((*gutter, indent, (kind, head), ("plain", fault.detail)), width, hang)


# --- The last stretch of a text, with its line numbers: enough to point at what is spoken of ---
#
# Lines and columns count from one, in characters. Text that is forgotten is gone, but its lines
# keep their numbers: a problem may be reported long after the line it is about.

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
        """Return the end of an offset's line, with its line feed; None if it is unfinished."""
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


# --- A text that is written on: what each stretch is, what is wrong with it, and notes below lines
# ---

# A line longer than this is drawn in parts, so that a text without line ends can pass.
_LONGEST = 4_000
_HANG: Row = (("plain", " " * GUTTER),)


class Sheet:
    """`window` is the text that is not drawn yet. Paint is put on in the order of the text."""

    def __init__(self, width: int) -> None:
        self.window = Window()
        self._width = width
        self._paint: deque[tuple[int, Kind]] = deque()
        self._faults: list[TextFault] = []
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

    def fault(self, fault: TextFault) -> None:
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
        """Return the end of the next line to draw; None if it cannot be drawn yet."""
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

"""Events as a list: the line, what it is, and what it says.

      1  prose    I will look at both files.
      3  call     read_file  call_1  tool-fence
                  path  notes.md
         result   The first line
      9  problem  duplicate-id: 'call_1' was used before: renamed to 'call_1-2'

Prose and values show their first lines and count the rest.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

import msgspec

from callblocks.core.call_text import show_result
from callblocks.core.calls import Call, Result, Span
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    Problem,
    Reasoning,
    Text,
)
from callblocks.core.redaction import REDACTED, is_secret_key
from callblocks.views.rows import Bit, Kind, Row, columns, plain, runs, visible, visible_line, wrap

__all__ = (
    "GUTTER",
    "Listing",
    "Sheet",
    "SourceLine",
    "Tally",
    "TextFault",
    "Window",
    "draw_source",
)

# --- What a text held, counted: the last line under a listing ---


class Tally:
    """Counts events as they pass."""

    def __init__(self) -> None:
        self.calls = 0
        self.results = 0
        self.failures = 0
        self.problems = 0

    def count(self, events: Iterable[Event]) -> None:
        """Take more events."""
        for event in events:
            match event:
                case CallReady():
                    self.calls += 1
                case CallResult(result=result):
                    self.results += result.error is None
                    self.failures += result.error is not None
                case Malformed() | Problem():
                    self.problems += 1
                case _:
                    pass

    def row(self) -> Row:
        """Say it: `3 calls, 2 results, 1 problem`; what there is none of is left out."""
        counts: list[tuple[Kind, int, str]] = [
            ("quiet", self.calls, "call"),
            ("quiet", self.results, "result"),
            ("error", self.failures, "failure"),
            ("warning", self.problems, "problem"),
        ]
        row: list[Bit] = []
        for kind, count, what in counts:
            if count or what == "call":
                row.append(("quiet", ", " if row else ""))
                row.append((kind, f"{count:,} {what}{'' if count == 1 else 's'}"))
        return tuple(row)


# --- Events as a list: the line, what it is, and what it says ---

_PROSE_LINES, _VALUE_LINES, _LINE_LENGTH, _KEY_LENGTH = 3, 4, 400, 16
_LABELS: Mapping[str, Kind] = {
    "prose": "quiet",
    "thought": "quiet",
    "call": "name",
    "result": "quiet",
    "error": "error",
    "problem": "warning",
}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_INDENT = 16
_HANG: Row = (("plain", " " * _INDENT),)


class Listing:
    """Fed pieces and their events, answers with rows."""

    def __init__(self, width: int) -> None:
        self.tally = Tally()
        self._width = width
        self._window = Window()
        # The prose that is being said: of what kind, its unfinished line, the line's number,
        # and how many lines there were.
        self._saying = ""
        self._line = ""
        self._number = 1
        self._lines = 0
        self._notes: list[Row] = []
        self._block_line = 1

    def feed(self, piece: str, events: Sequence[Event]) -> list[Row]:
        """Take text and what it settled."""
        self._window.add(piece)
        self.tally.count(events)
        rows: list[Row] = []
        for event in events:
            match event:
                case Text(text=text):
                    rows += self._say("prose", text, event.span[0])
                case Reasoning(text=text):
                    rows += self._say("thought", text, event.span[0])
                case CallReady(call=call):
                    rows += [*self._hush(), *self._call(call)]
                case CallResult(result=result):
                    rows += [*self._hush(), *self._result(result)]
                case Malformed():
                    rows += [*self._hush(), *self._problem(event)]
                case Problem():
                    rows += self._note(event)
                case CallStarted(span=span):
                    rows += self._hush()
                    self._block_line = self._first_line(span)
                case CallInput():
                    pass
        if events:
            self._window.forget(min(self._window.end, events[-1].span[1]))
        return rows

    def close(self) -> list[Row]:
        """End the last prose, and count."""
        return [*self._hush(), (), *wrap((("plain", "  "), *self.tally.row()), self._width)]

    def _say(self, label: str, text: str, start: int) -> list[Row]:
        """Give the first lines of prose as soon as each is over."""
        rows = self._hush() if label != self._saying else []
        self._saying = label
        for line in _LINE.findall(text):
            if not self._line:
                self._number = self._window.line(start)
            start += len(line)
            self._line = (self._line + line)[: _LINE_LENGTH + 1]
            if line.endswith("\n"):
                rows += self._end_line()
        return rows

    def _end_line(self) -> list[Row]:
        """Show the line that is over, unless enough were shown, and what was noted of it."""
        (line, self._line), (notes, self._notes) = (self._line, ""), (self._notes, [])
        self._lines += bool(line.strip())
        if not line.strip() or self._lines > _PROSE_LINES:
            return notes
        label = self._saying if self._lines == 1 else ""
        kind: Kind = "reasoning" if self._saying == "thought" else "plain"
        text: Bit = (kind, _shorten(visible(line).rstrip()))
        return [*self._rows(self._number, label, text), *notes]

    def _hush(self) -> list[Row]:
        """Prose is over: say how much of it was not shown."""
        rows = self._end_line()
        more, self._lines, self._saying = self._lines - _PROSE_LINES, 0, ""
        return [*rows, *self._rows(None, "", ("quiet", _more(more)))] if more > 0 else rows

    def _note(self, event: Problem) -> list[Row]:
        """A problem of a line of prose waits until that is over; one of earlier lines ends it."""
        rows = self._problem(event)
        if self._window.line(event.place[1]) < self._number:
            return [*self._hush(), *rows]
        if not self._line:
            return rows
        self._notes += rows
        return []

    def _call(self, call: Call) -> list[Row]:
        facts = [call.id, call.dialect, *([] if call.ended else ["not ended"])]
        quiet: Bit = ("quiet", "".join(f"  {visible_line(fact)}" for fact in facts))
        rows = self._rows(self._block_line, "call", ("strong", visible_line(call.name)), quiet)
        keys = {key: _shorten(visible_line(key), _KEY_LENGTH) for key in call.input}
        pad = max(map(columns, keys.values()), default=0)
        for key, value in call.input.items():
            shown = REDACTED if is_secret_key(key) else show_result(value)[0]
            rows += self._values(("key", keys[key] + " " * (pad - columns(keys[key]))), shown)
        return rows

    def _first_line(self, span: Span) -> int:
        """The line of what a span says: the line feed before a block may belong to it."""
        text = self._window.text(*span)
        return self._window.line(span[0] + len(text) - len(text.lstrip("\r\n")))

    def _values(self, key: Bit, shown: str) -> list[Row]:
        pad: Bit = ("plain", " " * columns(key[1]))
        return [
            row
            for at, bit in enumerate(_first_lines(shown, '""'))
            for row in self._rows(None, "", pad if at else key, ("plain", "  "), bit)
        ]

    def _result(self, result: Result) -> list[Row]:
        label = "result" if result.error is None else "error"
        shown = show_result(result.output if result.error is None else result.error)[0]
        kind: Kind = "plain" if result.error is None else "error"
        return [
            row
            for at, bit in enumerate(_first_lines(shown, "✓", kind))
            for row in self._rows(None, "" if at else label, bit)
        ]

    def _problem(self, event: Malformed | Problem) -> list[Row]:
        place = event.place if isinstance(event, Problem) else event.span
        # A block that was open began where it was said to: the window may have forgotten its text.
        in_block = event.index is not None
        began = in_block and (isinstance(event, Malformed) or place[0] < self._window.base)
        number = self._block_line if began else self._first_line(place)
        detail = f": {visible_line(event.detail)}" if event.detail else ""
        return self._rows(number, "problem", ("warning", event.code), ("plain", detail))

    def _rows(self, number: int | None, label: str, *bits: Bit) -> list[Row]:
        gutter: Bit = ("quiet", f"{number or '':>5}  ")
        head: Bit = (_LABELS.get(label, "quiet"), f"{label:<{_INDENT - 7}}")
        return wrap((gutter, head, *bits), self._width, _HANG)


def _first_lines(text: str, empty: str, kind: Kind = "plain") -> list[Bit]:
    """The first lines of a value, and how many more there are."""
    lines = visible(text).strip("\n").split("\n")
    if lines == [""]:
        return [("quiet", empty)]
    bits: list[Bit] = [(kind, _shorten(line)) for line in lines[:_VALUE_LINES]]
    more = len(lines) - _VALUE_LINES
    return [*bits, ("quiet", _more(more))] if more > 0 else bits


def _shorten(text: str, length: int = _LINE_LENGTH) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _more(count: int) -> str:
    return f"… {count:,} more line{'' if count == 1 else 's'}"


# --- A text that is written on ---
#
# A text that is written on: what each stretch is, what is wrong with it, and notes below lines.
#
# A sheet is drawn line by line from the top; what is drawn is forgotten.


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
_NOTE_HANG: Row = (("plain", " " * GUTTER),)


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
            rows += wrap((("mark", "╰ ".rjust(GUTTER)), *row), self._width, _NOTE_HANG)
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

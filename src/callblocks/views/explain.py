"""The text itself, with what was read in it and what is wrong with it drawn beside.

      3 ┃ ```tool read_file call_1
      4 ┃ input: {path: notes.md}
      5 ┃ ```
        ╰ call read_file, id call_1: tool-fence, opened by ```tool read_file call_1 at 3:1,
          ends at 5:3, span 25–74
      6 │
      7 │ Done. 🛠️[/end]
        │       ^^^^^^^^
        │       ⚠ emoji-bracket.stray-end: no block is open here

A line is drawn when nothing more can be said of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callblocks.model.calls import Call, Span
from callblocks.model.events import (
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
from callblocks.views.rows import Bit, Kind, Row, wrap
from callblocks.views.safe import visible_line
from callblocks.views.source import GUTTER, Fault, SourceLine, draw_source
from callblocks.views.tally import Tally
from callblocks.views.window import Window

__all__ = ("Explained",)

_QUOTE = 40
# A line longer than this is drawn in parts, so that a text without line ends can pass.
_LONGEST = 4_000


class _Note(msgspec.Struct):
    """Rows that stand below the line of an offset."""

    offset: int
    bits: Row


class Explained:
    """Fed pieces and their events, answers with rows."""

    def __init__(self, width: int) -> None:
        self.tally = Tally()
        self._width = width
        self._window = Window()
        self._paint: list[tuple[int, Kind]] = []
        self._faults: list[Fault] = []
        self._notes: list[_Note] = []
        self._opening: Span | None = None
        self._said = 0

    def feed(self, piece: str, events: Sequence[Event]) -> list[Row]:
        """Take text and what it settled."""
        self._window.add(piece)
        self.tally.count(events)
        for event in events:
            self._take(event)
            self._said = max(self._said, event.span[1])
        return self._draw(self._said if self._opening is None else self._opening[0])

    def close(self) -> list[Row]:
        """Draw what is left, and count."""
        rows = self._draw(self._window.end, last=True)
        return [*rows, (), *wrap((("plain", "  "), *self.tally.row()), self._width)]

    def _take(self, event: Event) -> None:
        match event:
            case Text(text=text, span=span):
                self._mark(span, "plain" if text else "mark")
            case Reasoning(span=span):
                self._mark(span, "reasoning")
            case CallStarted(span=span):
                self._mark_block(span, "mark")
                self._opening = span
            case CallInput(span=span):
                self._mark(span, "code")
            case CallReady(call=call, span=span):
                self._mark_end(span)
                self._explain(call)
            case CallResult(span=span, id=id_, result=result):
                self._mark(span, "code")
                said = "result" if result.error is None else "error"
                self._note(span[1], ("strong", f"{said} of "), ("plain", visible_line(id_)))
            case Malformed():
                self._break(event)
            case Problem(place=place):
                self._fault(place, event)

    def _mark(self, span: Span, kind: Kind) -> None:
        if span[1] > span[0]:
            self._paint.append((span[1], kind))

    def _mark_block(self, span: Span, kind: Kind) -> None:
        """The line feed before a block belongs to it, and looks like what is before it."""
        start = self._solid(span)
        self._mark((span[0], start), "plain")
        self._mark((start, span[1]), kind)

    def _mark_end(self, span: Span) -> None:
        """What ends a block stands on its last line; what is before it was shown to people."""
        text = self._window.text(*span)
        cut = span[0] + text.rstrip().rfind("\n") + 1
        self._mark((span[0], cut), "code")
        self._mark((cut, span[1]), "mark")

    def _explain(self, call: Call) -> None:
        """Say which dialect it was, which marker opened it, and from where to where."""
        opening, self._opening = self._opening or call.span, None
        start = self._solid(opening)
        marker = self._window.text(start, opening[1]).partition("\n")[0].strip()
        last = start + len(self._window.text(start, call.span[1]).rstrip())
        place = f" at {self._place(start)}, ends at {self._place(max(start, last - 1))}"
        ended = "" if call.ended else ", not ended"
        self._note(
            last,
            ("quiet", "call "),
            ("strong", visible_line(call.name)),
            ("quiet", f", id {visible_line(call.id)}: "),
            ("plain", call.dialect),
            ("quiet", ", opened by "),
            ("mark", visible_line(marker[:_QUOTE] + "…" * (len(marker) > _QUOTE))),
            ("quiet", f"{place}{ended}, span {call.span[0]}–{call.span[1]}"),
        )

    def _break(self, event: Malformed) -> None:
        """All of the block is wrong, also what had looked well."""
        opening = self._opening if event.index is not None else None
        start = self._solid(opening or event.span)
        self._paint = [(end, "error" if end > start else kind) for end, kind in self._paint]
        self._mark_block(event.span, "error")
        self._fault((start, event.span[1]), event)
        self._opening = None

    def _fault(self, place: Span, event: Malformed | Problem) -> None:
        start = self._solid(place)
        grave = isinstance(event, Malformed)
        detail = f": {visible_line(event.detail)}" if event.detail else ""
        self._faults.append(Fault((start, max(start, place[1])), event.code, detail, grave))

    def _note(self, offset: int, *bits: Bit) -> None:
        self._notes.append(_Note(max(offset - 1, 0), bits))

    def _solid(self, span: Span) -> int:
        """Where a span says something: the line feed before a block may belong to it."""
        text = self._window.text(*span)
        return span[0] + len(text) - len(text.lstrip("\r\n"))

    def _place(self, offset: int) -> str:
        return f"{self._window.line(offset)}:{self._window.column(offset)}"

    def _draw(self, upto: int, *, last: bool = False) -> list[Row]:
        """Draw the lines that end before an offset, and the rest if it is the last time."""
        window, rows, start = self._window, list[Row](), self._window.base
        while start < upto:
            end = window.line_end(start)
            whole = end is not None and end <= upto
            if not whole and not last and upto - start < _LONGEST:
                break
            stop = min(upto if end is None else end, upto, start + _LONGEST)
            rows += self._draw_line(start, stop)
            start = stop
        window.forget(start)
        return rows

    def _draw_line(self, start: int, stop: int) -> list[Row]:
        text = self._window.text(start, stop)
        first = self._window.column(start) == 1
        line = SourceLine(
            number=self._window.line(start) if first else None,
            start=start,
            text=text.removesuffix("\n").removesuffix("\r"),
            kinds=self._kinds(start, stop),
            faults=[fault for fault in self._faults if fault.span[0] < stop],
        )
        self._faults = [fault for fault in self._faults if fault.span[0] >= stop]
        rows = draw_source(line, self._width)
        here = [note for note in self._notes if note.offset < stop]
        self._notes = [note for note in self._notes if note.offset >= stop]
        hang: Row = (("plain", " " * GUTTER),)
        for note in here:
            rows += wrap((("mark", "╰ ".rjust(GUTTER)), *note.bits), self._width, hang)
        return rows

    def _kinds(self, start: int, stop: int) -> list[Kind]:
        """What each character of a stretch is; what is drawn needs no paint any more."""
        kinds: list[Kind] = []
        used = 0
        for end, kind in self._paint:
            kinds.extend(kind for _ in range(min(end, stop) - start - len(kinds)))
            if end > stop:
                break
            used += 1
        del self._paint[:used]
        kinds.extend("plain" for _ in range(stop - start - len(kinds)))
        return kinds

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
from collections.abc import Iterable, Mapping, Sequence

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
from callblocks.views.rows import Bit, Kind, Row, columns, visible, visible_line, wrap
from callblocks.views.text.annotated import Window

__all__ = (
    "Listing",
    "Tally",
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

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

A line is drawn when nothing more can be said of it. Where tools are declared, a parser may name a
call in prose when the text is over (`unread-call`), so all lines wait until then. With what the
parser tried, a marker that several dialects know has a note too: who refused it, and why. A text
that begins with bare JSON and has no call says that it was taken for an answer, and with `advice`
what would make it a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

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
from callblocks.parsing.engine.parse_state import Attempt
from callblocks.views.rows import Bit, Kind, Row, visible_line, wrap
from callblocks.views.text.listing import Sheet, Tally, TextFault

__all__ = (
    "SHOWN",
    "AttemptLog",
    "Explained",
    "bare_form",
)

# --- Bare beginnings of a text that may be a call or an answer: JSON, or calls as code ---
#
#     {"name": "get_weather", "parameters": {}}     a JSON object
#     [get_weather(city="Paris")]                   a list of calls
#
# No marker tells which it is: who guesses the dialect must know the tool or the model.

SHOWN = 80
"""Characters of a text that are enough to tell."""

_FORMS = {
    "a JSON object": re.compile(r"\s*\{\s*[\"'}]"),
    "a list of calls": re.compile(r"\s*\[\s*[A-Za-z_][\w.-]*\("),
    "a JSON list": re.compile(r"\s*\[\s*[\[{\"'\]0-9]"),
}


def bare_form(start: str) -> str:
    """Return the name of a text's bare form, for people; "" if it begins with none."""
    return next((form for form, pattern in _FORMS.items() if pattern.match(start)), "")


# --- Attempts at a marker: the dialects that refused it, with reasons, and the one that took it ---
#
#     <tool_call> at 3:1: hermes expected `{` and found “<function=now>⏎”; qwen3_coder took it
#
# Only markers that several know, or that nobody took, are worth a line; and none of one or two
# characters, for a bracket in prose opens nothing.

_SHORTEST = 3


class AttemptLog:
    """Reads a list that grows: what a parser keeps of its attempts."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._trials = attempts
        self._told = 0

    def tell(self, said: int) -> Iterator[tuple[int, str, Row]]:
        """Of what is decided up to an offset: where the marker stands, itself, and who did what."""
        for offset, marker, asked in self.groups(said):
            yield offset, marker, tuple(_row(asked))

    def groups(self, said: int) -> Iterator[tuple[int, str, list[Attempt]]]:
        """Of what is decided up to an offset: a marker, where it stands, and who was asked."""
        ready = self._told
        while ready < len(self._trials) and self._trials[ready].offset < said:
            ready += 1
        attempts, self._told = self._trials[self._told : ready], ready
        for offset, group in groupby(attempts, key=lambda attempt: attempt.offset):
            asked = list(group)
            marker = max((attempt.marker.strip() for attempt in asked), key=len)
            if len(marker) >= _SHORTEST and any(one.refusal for one in asked):
                yield offset, marker, asked


def _row(asked: list[Attempt]) -> Iterator[Bit]:
    for number, attempt in enumerate(_once_each(asked)):
        yield "quiet", "; " if number else ""
        yield "plain", attempt.owner
        refusal = attempt.refusal
        if refusal is None:
            yield "quiet", " took it"
            continue
        yield "quiet", f" expected {visible_line(refusal.expected)} and found "
        if refusal.found:
            found = refusal.found.replace("\r", "").replace("\n", "⏎")
            yield "mark", f"“{visible_line(found)}”"
        else:
            yield "quiet", "the end of the text"
    if asked[-1].refusal:
        yield "quiet", ". It is text"


def _once_each(asked: list[Attempt]) -> Iterator[Attempt]:
    """Leave out that a dialect refused again: the first reason is about its own grammar."""
    refused: set[str] = set()
    for attempt in asked:
        if attempt.refusal is None or attempt.owner not in refused:
            yield attempt
        if attempt.refusal:
            refused.add(attempt.owner)


# --- The text itself, with what was read in it and what is wrong with it drawn beside ---

_QUOTE = 40


class Explained:
    """Fed pieces and their events, answers with rows."""

    def __init__(
        self,
        width: int,
        attempts: Sequence[Attempt] = (),
        preferred: str = "",
        advice: str = "",
        *,
        has_tools: bool = False,
    ) -> None:
        self.tally = Tally()
        self._asked = AttemptLog(attempts)
        self._preferred = preferred
        self._advice = advice
        self._has_tools = has_tools
        self._start = ""
        self._width = width
        self._sheet = Sheet(width)
        self._opening: Span | None = None
        self._said = 0

    def feed(self, piece: str, events: Sequence[Event]) -> list[Row]:
        """Take text and what it settled."""
        self._sheet.window.add(piece)
        self._start = (self._start + piece[:SHOWN]).lstrip()[:SHOWN]
        self.tally.count(events)
        for event in events:
            self._take(event)
            self._said = event.span[1]
        for offset, marker, who in self._asked.tell(self._said):
            start = self._solid((offset, self._said))
            head: Row = (("mark", visible_line(marker)), ("quiet", f" at {self._place(start)}: "))
            self._sheet.note(start, (*head, *who))
        if self._has_tools:
            return []
        # A block that is open may turn out to be none, so all of it waits.
        return self._sheet.draw(self._said if self._opening is None else self._opening[0])

    def close(self) -> list[Row]:
        """Draw what is left, and count."""
        rows = self._sheet.draw(self._sheet.window.end, last=True)
        said = "".join(f"; {one}" for one in (self._preferred, self._bare()) if one)
        last: Row = (("plain", "  "), *self.tally.row(), ("quiet", said))
        return [*rows, (), *wrap(last, self._width, hang=(("plain", "  "),))]

    def _bare(self) -> str:
        """Return the note on a text without calls that begins like a bare call, or ""."""
        form = bare_form(self._start) if self._advice and not self.tally.calls else ""
        return f"it begins with {form}, taken for an answer: {self._advice}" if form else ""

    def _take(self, event: Event) -> None:
        match event:
            case Text(text=text, span=span):
                self._sheet.paint(span, "plain" if text else "mark")
            case Reasoning(span=span):
                self._sheet.paint(span, "reasoning")
            case CallStarted(span=span):
                self._paint_block(span, "mark")
                self._opening = span
            case CallInput(span=span):
                self._sheet.paint(span, "code")
            case CallReady(call=call, span=span):
                self._paint_end(span)
                self._explain(call)
            case CallResult(result=result, span=span):
                self._sheet.paint(span, "code")
                self._explain_result(result, span)
            case Malformed():
                self._break(event)
            case Problem(place=place):
                self._fault(event, place)

    def _paint_block(self, span: Span, kind: Kind) -> None:
        """The line feed before a block belongs to it, but looks like what is before it."""
        start = self._solid(span)
        self._sheet.paint((span[0], start), "plain")
        self._sheet.paint((start, span[1]), kind)

    def _paint_end(self, span: Span) -> None:
        """Paint the last line of a block as its marker; a result may precede it."""
        text = self._sheet.window.text(*span)
        cut = span[0] + text.rstrip().rfind("\n") + 1
        self._sheet.paint((span[0], cut), "code")
        self._sheet.paint((cut, span[1]), "mark")

    def _explain(self, call: Call) -> None:
        """Say which dialect it was, which marker opened it, and from where to where."""
        opening, self._opening = self._opening or call.span, None
        start, window = self._solid(opening), self._sheet.window
        marker = window.text(start, opening[1]).partition("\n")[0].strip()
        if marker == ",":  # a further element of an array: its own bracket opens it
            start, marker = opening[1], window.text(opening[1], opening[1] + 1)
        last = start + max(0, len(window.text(start, call.span[1]).rstrip()) - 1)
        note: Row = (
            ("quiet", "call "),
            ("strong", visible_line(call.name)),
            ("quiet", f", id {visible_line(call.id)}: "),
            ("plain", call.dialect),
            ("quiet", ", opened by "),
            ("mark", visible_line(marker[:_QUOTE] + "…" * (len(marker) > _QUOTE))),
            ("quiet", f" at {self._place(start)}, "),
            ("quiet", f"ends at {self._place(last)}, " if call.ended else "not ended, "),
            ("quiet", f"span {call.span[0]}–{call.span[1]}"),
        )
        self._sheet.note(last, note)

    def _explain_result(self, result: Result, span: Span) -> None:
        said = "result of " if result.error is None else "error of "
        last = max(span[0], span[1] - 1) if span[1] > span[0] else max(0, span[0] - 1)
        self._sheet.note(last, (("quiet", said), ("plain", visible_line(result.id))))

    def _break(self, event: Malformed) -> None:
        """All of the block is wrong, also what had looked well."""
        opening = self._opening if event.index is not None else None
        start = self._solid(opening or event.span)
        self._sheet.repaint(start, "error")
        self._paint_block(event.span, "error")
        self._fault(event, (start, event.span[1]))
        self._opening = None

    def _fault(self, event: Malformed | Problem, place: Span) -> None:
        start = self._solid(place)
        detail = f": {visible_line(event.detail)}" if event.detail else ""
        grave = isinstance(event, Malformed)
        self._sheet.fault(TextFault((start, max(start, place[1])), event.code, detail, grave))

    def _solid(self, span: Span) -> int:
        """Return the offset of a span behind its leading line feeds, which may belong to it."""
        text = self._sheet.window.text(*span)
        return span[0] + len(text) - len(text.lstrip("\r\n"))

    def _place(self, offset: int) -> str:
        window = self._sheet.window
        return f"{window.line(offset)}:{window.column(offset)}"

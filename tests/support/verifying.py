"""A verifier of events: whatever the text was, this holds of what a parser said about it.

- The spans tile the text: each event starts where the last one ended.
- A call starts, says its input, and ends once: ready or malformed. Nothing but problems
  stands between. Indexes count from 0, ids are unique, a result names a call that was ready.
- What an event quotes is what stands in its span, except for markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from callblocks.dialects.scissors_cat import CUTS
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
from callblocks.model.shown import unescape_prose

__all__ = ("verify",)


def verify(text: str, events: Sequence[Event], reasoning: Sequence[tuple[str, str]] = ()) -> None:
    """Fail at the first event that cannot stand where it does; `events` are not yet joined."""
    verifier = _Verifier(text, {marker for pair in reasoning for marker in pair})
    for event in events:
        verifier.take(event)
    verifier.end()


class _Verifier:
    def __init__(self, text: str, thinking: set[str]) -> None:
        self.text = text
        self.thinking = thinking
        self.at = 0
        self.count = 0
        self.open: CallStarted | None = None
        self.ready: dict[int, str] = {}
        self.ids: set[str] = set()

    def take(self, event: Event) -> None:
        start, end = event.span
        assert start == self.at, f"{event} does not start at {self.at}"
        assert start <= end <= len(self.text), f"{event} is not inside the text"
        self.at = end
        written = self.text[start:end]
        match event:
            case Text():
                self.text_event(event, written)
            case Reasoning():
                marker = not event.text and written in self.thinking
                assert self.open is None and (event.text == written or marker), event
            case CallStarted():
                self.started(event)
            case CallInput():
                assert self.open is not None and event.index == self.open.index, event
                markup = not event.text and written in ("\n", "\r\n")
                assert event.text == written or markup, event
            case CallReady():
                self.call_ready(event)
            case CallResult():
                assert self.open is None and self.ready.get(event.index) == event.id, event
                assert event.result.id == event.id, event
            case Malformed():
                self.malformed(event)
            case Problem():
                self.problem(event)

    def end(self) -> None:
        assert self.at == len(self.text), f"nothing owns the text from {self.at} on"
        assert self.open is None, f"{self.open} never ended"

    def text_event(self, event: Text, written: str) -> None:
        assert self.open is None, f"{event} stands inside {self.open}"
        markup = not event.text and (_BLANK_LINE.fullmatch(written) or _ends_with_cut(written))
        shown = event.text == unescape_prose(written)
        assert event.text == written or markup or shown, f"{event} for {written!r}"

    def started(self, event: CallStarted) -> None:
        assert self.open is None, f"{event} stands inside {self.open}"
        assert event.index == self.count, f"{event} is number {self.count}"
        self.open, self.count = event, self.count + 1

    def call_ready(self, event: CallReady) -> None:
        started, call = self.open, event.call
        assert started is not None and started.index == event.index, event
        assert started.id in (None, call.id) and started.name == call.name, (started, event)
        assert call.id.strip() and call.id not in self.ids, f"{call.id!r} is not unique"
        assert call.span == (started.span[0], event.span[1]), event
        self.ready[event.index] = call.id
        self.ids.add(call.id)
        self.open = None

    def malformed(self, event: Malformed) -> None:
        start = event.span[0]
        if event.index is None:
            assert self.open is None, f"{event} stands inside {self.open}"
        else:
            assert self.open is not None and self.open.index == event.index, event
            start, self.open = self.open.span[0], None
        assert event.code and event.text in self.text[start : event.span[1]], event

    def problem(self, event: Problem) -> None:
        start, end = event.place
        assert event.code and event.span[0] == event.span[1], event
        assert 0 <= start <= end <= len(self.text), f"the place of {event} is outside the text"
        assert event.index is None or event.index < self.count, event


_BLANK_LINE = re.compile("(\r?\n){1,2}")


def _ends_with_cut(written: str) -> bool:
    return written.rstrip("\r\n").endswith(CUTS)

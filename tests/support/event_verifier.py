"""A verifier of a parser's events: spans tile the text, calls start and end once.

- The spans tile the text: each event starts where the last one ended.
- A call starts, says its input, and ends once: ready or malformed. Nothing but problems
  stands between. Indexes count from 0, ids are unique, a result names a call that was ready.
- What an event quotes is what stands in its span, except for markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from callblocks import dialects
from callblocks.core.call_text import unescape_prose
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
from callblocks.dialects.functionary_v32 import ALL
from callblocks.dialects.scissors_cat import CUTS
from callblocks.parsing.engine.markers import Markers
from callblocks.parsing.loop import Setting

__all__ = ("verify",)


def verify(text: str, events: Sequence[Event], reasoning: Sequence[tuple[str, str]] = ()) -> None:
    """Fail at the first event that cannot stand where it does; `events` are not yet joined."""
    verifier = _Verifier(text, {marker for pair in reasoning for marker in pair} | _thoughts())
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
        _hold(start == self.at, "it does not start where the last one ended", event)
        _hold(start <= end <= len(self.text), "its span is not in the text", event)
        self.at = end
        written = self.text[start:end]
        match event:
            case Text():
                self.prose(event, written)
            case Reasoning():
                marker = not event.text and (written in self.thinking or _TAG.search(written))
                _hold(event.text == written or bool(marker), "it does not quote its span", event)
                _hold(self.open is None, "a call is open", event)
            case CallStarted():
                self.started(event)
            case CallInput():
                # Inside a call, markup stands between the name and the input.
                _hold(event.text in (written, ""), "it does not quote its span", event)
                self.opened(event)
            case CallReady():
                self.call_ready(event)
            case CallResult():
                _hold(self.ready.get(event.index) == event.id, "no such call is ready", event)
                _hold(event.result.id == event.id, "it has two ids", event)
                _hold(self.open is None, "a call is open", event)
            case Malformed():
                self.malformed(event)
            case Problem():
                self.problem(event)

    def end(self) -> None:
        _hold(self.at == len(self.text), "nothing owns the text from here on", self.at)
        _hold(self.open is None, "it never ended", self.open)

    def opened(self, event: CallInput | CallReady | Malformed) -> CallStarted:
        """The open call, which must be the one that the event is about."""
        if self.open is None or self.open.index != event.index:
            raise AssertionError(f"it is not of the open call {self.open}", event)
        return self.open

    def prose(self, event: Text, written: str) -> None:
        _hold(self.open is None, "a call is open", event)
        markup = not event.text and (
            _BLANK_LINE.fullmatch(written)
            or _ends_with_cut(written)
            or _TAG.search(written)
            or _is_marker(written)
        )
        if event.text != written and not markup:
            _hold(event.text == unescape_prose(written), "it does not quote its span", event)

    def started(self, event: CallStarted) -> None:
        _hold(self.open is None, "a call is open", event)
        _hold(event.index == self.count, "its index is not the next", event)
        self.open, self.count = event, self.count + 1

    def call_ready(self, event: CallReady) -> None:
        started, call = self.opened(event), event.call
        _hold(started.id in (None, call.id), "its id has changed", event)
        _hold(started.name == call.name, "its name has changed", event)
        _hold(bool(call.id.strip()) and call.id not in self.ids, "its id is not unique", event)
        _hold(call.span == (started.span[0], event.span[1]), "its span is another", event)
        self.ready[event.index] = call.id
        self.ids.add(call.id)
        self.open = None

    def malformed(self, event: Malformed) -> None:
        start = event.span[0]
        if event.index is None:
            _hold(self.open is None, "a call is open", event)
        else:
            start, self.open = self.opened(event).span[0], None
        _hold(event.text in self.text[start : event.span[1]], "it does not quote its span", event)
        _hold(bool(event.code), "it has no code", event)

    def problem(self, event: Problem) -> None:
        start, end = event.place
        _hold(0 <= start <= end <= len(self.text), "its place is not in the text", event)
        _hold(event.span[0] == event.span[1], "it owns text", event)
        _hold(event.index is None or event.index < self.count, "no such call", event)
        _hold(bool(event.code), "it has no code", event)


def _hold(claim: bool, fault: str, about: object) -> None:
    if not claim:
        raise AssertionError(fault, about)


_TAG = re.compile("<[^<>]+>")
_BLANK_LINE = re.compile("(\r?\n){1,2}")


def _ends_with_cut(written: str) -> bool:
    return written.rstrip("\r\n").endswith(CUTS)


@cache
def _markers() -> re.Pattern[str]:
    openers = (opener for dialect in dialects.values() for opener in dialect.openers(Setting()))
    tags = (one for one in openers if isinstance(one, str) or one.atoms[0] == "<")
    closers = (closer for dialect in dialects.values() for closer in dialect.closers)
    return Markers(*tags, *closers, ALL.removeprefix(">>>")).final


@cache
def _thoughts() -> frozenset[str]:
    """The markers around what models think that some dialect knows."""
    pairs = (pair for dialect in dialects.values() for pair in dialect.reasoning)
    return frozenset(marker for pair in pairs for marker in pair)


def _is_marker(written: str) -> bool:
    """Whether it begins with a marker that some dialect knows, blanks aside."""
    return _markers().match(written.lstrip()) is not None

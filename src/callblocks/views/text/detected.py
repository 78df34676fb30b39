"""The dialect that `auto` detected in a text, and the evidence, as a sentence for people.

auto found emoji-bracket: 3 calls, the first on line 3 with `🛠️[create-file greet.py utf-8]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from callblocks.core.events import (
    CallInput,
    CallReady,
    Event,
    Malformed,
    Problem,
    Reasoning,
    Text,
    join,
)
from callblocks.dialects import dialects
from callblocks.parser import Parser

__all__ = (
    "Arrival",
    "Guess",
    "arrivals",
    "guess",
    "step_of",
)

_SHOWN = 40
"""Characters of the line that opened the first call."""


class Guess(NamedTuple):
    """The dialect that most of the calls are of, "" where there is none; and why."""

    dialect: str
    why: str


def guess(text: str, events: Iterable[Event]) -> Guess:
    """Return the dialect that `auto` detected in a text, and the evidence."""
    known = list(events)
    calls = [event.call for event in known if isinstance(event, CallReady)]
    counts = Counter(call.dialect for call in calls)
    if not counts:
        return _without_calls(known)
    (name, count), *others = counts.most_common()
    first = next(call for call in calls if call.dialect == name)
    opening = text[first.span[0] : first.span[1]].lstrip().partition("\n")[0]
    line = text.count("\n", 0, first.span[0] + 1) + 1
    also = "".join(f"; also {other}, {_calls(number)}" for other, number in others)
    return Guess(name, f"{_calls(count)}, the first on line {line} with {_short(opening)}{also}.")


def _without_calls(events: list[Event]) -> Guess:
    codes = [event.code for event in events if isinstance(event, Malformed | Problem)]
    owners = [code.partition(".")[0] for code in codes]
    name = next((owner for owner in owners if owner in dialects), "")
    if name:
        return Guess(name, "something opens like a call of it, and is none.")
    return Guess("", "nothing opens a call in any dialect: all of it is text.")


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


# --- The arrival of each event: the number of characters fed when the parser emitted it ---
#
#     arrivals("Hi 🛠️[say hello]", "auto")   →   Text at 1, CallStarted at 16, …
#
# A text is fed by one character at a time, a long one by pieces of `step_of(text)` characters. What
# continues an event is joined to it, and keeps the place at which the event began to be known.
# What only the end of the text settles has arrived with its last character.

_PIECES = 250_000
"""Pieces that a text is cut into, at most."""


class Arrival(msgspec.Struct, frozen=True):
    """An event, and how many characters had arrived when it was first known."""

    event: Event
    at: int


def step_of(text: str) -> int:
    """Return the number of characters to feed at once: 1, or more for a long text."""
    return max(1, -(-len(text) // _PIECES))


def arrivals(text: str, dialect: str = "auto") -> list[Arrival]:
    """The events of a text in their order, neighbours that continue each other joined."""
    joined: list[Arrival] = []
    run: list[Arrival] = []
    for one in _arriving(text, dialect):
        if run and _key(one.event) != _key(run[0].event):
            joined += _joined(run)
            run = []
        run.append(one)
    return joined + _joined(run)


def _arriving(text: str, dialect: str) -> Iterator[Arrival]:
    parser, step = Parser(dialect), step_of(text)
    for start in range(0, len(text), step):
        piece = text[start : start + step]
        for event in parser.feed(piece):
            yield Arrival(event, start + len(piece))
    for event in parser.close():
        yield Arrival(event, len(text))


def _key(event: Event) -> tuple[object, ...]:
    """Return a key that is equal for events that continue each other, and unique for others."""
    match event:
        case Text() | Reasoning():
            return (type(event),)
        case CallInput(index=index):
            return (CallInput, index)
        case _:
            return (id(event),)


def _joined(run: list[Arrival]) -> list[Arrival]:
    events = join([one.event for one in run])
    return [Arrival(event, run[0].at) for event in events]

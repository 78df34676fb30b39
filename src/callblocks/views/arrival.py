"""When each event of a text was known: the number of characters that had arrived by then.

    arrivals("Hi 🛠️[say hello]", "auto")   →   Text at 1, CallStarted at 16, …

A text is fed by one character at a time, a long one by pieces of `step_of(text)` characters. What
continues an event is joined to it, and keeps the place at which the event began to be known.
What only the end of the text settles has arrived with its last character.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callblocks.model.events import CallInput, Event, Reasoning, Text, join
from callblocks.parser import Parser

__all__ = ("Arrival", "arrivals", "step_of")

_PIECES = 250_000
"""Pieces that a text is cut into, at most."""


class Arrival(msgspec.Struct, frozen=True):
    """An event, and how many characters had arrived when it was first known."""

    event: Event
    at: int


def step_of(text: str) -> int:
    """How many characters of a text are fed at once: 1, unless it is long."""
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
    """What events that continue each other have in common; others share it with none."""
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

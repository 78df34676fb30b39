"""Events of a turn that carry what a parser read, made in one line, and taken out again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallStarted,
    Event,
    Malformed,
    ModelWrote,
    Reasoning,
    Text,
    TurnEvent,
)

__all__ = (
    "call_broken",
    "call_opened",
    "call_writing",
    "call_written",
    "inner",
    "model_said",
    "model_thought",
    "read_events",
    "unplaced",
)

NOWHERE = (0, 0)

E = TypeVar("E")


def read_events(events: Iterable[TurnEvent], *kinds: type[E]) -> list[E]:
    """Return what the parser read, of these kinds."""
    carried = [event.event for event in events if isinstance(event, ModelWrote)]
    return [event for event in carried if isinstance(event, kinds)]


def inner(event: TurnEvent) -> Event | TurnEvent:
    """Return what the parser read, where an event carries that; else the event itself."""
    return event.event if isinstance(event, ModelWrote) else event


def unplaced(events: Iterable[TurnEvent]) -> list[TurnEvent]:
    """Return the events without their rounds and spans, as the functions here make them."""
    found: list[TurnEvent] = []
    for event in events:
        if isinstance(event, ModelWrote):
            own = replace(event.event, span=NOWHERE)
            if isinstance(own, CallReady):
                own = replace(own, call=replace(own.call, span=NOWHERE))
            found.append(ModelWrote(event=own, member=event.member))
        else:
            found.append(event)
    return found


def wrote(event: Event, member: str) -> ModelWrote:
    return ModelWrote(event=event, member=member)


def model_said(*, text: str, member: str = "") -> ModelWrote:
    return wrote(Text(text, NOWHERE), member)


def model_thought(*, text: str, member: str = "") -> ModelWrote:
    return wrote(Reasoning(text, NOWHERE), member)


def call_opened(*, key: int, name: str, id: str = "", member: str = "") -> ModelWrote:
    return wrote(CallStarted(key, id or None, name, NOWHERE), member)


def call_writing(*, key: int, text: str, member: str = "") -> ModelWrote:
    return wrote(CallInput(key, text, NOWHERE), member)


def call_written(*, key: int, call: Call, member: str = "") -> ModelWrote:
    return wrote(CallReady(key, call, NOWHERE), member)


def call_broken(
    *, code: str, text: str, detail: str = "", key: int | None = None, member: str = ""
) -> ModelWrote:
    return wrote(Malformed(code, text, NOWHERE, detail, key), member)

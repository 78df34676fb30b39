"""What happens in a turn as a parser would say it, so that `views.chat.Chat` shows it.

    chat.feed(events_of(event))

A call that is being written is known by its key, and what came of it by its id.
"""

from __future__ import annotations

from callblocks.model.calls import Result
from callblocks.model.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    Reasoning,
    Text,
)
from callblocks.model.turn_events import (
    CallBroken,
    CallEnded,
    CallOpened,
    CallWriting,
    CallWritten,
    Said,
    Thought,
    TurnEvent,
)
from callblocks.views.chat import BY_ID

__all__ = ("events_of",)

_NOWHERE = (0, 0)


def events_of(event: TurnEvent) -> list[Event]:
    """The events of a text that show the same; none for what no text says."""
    found = _said(event) or _called(event)
    return [] if found is None else [found]


def _said(event: TurnEvent) -> Event | None:
    match event:
        case Said(text=text):
            return Text(text, _NOWHERE)
        case Thought(text=text):
            return Reasoning(text, _NOWHERE)
        case CallBroken(code=code, text=text, detail=detail, key=key):
            return Malformed(code, text, _NOWHERE, detail, key)
        case _:
            return None


def _called(event: TurnEvent) -> Event | None:
    match event:
        case CallOpened(key=key, id=id, name=name):
            return CallStarted(key, id or None, name, _NOWHERE)
        case CallWriting(key=key, text=text):
            return CallInput(key, text, _NOWHERE)
        case CallWritten(key=key, call=call):
            return CallReady(key, call, _NOWHERE)
        case CallEnded():
            return CallResult(BY_ID, event.outcome.id, _result(event), _NOWHERE)
        case _:
            return None


def _result(event: CallEnded) -> Result:
    """What a text itself carried is shown in its own words."""
    outcome = event.outcome
    if event.written and outcome.error is not None:
        return Result(id=outcome.id, error=outcome.error.message)
    return outcome.result()

"""Turn events converted to parser events, so that `views.chat.Chat` can show a turn.

    turn = TurnChat()
    chat.feed(turn.feed(event))

A call is identified by its key while it is being written, and its outcome by the call's id. Members
of a team write concurrently, but are shown one after the other, each below its name.
"""

from __future__ import annotations

from typing import TypeAlias

from callblocks.core.calls import Result
from callblocks.core.events import (
    CallInput,
    CallReady,
    CallResult,
    CallStarted,
    Event,
    Malformed,
    Reasoning,
    Text,
)
from callblocks.core.turn_events import (
    CallAsked,
    CallBroken,
    CallEnded,
    CallOpened,
    CallWriting,
    CallWritten,
    RoundBegan,
    Said,
    Thought,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.views.chat.chat import BY_ID, Speaker

__all__ = ("Shown", "TurnChat", "events_of")

Shown: TypeAlias = Event | Speaker
_NOWHERE = (0, 0)


class TurnChat:
    """Converts the events of a turn. Of several members, one has the floor.

    The events of the others are queued until that member is done, or until one of them has an
    approval question for the person.
    """

    def __init__(self) -> None:
        self._floor: str | None = None
        self._named = ""
        self._waiting: dict[str, list[Shown]] = {}
        self._done: set[str] = set()
        self._spoken: dict[str, type[Said | Thought]] = {}

    def feed(self, event: TurnEvent) -> list[Shown]:
        """Take an event; return the events that can be shown now."""
        if shown := _shown(event):
            self._waiting.setdefault(event.member, []).extend([*self._apart(event), *shown])
        match event:
            case TurnBegan(member=member):
                self._done.discard(member)
            case TurnEnded(member=""):
                self._done.update((self._floor or "", *self._waiting))
            case TurnEnded(member=member):
                self._done.add(member)
            case CallAsked(member=member) if member:
                self._floor = member
            case _:
                pass
        return self._flush()

    def _apart(self, event: TurnEvent) -> list[Shown]:
        """Return a paragraph break where a member changes between reasoning and text."""
        match event:
            case Said() | Thought():
                before = self._spoken.get(event.member)
                self._spoken[event.member] = type(event)
                return [Text("\n\n", _NOWHERE)] if before not in (None, type(event)) else []
            case _:
                self._spoken.pop(event.member, None)
                return []

    def _flush(self) -> list[Shown]:
        found: list[Shown] = []
        while (name := self._next()) is not None:
            found += self._turn_to(name)
            if self._floor is not None:
                break
        return found

    def _next(self) -> str | None:
        """Return the member to show now: the one that has the floor, or the first in the queue."""
        return next(iter(self._waiting), None) if self._floor is None else self._floor

    def _turn_to(self, name: str) -> list[Shown]:
        """All that one has to say; the floor is theirs until they are done."""
        self._floor = name if name and name not in self._done else None
        shown = self._waiting.pop(name, [])
        if not shown or name == self._named:
            return shown
        self._named = name
        return shown if isinstance(shown[0], Speaker) else [Speaker(name), *shown]


def _shown(event: TurnEvent) -> list[Shown]:
    match event:
        case RoundBegan(number=number) if number > 1:
            # What the model says now begins a line of its own.
            return [Text("\n", _NOWHERE)]
        case TurnEnded(member=member) if member and event.status != "answered":
            why = event.message or event.code
            return [Speaker(member, f"{event.status}: {why}" if why else event.status)]
        case _:
            return [*events_of(event)]


def events_of(event: TurnEvent) -> list[Event]:
    """Return the parser events that show the same; none for events that have no textual form."""
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
    """Return the result to show; an error that the text carried is shown without its code."""
    outcome = event.outcome
    if event.written and outcome.error is not None:
        return Result(id=outcome.id, error=outcome.error.message)
    return outcome.result() if outcome.error else Result(id=outcome.id, output=outcome.output)

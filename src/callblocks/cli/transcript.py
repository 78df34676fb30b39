"""A text that was read, and what came of its calls when they were run.

A call whose result says that it waits for an approval has no result yet: the reply of one run
can be run again, once it was approved.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from callblocks.model.calls import Call, Item, Result
from callblocks.model.events import CallReady, CallResult, Event, Malformed, Problem, Text
from callblocks.model.outcomes import Outcome
from callblocks.parsing.parsed import Parsed

__all__ = ("Prose", "Transcript")


class Prose(msgspec.Struct, frozen=True):
    """What the model said `before` each call without a result, by its id, and `after` them.

    What stands before a call that has a result goes on to the next one without.
    """

    before: dict[str, str]
    after: str


class Transcript:
    """Collects events. `waiting` are the calls without a result."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._calls: dict[int, Call] = {}
        self._waiting: dict[int, Call] = {}
        self._results: dict[str, Result] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Take more events."""
        for event in events:
            self._events.append(event)
            if isinstance(event, CallReady):
                self._calls[event.index] = self._waiting[event.index] = event.call
            elif isinstance(event, CallResult) and not _unapproved(event.result):
                self._waiting.pop(event.index, None)

    @property
    def waiting(self) -> list[Call]:
        """The calls that have no result in the text."""
        return list(self._waiting.values())

    @property
    def answered(self) -> list[Call]:
        """The calls that have a result in the text."""
        return [call for index, call in self._calls.items() if index not in self._waiting]

    @property
    def broken(self) -> list[Malformed | Problem]:
        """What began like a call and is none, and what has its form and was not read."""
        found = (event for event in self._events if isinstance(event, Malformed | Problem))
        return [one for one in found if isinstance(one, Malformed) or one.code == "unread-call"]

    def settle(self, outcome: Outcome) -> list[Event]:
        """Note what came of a call: the event that says so."""
        result = outcome.result()
        self._results[outcome.id] = result
        end = self._events[-1].span[1] if self._events else 0
        return [
            CallResult(index, outcome.id, result, (end, end))
            for index, call in self._waiting.items()
            if call.id == outcome.id
        ]

    def prose(self) -> Prose:
        """What the model said around the calls that have no result, without its reasoning."""
        before: dict[str, str] = {}
        parts: list[str] = []
        said: list[str] = []
        for event in self._events:
            if isinstance(event, Text | Malformed):
                said.append(event.text)
            elif isinstance(event, CallReady):
                parts.append("".join(said).strip())
                said.clear()
                if event.index in self._waiting:
                    if words := _paragraphs(parts):
                        before[event.call.id] = words
                    parts.clear()
        return Prose(before, _paragraphs([*parts, "".join(said).strip()]))

    def items(self) -> list[Item]:
        """The text with each new result right behind its call."""
        found: list[Item] = []
        for item in Parsed(self._events).items:
            if isinstance(item, Result) and item.id in self._results:
                continue
            found.append(item)
            if isinstance(item, Call) and item.id in self._results:
                found.append(self._results[item.id])
        return found


def _paragraphs(parts: list[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _unapproved(result: Result) -> bool:
    return (result.error or "").startswith("approval_required: ")

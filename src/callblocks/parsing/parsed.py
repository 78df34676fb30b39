"""A whole text, read: its prose, calls, results and problems beside the events they come from."""

from __future__ import annotations

from functools import cached_property

from callblocks.model.calls import Call, Item, Result, Thought
from callblocks.model.events import (
    CallReady,
    CallResult,
    Event,
    Malformed,
    Problem,
    Reasoning,
    Text,
    join,
)

__all__ = ("Parsed",)


class Parsed:
    """The result of parsing a whole text."""

    def __init__(self, events: list[Event]) -> None:
        self.events = join(events)

    @cached_property
    def text(self) -> str:
        """The prose, without the blocks."""
        return "".join(event.text for event in self.events if isinstance(event, Text))

    @cached_property
    def reasoning(self) -> str:
        """The reasoning of the model, without its markers."""
        return "".join(event.text for event in self.events if isinstance(event, Reasoning))

    @cached_property
    def calls(self) -> list[Call]:
        return [event.call for event in self.events if isinstance(event, CallReady)]

    @cached_property
    def results(self) -> list[Result]:
        return [event.result for event in self.events if isinstance(event, CallResult)]

    @cached_property
    def problems(self) -> list[Malformed | Problem]:
        """The malformed blocks and the problems, in the order of the text."""
        return [event for event in self.events if isinstance(event, Malformed | Problem)]

    @cached_property
    def items(self) -> list[Item]:
        """The items that a dialect can write; malformed text is prose, reasoning a `Thought`."""
        found: list[Item] = []
        for event in self.events:
            match event:
                case Text(text=text) | Malformed(text=text):
                    found.append(text)
                case Reasoning(text=text):
                    found.append(Thought(text))
                case CallReady(call=call):
                    found.append(call)
                case CallResult(result=result):
                    found.append(result)
                case _:
                    pass
        return found

    def __repr__(self) -> str:
        return (
            f"Parsed(text={self.text!r:.60}, calls={len(self.calls)}, "
            f"results={len(self.results)}, problems={len(self.problems)})"
        )

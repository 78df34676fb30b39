"""Events of a parser while text arrives.

Events are plain and frozen: two runs over the same text give equal lists, however the text was cut.
The spans of all events, in order, tile the input: every character belongs to exactly one event. An
event's text may be shorter than its span where part of the span is markup (a delimiter, a tag, the
newline before a fence).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from callblocks.core.calls import Call, Result, Span

__all__ = (
    "CallInput",
    "CallReady",
    "CallResult",
    "CallStarted",
    "Event",
    "Malformed",
    "Problem",
    "Reasoning",
    "Text",
    "join",
)


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """Prose outside every block."""

    text: str
    span: Span


class Reasoning(msgspec.Struct, frozen=True, gc=False, tag="reasoning"):
    """Prose that the model marked as thinking."""

    text: str
    span: Span


class CallStarted(msgspec.Struct, frozen=True, gc=False, tag="call-started"):
    """A block has begun and its name is known.

    `id` is null where the block itself may still give it; `CallReady` always has it.
    """

    index: int
    id: str | None
    name: str
    span: Span


class CallInput(msgspec.Struct, frozen=True, gc=False, tag="call-input"):
    """More raw input of the open block, as written."""

    index: int
    text: str
    span: Span


class CallReady(msgspec.Struct, frozen=True, tag="call-ready"):
    """The block ended and its input was parsed."""

    index: int
    call: Call
    span: Span


class CallResult(msgspec.Struct, frozen=True, tag="call-result"):
    """The text itself carried the outcome of a call."""

    index: int
    id: str
    result: Result
    span: Span


class Malformed(msgspec.Struct, frozen=True, gc=False, tag="malformed"):
    """Text that opened like a block but is not one. Never an exception, never lost.

    With an `index`, it ends the block that had started under that index.
    """

    code: str
    text: str
    span: Span
    detail: str = ""
    index: int | None = None


class Problem(msgspec.Struct, frozen=True, gc=False, tag="problem"):
    """A diagnosis of text that was parsed nevertheless.

    It owns no text: its `span` is empty and marks the time of the diagnosis; `place` is its
    subject.
    """

    code: str
    detail: str
    span: Span
    place: Span
    index: int | None = None


Event: TypeAlias = (
    Text | Reasoning | CallStarted | CallInput | CallReady | CallResult | Malformed | Problem
)


def join(events: list[Event]) -> list[Event]:
    """Join neighbouring `Text`, `Reasoning`, and `CallInput` of one block.

    The cutting of the input affects only where these are cut, so joined lists are equal.
    """
    # Grouped first and joined once per group: joining pairwise would copy the text quadratically.
    groups: list[list[Event]] = []
    for event in events:
        if groups and _continues(groups[-1][-1], event):
            groups[-1].append(event)
        else:
            groups.append([event])
    return [_joined(group) for group in groups]


def _continues(last: Event, event: Event) -> bool:
    match last, event:
        case (Text(), Text()) | (Reasoning(), Reasoning()):
            return True
        case CallInput(index=one), CallInput(index=other):
            return one == other
        case _:
            return False


def _joined(group: list[Event]) -> Event:
    first, last = group[0], group[-1]
    if first is last or not isinstance(first, Text | Reasoning | CallInput):
        return first
    text = "".join(event.text for event in group if isinstance(event, type(first)))
    return msgspec.structs.replace(first, text=text, span=(first.span[0], last.span[1]))

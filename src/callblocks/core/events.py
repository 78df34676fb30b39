"""Events: what a parser reads in a text, and what happens in a turn.

A turn's events carry those of the parser, as they are: `ModelWrote(event=Text(…), round=1)`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.calls import Call, Result, Span
from callblocks.core.outcomes import Outcome

__all__ = (
    "CallAnswered",
    "CallAsked",
    "CallBegan",
    "CallEnded",
    "CallGranted",
    "CallInput",
    "CallReady",
    "CallResult",
    "CallStarted",
    "CallTold",
    "Event",
    "Malformed",
    "ModelQueued",
    "ModelWrote",
    "Problem",
    "Reasoning",
    "RoundBegan",
    "Status",
    "Text",
    "TurnBegan",
    "TurnEnded",
    "TurnEvent",
    "join",
)

# --- Events of a parser while text arrives ---
#
# Events are plain and frozen: two runs over the same text give equal lists, however the text was
# cut. The spans of all events, in order, tile the input: every character belongs to exactly one
# event. An event's text may be shorter than its span where part of the span is markup (a
# delimiter, a tag, the newline before a fence).


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


# --- Events of a turn as it happens: the model's text, and the progress of its calls ---
#
#     TurnBegan
#       RoundBegan  ModelQueued*  ModelWrote*
#       CallAsked CallAnswered | CallGranted  CallBegan CallTold*  CallEnded  …
#       RoundBegan  …
#     TurnEnded
#
# A call is identified by its `index` in the turn while it is being written, and by its `id` from
# its `CallReady` on; that id is the one on the timeline. Every call that was written has exactly
# one `CallEnded`; only where the turn is interrupted may a call lack it, and get it once the turn
# is resumed. `member` names the speaker where there are several.

# The end of a turn: with an answer, by the person, at a limit, by a fault, or with its program.
Status: TypeAlias = Literal["answered", "stopped", "limited", "failed", "interrupted"]


class _Happened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    member: str = ""


class TurnBegan(_Happened, frozen=True, kw_only=True, tag="turn-began"):
    """A turn was taken on the timeline."""

    turn: str


class RoundBegan(_Happened, frozen=True, kw_only=True, tag="round-began"):
    """The model is asked; the first time is round 1."""

    number: int


class ModelQueued(_Happened, frozen=True, kw_only=True, tag="model-queued"):
    """The turn waits for the model; `before` is the number of turns served first."""

    before: int


class ModelWrote(_Happened, frozen=True, kw_only=True, tag="model-wrote"):
    """A part of the reply as the parser read it: its own event, and the round of the reply.

    `index` counts the calls of the turn, a call has its id on the timeline, and the span is in the
    text of the reply. What came apart from that text, as a native call does, has an empty span.
    """

    event: Event
    round: int = 0


class CallAsked(_Happened, frozen=True, kw_only=True, tag="call-asked"):
    """A person is asked whether a call may run.

    `preview` is the change, `input` the input of the tool, both with secrets masked. Where masks
    hide more than values, it is `hidden`: a person who sees only this cannot approve it.
    """

    id: str
    approval: str
    reason: str
    preview: str = ""
    tainted: tuple[str, ...] = ()
    input: dict[str, Any] | None = None
    hidden: bool = False


class CallAnswered(_Happened, frozen=True, kw_only=True, tag="call-answered"):
    """The person answered, or nobody did in time: then it is not approved.

    An approval for some minutes is a grant; `expires` is its end, in seconds since 1970.
    """

    id: str
    approval: str
    approved: bool
    reason: str = ""
    minutes: int = 0
    expires: float = 0.0


class CallGranted(_Happened, frozen=True, kw_only=True, tag="call-granted"):
    """An earlier grant of the person lets a call through; nobody is asked."""

    id: str
    approval: str
    minutes: int
    expires: float


class CallBegan(_Happened, frozen=True, kw_only=True, tag="call-began"):
    """A call was let through, and its tool has started."""

    id: str


class CallTold(_Happened, frozen=True, kw_only=True, tag="call-told"):
    """Text that a running or queued tool shows; it is not its output."""

    id: str
    text: str


class CallEnded(_Happened, frozen=True, kw_only=True, tag="call-ended"):
    """The outcome of a call. `written` means that the text itself carried the result."""

    outcome: Outcome
    written: bool = False


class TurnEnded(_Happened, frozen=True, kw_only=True, tag="turn-ended"):
    """The turn is over. `code` and `message` say why, unless it was answered."""

    turn: str
    status: Status
    code: str = ""
    message: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


TurnEvent: TypeAlias = (
    TurnBegan
    | RoundBegan
    | ModelQueued
    | ModelWrote
    | CallAsked
    | CallAnswered
    | CallGranted
    | CallBegan
    | CallTold
    | CallEnded
    | TurnEnded
)

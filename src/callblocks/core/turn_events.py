"""Events of a turn as it happens: the model's text, and the progress of its calls.

    TurnBegan
      RoundBegan  ModelQueued*  Thought* Said*  CallOpened CallWriting* CallWritten | CallBroken  …
      CallAsked CallAnswered | CallGranted  CallBegan CallTold*  CallEnded  …
      RoundBegan  …
    TurnEnded

A call is identified by its `key`, a number in the turn, while it is being written, and by its `id`
from `CallWritten` on; that id is the one on the timeline. Every call that was written has exactly
one `CallEnded`; only where the turn is interrupted may a call lack it, and get it once the turn is
resumed. `member` names the speaker where there are several.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome

__all__ = (
    "PROSE",
    "CallAnswered",
    "CallAsked",
    "CallBegan",
    "CallBroken",
    "CallEnded",
    "CallGranted",
    "CallOpened",
    "CallTold",
    "CallWriting",
    "CallWritten",
    "ModelQueued",
    "RoundBegan",
    "Said",
    "Status",
    "Thought",
    "TurnBegan",
    "TurnEnded",
    "TurnEvent",
)

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


class Said(_Happened, frozen=True, kw_only=True, tag="said"):
    """A piece of prose."""

    text: str


class Thought(_Happened, frozen=True, kw_only=True, tag="thought"):
    """A piece of text that the model marked as thinking."""

    text: str


class CallOpened(_Happened, frozen=True, kw_only=True, tag="call-opened"):
    """The model began to write a call; `id` is empty where it is not known yet."""

    key: int
    name: str
    id: str = ""


class CallWriting(_Happened, frozen=True, kw_only=True, tag="call-writing"):
    """More of the input of an open call, as written."""

    key: int
    text: str


class CallWritten(_Happened, frozen=True, kw_only=True, tag="call-written"):
    """A call was read to its end. `call.id` is the one on the timeline."""

    key: int
    call: Call


class CallBroken(_Happened, frozen=True, kw_only=True, tag="call-broken"):
    """Text that opened like a call but is none; with a `key`, it ends that open call."""

    code: str
    text: str
    detail: str = ""
    key: int | None = None


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
    | Said
    | Thought
    | CallOpened
    | CallWriting
    | CallWritten
    | CallBroken
    | CallAsked
    | CallAnswered
    | CallGranted
    | CallBegan
    | CallTold
    | CallEnded
    | TurnEnded
)

# The frequent events, which need nothing but to be passed on.
PROSE = (Said, Thought)

"""Calls as parts of a message: what is told of each, and when.

    tool-input-start  tool-input-available  tool-output-available | tool-output-error

The tools are the server's: they are `dynamic`, for a client does not know them, and
`providerExecuted`, so that none tries to run them, or sends their outputs back. Many clients of
version 6 send no answer about what is `providerExecuted`: there, a call that is asked about is not.

From version 6 on a client sends the answer to an approval by itself only if every call of the step
that it knows of is over or answered. So there a call that waits for another one is not told of
before its own turn comes: the first call of a round is told of as it is written, the next ones
when they are asked about, begin or end. Of a turn that is over, all are told of as they were
written.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.core.calls import Call
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallEnded,
    CallGranted,
    CallReady,
    CallStarted,
    Malformed,
    Problem,
)
from callblocks.core.json_values import plain, whole
from callblocks.core.outcomes import Failure, Outcome

__all__ = (
    "DATA",
    "TYPES",
    "VERSIONS",
    "ApprovalParts",
    "Chunk",
    "TextParts",
    "ToolParts",
    "ToolState",
    "Version",
)

# --- The chunks of a UI message stream, by the version of the client that reads it ---
#
# One chunk of a type that a client does not know ends the stream there, and the first clients of a
# version take no key that they do not know: so a stream has only what all clients of its version
# take, and no key whose value is null.

Chunk: TypeAlias = dict[str, Any]
Version: TypeAlias = Literal[5, 6, 7]

VERSIONS: tuple[Version, ...] = (5, 6, 7)

DATA = ("data-approval", "data-artifact", "data-member", "data-problem", "data-progress")
"""Parts of our own, which every version takes; the last one is never kept in a message."""

_ALWAYS = (
    *("start", "start-step", "finish-step", "message-metadata", "error", "abort", "finish"),
    *("text-start", "text-delta", "text-end"),
    *("reasoning-start", "reasoning-delta", "reasoning-end"),
    *("tool-input-start", "tool-input-available", "tool-output-available", "tool-output-error"),
    *DATA,
)
_APPROVALS = ("tool-approval-request", "tool-output-denied")

TYPES: dict[Version, frozenset[str]] = {
    5: frozenset(_ALWAYS),
    6: frozenset((*_ALWAYS, *_APPROVALS)),
    7: frozenset((*_ALWAYS, *_APPROVALS, "tool-approval-response")),
}
"""The types that we send to each version."""


# --- Prose and thinking as parts of a message: begun by the first text, ended before anything else
# ---
#
#     text-start  text-delta …  text-end
#
# Each who speaks has one open part at most. Blank text alone is no part: it waits for what follows,
# and goes if that is none.

_Kind: TypeAlias = Literal["text", "reasoning"]


class _Open(msgspec.Struct, frozen=True):
    kind: _Kind
    id: str

    @property
    def delta(self) -> str:
        """The type of a chunk of its text."""
        return "text-delta" if self.kind == "text" else "reasoning-delta"

    def chunk(self, what: Literal["start", "delta", "end"]) -> Chunk:
        return {"type": f"{self.kind}-{what}", "id": self.id}


class TextParts:
    """The parts that are open, by who speaks."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._blank: dict[tuple[str, _Kind], str] = {}
        self._count = 0

    def more(self, kind: _Kind, text: str, member: str) -> Chunk | None:
        """Return the chunk of text for the part that is open; None if another one must begin."""
        part = self._open.get(member)
        if part is None or part.kind != kind or not text:
            return None
        return {"type": part.delta, "id": part.id, "delta": whole(text)}

    def add(self, kind: _Kind, text: str, member: str = "") -> list[Chunk]:
        """Take a piece of text."""
        text = whole(text)
        part = self._open.get(member)
        if part is None or part.kind != kind:
            text = self._blank.pop((member, kind), "") + text
            if not text.strip():
                self._blank[member, kind] = text
                return []
            ended = self.end(member)
            part = self._begin(kind, member)
            return [*ended, _started(part, member), {**part.chunk("delta"), "delta": text}]
        more = self.more(kind, text, member)
        return [] if more is None else [more]

    def end(self, member: str) -> list[Chunk]:
        """End what this one says; blank text that waits goes."""
        for kind in ("text", "reasoning"):
            self._blank.pop((member, kind), None)
        part = self._open.pop(member, None)
        return [] if part is None else [part.chunk("end")]

    def end_all(self) -> list[Chunk]:
        """End what everybody says."""
        self._blank.clear()
        return [chunk for member in list(self._open) for chunk in self.end(member)]

    def _begin(self, kind: _Kind, member: str) -> _Open:
        self._count += 1
        self._open[member] = part = _Open(kind, f"{kind}-{self._count}")
        return part


def _started(part: _Open, member: str) -> Chunk:
    return {**part.chunk("start"), **of_member(member)}


def of_member(member: str) -> Chunk:
    """Return the metadata of a part that names the member; empty without a team."""
    return {"providerMetadata": {"callblocks": {"member": whole(member)}}} if member else {}


# --- Calls as parts of a message: what is told of each, and when ---

_CUT = Failure(code="cancelled", message="the turn ended before this call did")


class ToolState(msgspec.Struct, kw_only=True):
    """A call as far as it came; `is_told` and `has_input` say what a client knows of it."""

    id: str
    name: str
    member: str = ""
    input: Any = msgspec.field(default_factory=dict[str, Any])
    approval: str = ""
    is_ours: bool = True
    is_told: bool = False
    has_input: bool = False
    is_running: bool = False


class ToolParts:
    """The calls of a message that are not over, by index while they are written, then by id."""

    def __init__(self, version: Version, *, is_over: bool = False) -> None:
        self._version = version
        self._is_over = is_over
        self._writing: dict[int, ToolState] = {}
        self._written: dict[str, ToolState] = {}

    @property
    def is_busy(self) -> bool:
        """True while a call is being written, or runs."""
        return bool(self._writing) or any(call.is_running for call in self._written.values())

    @property
    def is_writing(self) -> bool:
        """True while a client knows of a call but not of its input."""
        return any(call.is_told for call in self._writing.values())

    def get(self, id: str) -> ToolState | None:
        """A call that is written and not over."""
        return self._written.get(id)

    def opened(self, event: CallStarted, member: str) -> list[Chunk]:
        """A call whose id is known is told of at once, unless it has to wait."""
        waits = self._has_to_wait(member)
        call = ToolState(id=whole(event.id or ""), name=whole(event.name), member=member)
        self._writing[event.index] = call
        if waits or not call.id:
            return []
        call.is_told = True
        return [{"type": "tool-input-start", **_named(call)}]

    def written(self, event: CallReady, member: str) -> list[Chunk]:
        """The input is known."""
        opened = self._writing.pop(event.index, None)
        waits = self._has_to_wait(member)
        call = ToolState(id=whole(event.call.id), name=whole(event.call.name), member=member)
        call.input = _input(event.call)
        cut = [] if opened is None or opened.id == call.id else self._cut(opened)
        call.is_told = opened is not None and opened.is_told and opened.id == call.id
        self._written[event.call.id] = call
        return cut if waits and not call.is_told else [*cut, *self.show(call)]

    def broken(self, event: Malformed | Problem) -> list[Chunk]:
        """A call that is none is over."""
        opened = None if event.index is None else self._writing.pop(event.index, None)
        words = event.detail or "this opens like a call, and is none"
        failure = Failure(code=event.code, message=words)
        return [] if opened is None else self._cut(opened, failure)

    def show(self, call: ToolState) -> list[Chunk]:
        """Tell of a call with its input, once."""
        if call.has_input:
            return []
        call.is_told = call.has_input = True
        return [
            {
                "type": "tool-input-available",
                **_named(call),
                "input": call.input,
                **of_member(call.member),
            }
        ]

    def began(self, id: str) -> list[Chunk]:
        """A call runs."""
        call = self._written.get(id)
        if call is None:
            return []
        call.is_running = True
        return self.show(call)

    def asked(self, call: ToolState) -> list[Chunk]:
        """A call is asked about."""
        if self._version == 6:
            call.is_ours = call.has_input = False
        return self.show(call)

    def ended(self, event: CallEnded, *, is_known: bool = False) -> list[Chunk]:
        """Return the chunks of an outcome and its files; `is_known`: the client has the call."""
        outcome = event.outcome
        call = self._written.pop(outcome.id, None)
        if call is None and not is_known:
            call = ToolState(id=whole(outcome.id), name=whole(outcome.name), member=event.member)
        shown = [] if call is None else self.show(call)
        return [*shown, self._result(event, call), *_artifacts(outcome)]

    def end_writing(self) -> list[Chunk]:
        """No more of the calls that are being written comes."""
        left = list(self._writing.values())
        self._writing.clear()
        return [chunk for call in left for chunk in self._cut(call)]

    def end_all(self) -> list[Chunk]:
        """The turn is over, and with it each call that a client knows of."""
        left = list(self._written.values())
        self._written.clear()
        return [*self.end_writing(), *(chunk for call in left for chunk in self._cut(call))]

    def _has_to_wait(self, member: str) -> bool:
        """Return whether the member has an earlier call that is not over."""
        asks = self._version > 5 and not self._is_over
        calls = (*self._writing.values(), *self._written.values())
        return asks and any(call.member == member for call in calls)

    def _cut(self, call: ToolState, failure: Failure = _CUT) -> list[Chunk]:
        return [*self.show(call), _failed(call.id, _words(failure))] if call.is_told else []

    def _result(self, event: CallEnded, call: ToolState | None) -> Chunk:
        outcome, error = event.outcome, event.outcome.error
        id = whole(outcome.id)
        if error is None:
            output = {"output": plain(outcome.output), "dynamic": True}
            return {"type": "tool-output-available", "toolCallId": id, **output}
        if self._version > 5 and call and call.approval and error.code == "approval_denied":
            return {"type": "tool-output-denied", "toolCallId": id}
        return _failed(id, whole(error.message) if event.written else _words(error))


def _named(call: ToolState) -> Chunk:
    return {"toolCallId": call.id, "toolName": call.name, **_whose(call)}


def _whose(call: ToolState) -> Chunk:
    return {"dynamic": True, "providerExecuted": call.is_ours}


def _input(call: Call) -> Any:
    """The input as it was written: a tool fence may have one that is no mapping."""
    is_other = call.dialect == "tool-fence" and "input" in call.extra
    return plain(call.extra["input"] if is_other else call.input)


def _words(error: Failure) -> str:
    return whole(f"{error.code}: {error.message}")


def _failed(id: str, words: str) -> Chunk:
    return {"type": "tool-output-error", "toolCallId": id, "errorText": words, "dynamic": True}


def _artifacts(outcome: Outcome) -> list[Chunk]:
    return [
        {
            "type": "data-artifact",
            "id": whole(f"{outcome.id}:{artifact.digest}"),
            "data": {
                "toolCallId": whole(outcome.id),
                "path": whole(artifact.path),
                "mime": whole(artifact.mime),
                "size": artifact.size,
                "digest": artifact.digest,
                "url": f"/api/artifacts/{artifact.digest}",
            },
        }
        for artifact in outcome.artifacts
    ]


# --- Questions to the person, and their answers, as parts of a message ---
#
#     data-approval                               every version: all that is to be known of it
#     tool-approval-request                       from 6 on: the state of the call
#     tool-approval-response                      from 7 on
#     data-grant                                  every version: a grant let a call through
#
# The answer replaces the question, because it has the same id. Two members of a team may wait for
# the same answer: then a client is not told whose it was, but what comes of each.

_Key: TypeAlias = tuple[str, str]

_LARGEST = 2**53
"""A client rounds integers that are larger, and would show another number than the call has."""


class ApprovalParts:
    """The questions of a message; `is_open` while one has no answer."""

    def __init__(self, version: Version) -> None:
        self._version = version
        # By approval and call: the question, and who waits.
        self._asked: dict[_Key, dict[str, Any]] = {}
        self._open: dict[_Key, str] = {}
        self._calls: dict[str, list[str]] = {}

    @property
    def is_open(self) -> bool:
        """True while an answer is missing."""
        return bool(self._open)

    @property
    def open(self) -> list[str]:
        """The approvals whose answers are missing."""
        return [whole(approval) for approval in dict.fromkeys(key[0] for key in self._open)]

    @property
    def waiting(self) -> set[str]:
        """The members that wait for an answer."""
        return set(self._open.values())

    def asked(self, event: CallAsked, call: ToolState | None) -> list[Chunk]:
        """A call waits for an answer; one that a client does not know has no state there."""
        key = (event.approval, event.id)
        calls = self._calls.setdefault(event.approval, [])
        if event.id not in calls:
            calls.append(event.id)
        self._asked[key] = question = _question(event, call)
        chunks = [self._data(key, question)]
        if call is not None:
            call.approval = event.approval
            self._open[key] = event.member
        if self._version > 5 and call is not None:
            ids = {"approvalId": whole(event.approval), "toolCallId": whole(event.id)}
            chunks.append({"type": "tool-approval-request", **ids})
        return chunks

    def close(self, approval: str) -> None:
        """No answer is missing any more, though it was not told yet."""
        self._open = {key: one for key, one in self._open.items() if key[0] != approval}

    def answered(self, event: CallAnswered) -> list[Chunk]:
        """The answer came."""
        key = (event.approval, event.id)
        self._open.pop(key, None)
        question = self._asked.pop(key, None)
        if question is None:
            return []
        reason = whole(event.reason)
        answer = {"approved": event.approved, **({"answer": reason} if reason else {})}
        if event.minutes:
            answer |= {"minutes": event.minutes, "expiresAt": event.expires}
        chunks = [self._data(key, {**question, **answer})]
        is_alone = len(self._calls[event.approval]) == 1
        if self._version > 6 and "toolName" in question and is_alone:
            said = {"approved": event.approved, **({"reason": reason} if reason else {})}
            response = {"type": "tool-approval-response", "approvalId": whole(event.approval)}
            chunks.append({**response, **said})
        return chunks

    def granted(self, event: CallGranted) -> list[Chunk]:
        """Return the chunk that says which grant let a call through."""
        approval, call = whole(event.approval), whole(event.id)
        data = {"id": approval, "toolCallId": call}
        lasting = {"minutes": event.minutes, "expiresAt": event.expires}
        return [{"type": "data-grant", "id": f"{approval}:{call}", "data": {**data, **lasting}}]

    def _data(self, key: _Key, question: dict[str, Any]) -> Chunk:
        approval, call = key
        id = approval if call == self._calls[approval][0] else f"{approval}:{call}"
        return {"type": "data-approval", "id": whole(id), "data": question}


def _question(event: CallAsked, call: ToolState | None) -> dict[str, Any]:
    question: dict[str, Any] = {"id": whole(event.approval), "toolCallId": whole(event.id)}
    if call is not None:
        question |= {"toolName": call.name, "input": _exact(_approved_input(event, call))}
    question["reason"] = whole(event.reason)
    if event.preview:
        question["preview"] = whole(event.preview)
    if event.tainted:
        question["tainted"] = [whole(one) for one in event.tainted]
    if event.hidden:
        question["hidden"] = True
    return question


def _approved_input(event: CallAsked, call: ToolState) -> Any:
    """Return the input to approve: the checked one if there is one."""
    return call.input if event.input is None else plain(event.input)


def _exact(value: Any) -> Any:
    """The value, with every integer that a client would round as its digits."""
    match value:
        case dict():
            given = cast("dict[str, Any]", value)
            return {key: _exact(item) for key, item in given.items()}
        case list():
            return [_exact(item) for item in cast("list[Any]", value)]
        case int() if abs(value) > _LARGEST:
            return str(value)
        case _:
            return value

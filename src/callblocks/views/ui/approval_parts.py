"""Questions to the person, and their answers, as parts of a message.

    data-approval                               every version: all that is to be known of it
    tool-approval-request                       from 6 on: the state of the call
    tool-approval-response                      from 7 on
    data-grant                                  every version: a grant let a call through

The answer replaces the question, because it has the same id. Two members of a team may wait for
the same answer: then a client is not told whose it was, but what comes of each.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from callblocks.model.turn_events import CallAnswered, CallAsked, CallGranted
from callblocks.timeline.plain_json import plain, whole
from callblocks.views.ui.chunks import Chunk, Version
from callblocks.views.ui.tool_parts import ToolState

__all__ = ("ApprovalParts",)

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
        """Whether an answer is missing."""
        return bool(self._open)

    @property
    def open(self) -> list[str]:
        """The approvals whose answers are missing."""
        return [whole(approval) for approval in dict.fromkeys(key[0] for key in self._open)]

    @property
    def waiting(self) -> set[str]:
        """Who cannot go on without an answer."""
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
        question |= {"toolName": call.name, "input": _exact(_input(event, call))}
    question["reason"] = whole(event.reason)
    if event.preview:
        question["preview"] = whole(event.preview)
    if event.tainted:
        question["tainted"] = [whole(one) for one in event.tainted]
    if event.hidden:
        question["hidden"] = True
    return question


def _input(event: CallAsked, call: ToolState) -> Any:
    """What is asked about: the input that the tool takes."""
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

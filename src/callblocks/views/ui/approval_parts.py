"""Questions to the person, and their answers, as parts of a message.

    data-approval                               every version: all that is to be known of it
    tool-approval-request                       from 6 on: the state of the call
    tool-approval-response                      from 7 on

The answer replaces the question, because it has the same id.
"""

from __future__ import annotations

from typing import Any

from callblocks.model.turn_events import CallAnswered, CallAsked
from callblocks.timeline.plain_json import whole
from callblocks.views.ui.chunks import Chunk, Version
from callblocks.views.ui.tool_parts import ToolState

__all__ = ("ApprovalParts",)


class ApprovalParts:
    """The questions of a message; `is_open` while one has no answer."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._asked: dict[str, dict[str, Any]] = {}
        self._open: set[str] = set()

    @property
    def is_open(self) -> bool:
        """Whether an answer is missing."""
        return bool(self._open)

    def asked(self, event: CallAsked, call: ToolState | None) -> list[Chunk]:
        """A call waits for an answer; one that a client does not know has no state there."""
        self._asked[event.approval] = question = _question(event, call)
        chunks = [_data(event.approval, question)]
        if call is not None:
            call.approval = event.approval
            self._open.add(event.approval)
        if self._version > 5 and call is not None:
            ids = {"approvalId": whole(event.approval), "toolCallId": whole(event.id)}
            chunks.append({"type": "tool-approval-request", **ids})
        return chunks

    def answered(self, event: CallAnswered) -> list[Chunk]:
        """The answer came."""
        self._open.discard(event.approval)
        question = self._asked.pop(event.approval, None)
        if question is None:
            return []
        reason = whole(event.reason)
        answer = {"approved": event.approved, **({"answer": reason} if reason else {})}
        chunks = [_data(event.approval, {**question, **answer})]
        if self._version > 6 and "toolName" in question:
            said = {"approved": event.approved, **({"reason": reason} if reason else {})}
            response = {"type": "tool-approval-response", "approvalId": whole(event.approval)}
            chunks.append({**response, **said})
        return chunks


def _question(event: CallAsked, call: ToolState | None) -> dict[str, Any]:
    question: dict[str, Any] = {"id": whole(event.approval), "toolCallId": whole(event.id)}
    if call is not None:
        question |= {"toolName": call.name, "input": call.input}
    question["reason"] = whole(event.reason)
    if event.preview:
        question["preview"] = whole(event.preview)
    if event.tainted:
        question["tainted"] = [whole(one) for one in event.tainted]
    return question


def _data(approval: str, question: dict[str, Any]) -> Chunk:
    return {"type": "data-approval", "id": whole(approval), "data": question}

"""Records of a person's answers and of grants, written to the timeline before the call runs."""

from __future__ import annotations

from typing import Any

from callblocks.model.calls import Call
from callblocks.model.redaction import redact
from callblocks.runtime.asking import Grant, Question
from callblocks.timeline.recorder import Recorder

__all__ = ("write_answer", "write_grant")


def write_answer(
    recorder: Recorder,
    turn: str,
    question: Question,
    approved: bool,
    words: str,
    grant: Grant | None = None,
) -> None:
    """Write the reason for the question, the decision and the person's words."""
    recorder.answered(
        turn,
        question.call.id,
        question.call.name,
        approval=question.approval_id,
        approved=approved,
        reason=question.reason,
        answer=redact(words),
        tainted=list(question.tainted),
        **_lasting(grant),
    )


def write_grant(recorder: Recorder, turn: str, call: Call, grant: Grant) -> None:
    """Write the grant that lets a call run without a question."""
    recorder.answered(
        turn, call.id, call.name, approval=grant.approval, approved=True, **_lasting(grant)
    )


def _lasting(grant: Grant | None) -> dict[str, Any]:
    return {} if grant is None else {"minutes": grant.minutes, "expires": grant.expires}

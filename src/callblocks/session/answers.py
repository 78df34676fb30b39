"""What came of a question to a person, written on the timeline before its call runs."""

from __future__ import annotations

from callblocks.model.redaction import redact
from callblocks.runtime.asking import Question
from callblocks.timeline.recorder import Recorder

__all__ = ("write_answer",)


def write_answer(
    recorder: Recorder, turn: str, question: Question, approved: bool, words: str
) -> None:
    """Write why the call was asked about, whether it runs, and what the person said."""
    recorder.answered(
        turn,
        question.call.id,
        question.call.name,
        approval=question.approval_id,
        approved=approved,
        reason=question.reason,
        answer=redact(words),
        tainted=list(question.tainted),
    )

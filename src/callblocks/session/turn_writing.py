"""Writing a turn down: what the model wrote, and what came of its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from callblocks.model.brief import brief
from callblocks.model.calls import Call
from callblocks.model.events import Malformed
from callblocks.model.outcomes import Failure, Notice, Outcome
from callblocks.model.turn_events import CallEnded, TurnEvent
from callblocks.session.call_ids import random_id
from callblocks.session.reply import Reply, WrittenCall
from callblocks.session.talk import Talk
from callblocks.timeline.recorder import Recorder

__all__ = ("TurnWriting",)

_WRITTEN_RESULT = Notice(
    code="protocol_violation.written_result",
    message="you wrote a result of this call; it was not used, because results come from tools",
)


class TurnWriting:
    """Writes the steps of one turn on its timeline, and tells of them."""

    def __init__(self, recorder: Recorder, talk: Talk, tell: Callable[[TurnEvent], None]) -> None:
        self._recorder = recorder
        self._talk = talk
        self._tell = tell
        self._id = talk.turn

    def is_taken(self, id: str) -> bool:
        """Whether a call of the turn has that id, or notes of none."""
        state = self._recorder.state
        paths = (f"tc:{self._id}.{id}.call", f"ar:{self._id}.react.notes.{id}")
        return any(map(state.has, paths))

    def calls(self, reply: Reply) -> None:
        """Write the calls of a reply with what was said before each, and what was said last."""
        for at, written in enumerate(reply.calls):
            self._call(written, reasoning="" if at else reply.reasoning)
            if written.result is not None:
                self._recorder.tell(self._id, random_id(), _WRITTEN_RESULT)
        if reply.rest.strip():
            self._recorder.notes(self._id, random_id(), reply.rest.strip("\n"))
        for event in reply.broken:
            self._recorder.tell(self._id, random_id(), _broken(event))

    def answer(self, reply: Reply, *, is_partial: bool) -> None:
        """Write the answer that ends the turn."""
        self._recorder.completion(
            self._id, reply.rest.strip("\n"), reasoning=reply.reasoning, is_partial=is_partial
        )

    def carry(self, written: WrittenCall) -> None:
        """Take a call whose result the text itself carries: nothing runs."""
        assert written.result is not None
        call, result = written.call, written.result
        words = result.error
        error = None if words is None else Failure(code="tool_error", message=words)
        self._call(written, written=True)
        outcome = Outcome(id=call.id, name=call.name, output=result.output, error=error)
        self.end(call, outcome, written=True)

    def end(self, call: Call, outcome: Outcome, *, written: bool = False) -> Outcome:
        """Write and tell what came of a call."""
        try:
            self._recorder.ended(self._id, call, outcome)
        finally:
            # What was done is told in any case.
            self._tell(CallEnded(outcome=outcome, written=written))
        return outcome

    def _call(self, said: WrittenCall, **meta: Any) -> None:
        if said.before.strip():
            self._recorder.notes(self._id, said.call, said.before.strip("\n"))
        self._recorder.started(self._id, said.call, round=self._talk.round, **meta)


def _broken(event: Malformed) -> Notice:
    return Notice(
        code="protocol_violation.broken_call",
        message=event.detail or "this opens like a call, and is none",
        details={"problem": event.code, "text": brief(event.text, 200)},
    )

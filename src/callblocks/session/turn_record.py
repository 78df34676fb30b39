"""Writing a turn down: what the model wrote, and what came of its calls.

A reply is on the timeline whole or not at all, and so is an answer with the end of its turn. So a
program that starts again knows what the model was told, and asks for what is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from callblocks.approvals.question import Grant, Question
from callblocks.core.calls import Call, CheckedCall, Result
from callblocks.core.events import Malformed
from callblocks.core.outcomes import Notice, Outcome
from callblocks.core.redaction import redact
from callblocks.core.text import brief
from callblocks.core.turn_events import CallEnded, TurnEvent
from callblocks.runtime.checked_call import check_call
from callblocks.session.reply import FRAME, WIRE_ID, Reply, WrittenCall, random_id
from callblocks.session.taint import taint_meta
from callblocks.timeline.codec.encode import with_files
from callblocks.timeline.recorder import Recorder
from callblocks.tools.registry import Registry

__all__ = (
    "TurnWriting",
    "run_blocking",
    "write_answer",
    "write_grant",
)

_SHOWN = 200
_MADE_UP = "you wrote a result of the call {id}; it was not used, because results come from tools"
_TAUGHT = (
    "your server did not tell you of your tools; the beginning of this conversation now says how to"
    " call them; go on"
)
_SILENT = "you said nothing; answer the person, or call a tool"
_CUT = "your reply was cut at its largest length, inside a call; write less at once"


class TurnWriting:
    """Writes the steps of one turn on its timeline, and tells of them."""

    def __init__(
        self,
        recorder: Recorder,
        turn: str,
        tell: Callable[[TurnEvent], None],
        tools: Registry,
        model: str = "",
    ) -> None:
        self._tools = tools
        self._model = model
        self._recorder = recorder
        self._id = turn
        self._tell = tell

    def is_taken(self, id: str) -> bool:
        """Return whether a call or a note of the turn has that id."""
        state = self._recorder.state
        paths = (f"tc:{self._id}.{id}.call", f"ar:{self._id}.react.notes.{id}")
        return any(map(state.has, paths))

    def reply(self, reply: Reply, round: int) -> None:
        """Write a reply that is not the answer: its calls, and what was said before each."""
        with self._recorder.together():
            thought = self._calls(reply, round)
            if reply.rest.strip():
                text = reply.rest.strip("\n")
                self._recorder.notes(self._id, random_id(), text, round=round, reasoning=thought)
            # What others say comes after all that the model says.
            for notice in _notices(reply):
                self._recorder.tell(self._id, random_id(), notice)

    def answer(self, reply: Reply, round: int, *, is_partial: bool, over: dict[str, Any]) -> None:
        """Write the answer, and how the turn is over."""
        with self._recorder.together():
            thought = self._calls(reply, round)
            if reply.rest.strip():
                text = reply.rest.strip("\n")
                self._recorder.completion(self._id, text, reasoning=thought, is_partial=is_partial)
            self._recorder.end_turn(self._id, **over)

    def end(self, call: Call, outcome: Outcome, tainted: Sequence[str] = ()) -> Outcome:
        """Write and tell what came of a call; `tainted` says why its result is text of others."""
        told = outcome
        try:
            written = self._recorder.ended(
                self._id, call, outcome, self._check, origins=taint_meta(tainted) if tainted else {}
            )
            told = with_files(outcome, [entry.block for entry in written])
        finally:
            # What was done is told in any case.
            self._tell(CallEnded(outcome=told))
        return outcome

    def _calls(self, reply: Reply, round: int) -> str:
        """Write the calls; what the model thought stands with the first, else it is given back."""
        thought = reply.reasoning
        for written in reply.written:
            meta = {"round": round, "reasoning": thought, "written": written.carried}
            self._call(written, {**meta, "mode": reply.mode})
            thought = ""
        return thought

    def _call(self, written: WrittenCall, meta: dict[str, Any]) -> None:
        call, before = written.call, written.before.strip("\n")
        # Who wrote it in which dialect: so that its later turns are written in the same.
        meta = {**meta, "model": self._model, "dialect": call.dialect}
        if WIRE_ID in call.extra:
            meta[WIRE_ID] = call.extra[WIRE_ID]
        if written.frame is not None:
            meta[FRAME] = list(written.frame)
        if before.strip():
            self._recorder.notes(self._id, call, before)
        if written.carried:
            self._recorder.ended(self._id, call, written.outcome(), **meta)
        else:
            self._recorder.started(self._id, call, self._check(call), **meta)

    def _check(self, call: Call) -> CheckedCall | None:
        return check_call(call, self._tools)


def _notices(reply: Reply) -> list[Notice]:
    made_up = [_made_up(one.call, one.result) for one in reply.calls if one.result is not None]
    silent = [Notice(code="empty_reply", message=_SILENT)] if reply.is_silent else []
    taught = [Notice(code="tools_taught", message=_TAUGHT)] if reply.is_unheard else []
    return [*made_up, *(_broken(one, reply.is_cut) for one in reply.broken), *taught, *silent]


def _made_up(call: Call, result: Result) -> Notice:
    said = result.output if result.error is None else result.error
    return Notice(
        code="protocol_violation.written_result",
        message=_MADE_UP.format(id=call.id),
        details={"text": brief(said, _SHOWN)},
    )


def _broken(event: Malformed, is_cut: bool) -> Notice:
    return Notice(
        code="protocol_violation.broken_call",
        message=_CUT if is_cut else event.detail or "this opens like a call, and is none",
        details={"problem": event.code, "text": brief(event.text, _SHOWN)},
    )


# --- Records of a person's answers and of grants, written to the timeline before the call runs ---


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


# --- Blocking writes to a store, run in threads so that the event loop does not wait ---

T = TypeVar("T")


async def run_blocking(work: Callable[[], T]) -> T:
    """Return the result of a function that runs in a thread, always to its end.

    A cancelled caller waits for that end, and is cancelled then: nothing of the caller goes on
    while the thread may still write.
    """
    done = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(done)
    # A thread cannot be cancelled. If the caller returned now, its `finally` blocks would run, and
    # perhaps close the store, while the thread still writes to it.
    except asyncio.CancelledError:
        await asyncio.wait((done,))
        # Retrieve the exception: asyncio logs exceptions that nobody retrieved.
        if not done.cancelled():
            done.exception()
        raise

"""One turn: its loop, and the steps that it writes on the timeline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from callblocks.approvals.question import Grant, Question
from callblocks.core.blocks import text_of
from callblocks.core.calls import Call, CheckedCall, Result
from callblocks.core.errors import ModelError
from callblocks.core.events import CallEnded, Malformed, ModelQueued, RoundBegan, TurnEvent
from callblocks.core.json_values import json_text
from callblocks.core.outcomes import Failure, Notice, Outcome
from callblocks.core.redaction import redact
from callblocks.core.text import brief
from callblocks.guard.workers.threads import Budget
from callblocks.models.model import (
    NativeDelta,
    Piece,
    Request,
    Sampled,
    Spoken,
    Stopped,
    Thinking,
    ToolsUnheard,
    Usage,
)
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.session.event_gate import ANSWERED, Ending, Telling
from callblocks.session.model_choice import SessionSettings
from callblocks.session.prompt import Talk
from callblocks.session.reply import FRAME, WIRE_ID, CallIds, Reply, WrittenCall, random_id
from callblocks.session.speaker import Exchange, Speaker
from callblocks.session.taint import taint_meta
from callblocks.timeline.codec.outcome_blocks import with_files
from callblocks.timeline.recorder import CallRecord, Recorder
from callblocks.views.model_view.neutral import signed

__all__ = (
    "TurnRun",
    "TurnWriting",
    "run_blocking",
    "write_answer",
    "write_grant",
)

# --- Writing a turn down: what the model wrote, and what came of its calls ---
#
# A reply is on the timeline whole or not at all, and so is an answer with the end of its turn. So a
# program that starts again knows what the model was told, and asks for what is missing.

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
        check: Callable[[Call], CheckedCall | None],
        model: str = "",
    ) -> None:
        self._check = check
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
        text = reply.rest.strip("\n") if reply.rest.strip() else ""
        own = random_id()
        # What others say comes after all that the model says.
        notices = [(random_id(), notice) for notice in _notices(reply)]
        calls, thought = self._calls(reply, round)
        with self._recorder.together():
            self._recorder.calls(self._id, calls)
            if text:
                self._recorder.notes(self._id, own, text, round=round, reasoning=thought)
            for id, notice in notices:
                self._recorder.tell(self._id, id, notice)

    def answer(self, reply: Reply, round: int, *, is_partial: bool, over: dict[str, Any]) -> None:
        """Write the answer, and how the turn is over."""
        text = reply.rest.strip("\n") if reply.rest.strip() else ""
        calls, thought = self._calls(reply, round)
        with self._recorder.together():
            self._recorder.calls(self._id, calls)
            if text:
                self._recorder.completion(self._id, text, reasoning=thought, is_partial=is_partial)
            self._recorder.end_turn(self._id, **over)

    def end(self, call: Call, outcome: Outcome, tainted: Sequence[str] = ()) -> Outcome:
        """Write and tell what came of a call; `tainted` says why its result is text of others."""
        told = outcome
        try:
            written = self._recorder.ended(
                self._id, call, outcome, self._check, origins=taint_meta(tainted) if tainted else {}
            )
            told = with_files(outcome, written)
        finally:
            # What was done is told in any case.
            self._tell(CallEnded(outcome=told))
        return outcome

    def _calls(self, reply: Reply, round: int) -> tuple[list[CallRecord], str]:
        """Return the calls to write; what the model thought stands with the first, else it is given
        back.
        """
        # All of it is read and checked before the first step is written: so the recorder does its
        # whole work at once, and no tool is asked while the timeline is locked.
        thought = reply.reasoning
        calls: list[CallRecord] = []
        for written in reply.written:
            meta = {"round": round, "reasoning": thought, "written": written.carried}
            calls.append(self._call(written, {**meta, "mode": reply.mode}))
            thought = ""
        return calls, thought

    def _call(self, written: WrittenCall, meta: dict[str, Any]) -> CallRecord:
        call, before = written.call, written.before.strip("\n")
        # Who wrote it in which dialect: so that its later turns are written in the same.
        meta = {**meta, "model": self._model, "dialect": call.dialect}
        if WIRE_ID in call.extra:
            meta[WIRE_ID] = call.extra[WIRE_ID]
        if written.frame is not None:
            meta[FRAME] = list(written.frame)
        return CallRecord(
            call=call,
            before=before if before.strip() else "",
            checked=None if written.carried else self._check(call),
            outcome=written.outcome() if written.carried else None,
            meta=meta,
        )


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


# --- The loop of one turn ---
#
# Each round
#     ask      Build the request from the timeline and read the reply (`_ask`).
#     again    A reply without calls that is broken, empty or misread is answered by a notice.
#     calls    Write the reply, then run its calls, and write each outcome as it ends.
#     answer   A reply without calls ends the turn; answer and ending are one append.
#
# Invariants
#     - Each step is on the timeline before the next one starts: the reply before its calls run, the
#       outcomes before the model is asked again. A crash loses at most one step.
#     - The first reason to end wins (`_end_by`): a stop is not overwritten by the model error that
#       the cancelled stream raises.

# Characters that are parsed at a time before other tasks of the event loop run.
_SLICE = 16 * 1024


class TurnRun:
    """A turn that runs, in one event loop; `ending` is why it ends, once that is known."""

    def __init__(
        self,
        turn: Turn,
        talk: Talk,
        speaker: Speaker,
        runtime: Runtime,
        writing: TurnWriting,
        settings: SessionSettings,
        tell: Telling,
        streams: Budget | None = None,
    ) -> None:
        self._streams = streams or Budget(1)
        self.usage = Usage()
        self._turn = turn
        self._known = len(turn.tainted)
        self._talk = talk
        self._speaker = speaker
        self._runtime = runtime
        self._writing = writing
        self._settings = settings
        self._tell = tell
        self._ids = CallIds(talk.turn, writing.is_taken)
        self._keys = self._broken = 0
        self._was_silent = self._was_unread = False
        self._calls = talk.calls
        self.ending: Ending | None = None
        self._reading: asyncio.Future[None] | None = None

    @property
    def tainted(self) -> tuple[str, ...]:
        """Return the sources of foreign text in this turn."""
        return self._turn.tainted[self._known :]

    def stop(self, ending: Ending) -> None:
        """End the turn now: the reply breaks off, and calls that run are cancelled."""
        self._end_by(ending)
        self._turn.stop()
        if self._reading is not None:
            self._reading.cancel()

    def cancel(self, call: str) -> bool:
        """Cancel one call that runs; return whether it did."""
        return self._turn.cancel(call)

    async def perform(self, left: Iterable[Call] = ()) -> Ending:
        """Go on until the turn is over; `left` are calls that a program before left to run."""
        timer = self._deadline()
        try:
            await self._run(list(left))
            while self.ending is None:
                if self._talk.round >= self._settings.rounds:
                    return Ending.of("limited", "round_limit")
                await self._round()
            return self.ending
        finally:
            if timer is not None:
                timer.cancel()

    async def _round(self) -> None:
        reply = await self._ask()
        self._speaker.learn([written.call for written in reply.written], reply.mode)
        is_asked_again = self._is_asked_again(reply)
        if not reply.calls and not is_asked_again:
            await self._answer(reply)
            return
        await run_blocking(lambda: self._writing.reply(reply, self._talk.round))
        await self._perform([written.call for written in reply.calls])
        self._broken = self._broken + 1 if reply.broken and not reply.calls else 0
        if self._broken == self._settings.broken:
            self._end_by(Ending.of("failed", "broken_calls"))
        if self._settings.tokens and self.usage.tokens_out >= self._settings.tokens:
            self._end_by(Ending.of("limited", "token_limit"))

    def _is_asked_again(self, reply: Reply) -> bool:
        """Return whether the model is asked again though it called nothing; a notice says why."""
        if self.ending is not None:
            return False
        if not self._calls:
            # After calls it may repeat what they gave; before any there is nothing to repeat.
            reply.refuse_results()
        # A call that was not read is told to it, with its calls; without any it is asked once more.
        if reply.unread and (reply.calls or not self._was_unread):
            self._was_unread = self._was_unread or not reply.calls
            reply.refuse_unread()
        # It never heard of its tools: from now on the prompt teaches them.
        if reply.is_unheard and not reply.written:
            self._speaker.give_up_tools()
        is_taught_now = reply.mode != "text" and self._speaker.mode == "text"
        reply.is_unheard = reply.is_unheard and not reply.written and is_taught_now
        # It says nothing to the results of its calls, or tags without a word, as small models do
        # now and then: once.
        is_over = reply.is_cut or reply.is_filtered
        is_silent = reply.is_empty and not is_over and not reply.broken
        is_heard = self._calls > 0 or bool(reply.rest.strip())
        reply.is_silent = is_silent and is_heard and not self._was_silent
        self._was_silent = reply.is_silent
        # What opened like a call and is none is told to it, too.
        return reply.is_unheard or reply.is_silent or bool(reply.broken)

    async def _ask(self) -> Reply:
        """Read a reply to its end, or as far as it came."""
        self._talk.begin_round()
        self._tell(RoundBegan(number=self._talk.round))
        while True:
            exchange = self._speaker.exchange()
            request = self._talk.request(exchange.dialogue, self._settings, exchange.grammar)
            reply = self._new_reply(exchange, request)
            try:
                if self.ending is None:
                    self._reading = asyncio.ensure_future(self._read(request, reply))
                    await self._reading
            except asyncio.CancelledError:
                # `stop` cancels the reading future, which raises here, too. Only a cancellation of
                # this task, or one without a known ending, is passed on.
                if self.ending is None or _is_cancelled():
                    raise
            except ModelError as error:
                # The server has no tools, and said nothing else: it is asked in text at once.
                is_new = exchange.mode != "text" and self._speaker.mode == "text"
                if error.code == "model_no_tools" and is_new and not reply.length:
                    continue
                self._end_by(Ending.by(error))
            finally:
                self._reading = None
                reply.close()
                self._keys = reply.keys
            return reply

    def _new_reply(self, exchange: Exchange, request: Request) -> Reply:
        return Reply(
            exchange.parser,
            self._ids,
            self._tell,
            carries=self._speaker.model.writes_results,
            keys=self._keys,
            round=self._talk.round,
            tool_name=exchange.tool_name,
            mode=exchange.mode,
            signed=signed(_shown_texts(request)),
        )

    async def _read(self, request: Request, reply: Reply) -> None:
        def tell(before: int) -> None:
            self._tell(ModelQueued(before=before))

        async with (
            self._streams.place(self._turn.user, tell),
            aclosing(self._speaker.pieces(request)) as pieces,
        ):
            async for piece in pieces:
                # Most pieces are a word: they go in without a coroutine of their own.
                if type(piece) is Spoken and len(piece.text) <= min(
                    self._settings.text - reply.length, _SLICE
                ):
                    reply.feed(piece.text)
                else:
                    await self._take(piece, reply)

    async def _take(self, piece: Piece, reply: Reply) -> None:
        match piece:
            case Spoken(text=text):
                await self._feed(text, reply, reply.feed)
            case Thinking(text=text):
                await self._feed(text, reply, reply.think)
            case NativeDelta(text=text):
                reply.open_native(piece)
                await self._feed(text, reply, lambda part: reply.feed_native(piece.slot, part))
            case ToolsUnheard():
                reply.is_unheard = True
            case Stopped(reason=reason):
                reply.end(reason)
            case Sampled():
                pass
            case Usage(tokens_in=asked, tokens_out=said):
                self.usage = Usage(self.usage.tokens_in + asked, self.usage.tokens_out + said)

    async def _feed(self, text: str, reply: Reply, feed: Callable[[str], None]) -> None:
        """Take a piece of text, as much of it as there is room for."""
        room = self._settings.text - reply.length
        if len(text) <= min(room, _SLICE):
            feed(text)
            return
        for at in range(0, min(len(text), room), _SLICE):
            if at:
                await asyncio.sleep(0)
            feed(text[at : min(at + _SLICE, room)])
        if len(text) > room:
            words = f"the reply passes {self._settings.text:,} characters"
            raise ModelError("model_too_long", words)

    async def _answer(self, reply: Reply) -> None:
        if reply.is_cut:
            self._end_by(Ending.of("limited", "reply_cut"))
        elif reply.is_filtered:
            self._end_by(Ending.of("limited", "reply_filtered"))
        elif reply.is_empty:
            self._end_by(Ending.of("failed", "empty_reply"))
        ending = self._end_by(ANSWERED)
        over = {**ending.record(self.usage, self.tainted), **self._speaker.facts}
        is_partial = ending != ANSWERED
        await run_blocking(
            lambda: self._writing.answer(reply, self._talk.round, is_partial=is_partial, over=over)
        )

    async def _perform(self, calls: list[Call]) -> None:
        """Run the calls of a reply; one that broke off runs none."""
        room = max(self._settings.calls - self._calls, 0)
        runnable = [] if self.ending else calls[:room]
        self._calls += len(runnable)
        await self._run(runnable)
        for call in calls[len(runnable) :]:
            self._end(call, self._refused(call))
        self._talk.put_in_order(calls)

    def _refused(self, call: Call) -> Outcome:
        code, why = "limit_reached", f"a turn makes {self._settings.calls} calls at most"
        if self.ending is not None:
            code, why = "cancelled", self.ending.message
        failure = Failure(code=code, message=f"{call.name} did not run: {why}")
        return Outcome(id=call.id, name=call.name, error=failure)

    async def _run(self, calls: list[Call]) -> None:
        by_id = {call.id: call for call in calls}
        listen = self._tell.listener(asyncio.get_running_loop())
        async with aclosing(self._runtime.run(calls, self._turn, listen)) as outcomes:
            async for outcome in outcomes:
                self._end(by_id[outcome.id], outcome)

    def _end(self, call: Call, outcome: Outcome) -> None:
        new = self._turn.take_new_taints() if self._turn.has_new_taints else ()
        self._talk.came(self._writing.end(call, outcome, new))

    def _end_by(self, ending: Ending) -> Ending:
        """Set the reason for the end, unless there is one already; return the reason that holds."""
        self.ending = self.ending or ending
        return self.ending

    def _deadline(self) -> asyncio.TimerHandle | None:
        if self._settings.seconds is None:
            return None
        ending = Ending.of("limited", "time_limit")
        return asyncio.get_running_loop().call_later(self._settings.seconds, self.stop, ending)


def _shown_texts(request: Request) -> Iterator[str]:
    """Yield every text that a model is shown beside its instructions, its own native calls too."""
    for message in request.messages[1:]:
        yield text_of(list(message.parts))
        yield from (json_text(call.input) for call in message.calls)


def _is_cancelled() -> bool:
    """Return whether this task itself was cancelled, not just the future that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

"""One turn: the model is asked, its calls run, their results go back to it, until it answers.

Everything is on the timeline before the next step is taken: what the model wrote before its calls
run, what they gave before it is asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress

import msgspec

from callblocks.model.calls import Call
from callblocks.model.errors import ModelError
from callblocks.model.outcomes import Failure, Outcome
from callblocks.model.turn_events import CallBegan, CallTold, RoundBegan, TurnEvent
from callblocks.models.model import Model, Piece, Request, Spoken, Stopped, Thinking, Usage
from callblocks.parser import Parser
from callblocks.runtime.progress import Began, Progress, Said
from callblocks.runtime.runtime import Runtime
from callblocks.runtime.turn import Turn
from callblocks.session.call_ids import CallIds
from callblocks.session.ending import ANSWERED, Ending
from callblocks.session.reply import Reply, WrittenCall
from callblocks.session.settings import SessionSettings
from callblocks.session.talk import Talk
from callblocks.session.turn_writing import TurnWriting

__all__ = ("Speaker", "TurnRun")


class Speaker(msgspec.Struct, frozen=True):
    """Who replies: a model, how its replies are read, and the grammar that it is held to."""

    model: Model
    parser: Callable[[], Parser]
    grammar: str = ""


class TurnRun:
    """A turn that runs, in one event loop."""

    def __init__(
        self,
        turn: Turn,
        talk: Talk,
        speaker: Speaker,
        runtime: Runtime,
        writing: TurnWriting,
        settings: SessionSettings,
        tell: Callable[[TurnEvent], None],
    ) -> None:
        self.usage = Usage()
        self._turn = turn
        self._talk = talk
        self._speaker = speaker
        self._runtime = runtime
        self._writing = writing
        self._settings = settings
        self._tell = tell
        self._ids = CallIds(talk.turn, writing.is_taken)
        self._keys = self._calls = self._broken = 0
        self._ending: Ending | None = None
        self._reading: asyncio.Future[None] | None = None

    def stop(self, ending: Ending) -> None:
        """End the turn now: the reply breaks off, and calls that run are cancelled."""
        self._end_by(ending)
        self._turn.stop()
        if self._reading is not None:
            self._reading.cancel()

    async def perform(self, left: Iterable[Call] = ()) -> Ending:
        """Go on until the turn is over; `left` are calls that a program before left to run."""
        timer = self._deadline()
        try:
            self._talk.came(await self._run(list(left)))
            while self._ending is None:
                if self._talk.round >= self._settings.rounds:
                    return Ending.of("limited", "round_limit")
                await self._round()
            return self._ending
        finally:
            if timer is not None:
                timer.cancel()

    async def _round(self) -> None:
        reply = await self._ask()
        if reply.calls or (reply.broken and self._ending is None):
            self._writing.calls(reply)
            await self._perform(reply.calls)
        else:
            self._answer(reply)
        self._broken = self._broken + 1 if reply.broken and not reply.calls else 0
        if self._broken == self._settings.broken:
            self._end_by(Ending.of("failed", "broken_calls"))
        if self._settings.tokens and self.usage.tokens_out >= self._settings.tokens:
            self._end_by(Ending.of("limited", "token_limit"))

    async def _ask(self) -> Reply:
        """Read a reply to its end, or as far as it came."""
        request = self._talk.request(self._settings, self._speaker.grammar)
        carry = self._writing.carry if self._speaker.model.writes_results else None
        reply = Reply(self._speaker.parser(), self._ids, self._tell, carry, self._keys)
        self._tell(RoundBegan(number=request.round))
        self._reading = asyncio.ensure_future(self._read(request, reply))
        try:
            await self._reading
        except asyncio.CancelledError:
            if self._ending is None:
                raise
        except ModelError as error:
            self._end_by(Ending("failed", error.code, error.message))
        finally:
            self._reading = None
            reply.close()
            self._keys = reply.keys
        return reply

    async def _read(self, request: Request, reply: Reply) -> None:
        model = self._speaker.model
        try:
            async with aclosing(model.reply(request)) as pieces:
                async for piece in pieces:
                    self._take(piece, reply)
        except ModelError:
            raise
        except Exception as error:  # a model of a caller may do anything
            words = f"{model.name}: {type(error).__name__}: {error}"
            raise ModelError("model_failed", words) from error

    def _take(self, piece: Piece, reply: Reply) -> None:
        match piece:
            case Spoken(text=text):
                reply.feed(text)
            case Thinking(text=text):
                reply.think(text)
            case Stopped(reason=reason):
                reply.is_cut = reason == "length"
            case Usage(tokens_in=asked, tokens_out=said):
                self.usage = Usage(self.usage.tokens_in + asked, self.usage.tokens_out + said)
        if reply.length > self._settings.text:
            words = f"the reply passes {self._settings.text:,} characters"
            raise ModelError("model_too_long", words)

    def _answer(self, reply: Reply) -> None:
        if reply.is_cut:
            self._end_by(Ending.of("limited", "reply_cut"))
        if reply.rest.strip():
            self._writing.answer(reply, is_partial=self._ending is not None)
        elif not reply.carried:
            self._end_by(Ending.of("failed", "empty_reply"))
        self._end_by(ANSWERED)

    async def _perform(self, calls: list[WrittenCall]) -> None:
        """Run the calls of a reply; one that broke off runs none."""
        room = max(self._settings.calls - self._calls, 0)
        runnable = [] if self._ending else [written.call for written in calls[:room]]
        self._calls += len(runnable)
        ended = await self._run(runnable)
        refused = [self._refuse(written.call) for written in calls[len(runnable) :]]
        self._talk.came([*ended, *refused])

    def _refuse(self, call: Call) -> Outcome:
        if self._ending is not None:
            words = f"{call.name} did not run: the reply broke off ({self._ending.message})"
            failure = Failure(code="cancelled", message=words)
        else:
            words = f"{call.name} did not run: a turn makes {self._settings.calls} calls at most"
            failure = Failure(code="limit_reached", message=words)
        return self._writing.end(call, Outcome(id=call.id, name=call.name, error=failure))

    async def _run(self, calls: list[Call]) -> list[Outcome]:
        by_id = {call.id: call for call in calls}
        listen = self._in_loop(asyncio.get_running_loop())
        async with aclosing(self._runtime.run(calls, self._turn, listen)) as outcomes:
            return [self._writing.end(by_id[one.id], one) async for one in outcomes]

    def _in_loop(self, loop: asyncio.AbstractEventLoop) -> Callable[[Progress], None]:
        """What a tool says in a thread of its own is told in the one of the loop."""

        def listen(progress: Progress) -> None:
            match progress:
                case Began(id=id):
                    self._tell(CallBegan(id=id))
                case Said(id=id, text=text):
                    with suppress(RuntimeError):  # the loop is closed: nobody listens
                        loop.call_soon_threadsafe(self._tell, CallTold(id=id, text=text))
                case _:
                    pass

        return listen

    def _end_by(self, ending: Ending) -> None:
        self._ending = self._ending or ending

    def _deadline(self) -> asyncio.TimerHandle | None:
        if self._settings.seconds is None:
            return None
        ending = Ending.of("limited", "time_limit")
        return asyncio.get_running_loop().call_later(self._settings.seconds, self.stop, ending)

"""A conversation with a model that calls tools: one turn after another, on one timeline.

    async for event in session.turn("What is in the folder?"):
        ...

A turn never raises for what a model, a tool or a store does: it ends, and says how. All that a
session knows is on its timeline, so one that is made anew goes on where the last one was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from callblocks.model.calls import Call
from callblocks.model.errors import TimelineError, ToolError, TurnRunning
from callblocks.model.turn_events import CallEnded, TurnBegan, TurnEnded, TurnEvent
from callblocks.models.model import Model, Usage
from callblocks.runtime.policy.policy import Policy
from callblocks.session.ending import STOPPED, Ending
from callblocks.session.interrupted import (
    Left,
    interrupted_turn,
    open_turn,
    owner_lives,
    this_owner,
)
from callblocks.session.settings import Attachment, SessionSettings
from callblocks.session.stage import Desk, Stage
from callblocks.session.turn_run import TurnRun
from callblocks.timeline.recorder import Recorder
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("Session", "Tell")

Tell: TypeAlias = Callable[[TurnEvent], None]

_INTERRUPTED = Ending.of("interrupted", "interrupted")


class Session:
    """One conversation, in one event loop. `member` names who speaks, among several.

    `dialect` is what the model writes, or "auto" for any. `desk` has what running calls needs:
    a book of approvals and who asks, a journal, the workspace. With no policy nothing runs.
    """

    def __init__(
        self,
        recorder: Recorder,
        model: Model,
        *,
        tools: Registry | Iterable[Tool] = (),
        policy: Policy | None = None,
        dialect: str = "tool-fence",
        settings: SessionSettings | None = None,
        desk: Desk | None = None,
        member: str = "",
    ) -> None:
        self.recorder = recorder
        self.model = model
        self.member = member
        self._desk = desk or Desk()
        registry = tools if isinstance(tools, Registry) else Registry(tools)
        own = settings or SessionSettings()
        self._stage = Stage(recorder, model, registry, policy, dialect, own, self._desk)
        self._run: TurnRun | None = None
        self._turn: str | None = None

    @property
    def name(self) -> str:
        """The name of the conversation, which is that of its timeline."""
        return self.recorder.timeline.name

    @property
    def is_running(self) -> bool:
        """Whether a turn runs in this session."""
        return self._turn is not None

    @property
    def turn_id(self) -> str | None:
        """The turn that runs; empty while it is being taken."""
        return self._turn

    def stop(self) -> None:
        """End the turn that runs; nothing where there is none."""
        if self._run is not None:
            self._run.stop(STOPPED)

    async def turn(
        self, prompt: str, attachments: Sequence[Attachment] = ()
    ) -> AsyncGenerator[TurnEvent, None]:
        """One turn, event by event; whoever leaves early stops it."""
        events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
        running = asyncio.ensure_future(self.run(prompt, attachments, tell=events.put_nowait))
        running.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await running
        finally:
            self.stop()
            await asyncio.gather(running, return_exceptions=True)

    async def run(
        self, prompt: str, attachments: Sequence[Attachment] = (), *, tell: Tell
    ) -> TurnEnded:
        """One turn to its end; raises `TurnRunning` where one runs already, here or elsewhere."""
        self._check_free()
        own = self._named(tell)
        return await self._end(self._begin(prompt, attachments, own), own)

    async def resume(self, *, tell: Tell) -> TurnEnded | None:
        """Go on with the last turn, where its program died; `None` where there is none such.

        Calls that had not begun run now, unless the turn was settled before. Those whose end nobody
        knows are `indeterminate`.
        """
        self._check_free()
        turn = self._left_turn() or interrupted_turn(self.recorder.state)
        own = self._named(tell)
        return None if turn is None else await self._end(self._go_on(turn, own), own)

    def settle(self) -> TurnEnded | None:
        """Mark a turn as interrupted whose program died; `None` where there is none such."""
        turn = None if self.is_running else self._left_turn()
        if turn is None:
            return None
        Left(self.recorder, self._desk.journal, turn).settle()
        return self._close(turn, _INTERRUPTED, Usage())

    async def _begin(self, prompt: str, files: Sequence[Attachment], tell: Tell) -> TurnEnded:
        self.settle()
        before = self.recorder.state.last
        self._turn = turn = self.recorder.new_turn(this_owner())
        tell(TurnBegan(turn=turn))
        failed = self._attach(turn, files)
        self.recorder.prompt(turn, prompt)
        if failed is not None:
            return self._close(turn, failed, Usage())
        return await self._perform(turn, before, tell)

    async def _go_on(self, turn: str, tell: Tell) -> TurnEnded:
        entries = self.recorder.timeline.entries()
        before = next(entry.seq for entry in entries if entry.block.turn_id == turn) - 1
        self._turn = turn
        outcomes, left = Left(self.recorder, self._desk.journal, turn).settle(keep=True)
        self.recorder.take_over(turn, this_owner())
        tell(TurnBegan(turn=turn))
        for outcome in outcomes:
            tell(CallEnded(outcome=outcome))
        return await self._perform(turn, before, tell, left)

    async def _perform(
        self, turn: str, before: int, tell: Tell, left: Sequence[Call] = ()
    ) -> TurnEnded:
        self._run = run = self._stage.set_up(turn, before, tell)
        ending = _INTERRUPTED
        try:
            ending = await run.perform(left)
        finally:
            ended = self._close(turn, ending, run.usage)
        return ended

    async def _end(self, work: Awaitable[TurnEnded], tell: Tell) -> TurnEnded:
        """Wait for the end of a turn, whatever happens to the store, and tell it."""
        self._turn = ""
        try:
            ended = await work
        except TimelineError as error:
            ending = Ending("failed", error.code, error.message)
            ended = ending.event(self._turn, Usage())
        finally:
            self._turn = self._run = None
        tell(ended)
        return ended

    def _close(self, turn: str, ending: Ending, usage: Usage) -> TurnEnded:
        ended = ending.event(turn, usage, self.member)
        meta = msgspec.structs.asdict(ended)
        self.recorder.end_turn(turn, **{name: meta[name] for name in _KEPT})
        return ended

    def _attach(self, turn: str, files: Sequence[Attachment]) -> Ending | None:
        try:
            for file in files:
                self.recorder.attach(turn, file.name, file.content)
        except ToolError as error:
            return Ending("failed", error.code, error.message)
        return None

    def _check_free(self) -> None:
        if self.is_running:
            raise TurnRunning(f"a turn of {self.name} runs already; wait for its end, or stop it")
        state = self.recorder.state
        turn = open_turn(state)
        if turn is not None and self._is_elsewhere(state.owners[turn]):
            raise TurnRunning(f"{turn} of {self.name} runs in another program")

    def _left_turn(self) -> str | None:
        """The last turn, if it is not over and nobody has it any more."""
        state = self.recorder.state
        turn = open_turn(state)
        return None if turn is None or self._is_elsewhere(state.owners[turn]) else turn

    def _is_elsewhere(self, owner: str) -> bool:
        return owner != this_owner() and owner_lives(owner)

    def _named(self, tell: Tell) -> Tell:
        if not self.member:
            return tell
        return lambda event: tell(msgspec.structs.replace(event, member=self.member))


_KEPT = ("status", "code", "message", "tokens_in", "tokens_out")

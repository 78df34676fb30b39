"""A conversation with a model that calls tools: one turn after another, on one timeline.

    async for event in session.turn("What is in the folder?"):
        ...

A turn never raises for what a model, a tool or a store does: it ends, and says how. All that a
session knows is on its timeline, so one that is made anew goes on where the last one was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.errors import CallerError, TimelineError, ToolError, TurnRunning
from callblocks.core.events import (
    CallEnded,
    CallReady,
    Malformed,
    ModelWrote,
    Problem,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.paths import MessagePath, file_path
from callblocks.core.specs import ToolSpecs
from callblocks.models.model import Model, Usage, mode_of
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.event_gate import INTERRUPTED, STOPPED, Ending, Telling
from callblocks.session.model_choice import (
    NO_CHOICE,
    Attachment,
    Choice,
    ModelMenu,
    Offered,
    SessionSettings,
    choice_of,
)
from callblocks.session.turn import TurnRun, run_blocking
from callblocks.session.turn_factory import RuntimeDeps, TurnFactory
from callblocks.session.turn_lock import TurnTaking
from callblocks.timeline.branches import Branch
from callblocks.timeline.recorder import GivenFile, Recorder
from callblocks.toolkits.turn_files import open_recorder
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry

__all__ = (
    "Session",
    "Tell",
    "Trial",
    "followed",
    "named_apart",
    "try_model",
)

# --- The files that a person gives with a prompt, each under a name of its own ---
#
#     image.png, image.png        image.png, image-2.png


def named_apart(files: Iterable[Attachment]) -> list[Attachment]:
    """Return the files under distinct names; raise `BadPath` for a name that no file can have."""
    named: dict[str, Attachment] = {}
    # Count the files of each name. Trying -2, -3, … from the start for each file would make a
    # thousand files of one name cost a million tries.
    counts: dict[str, int] = {}
    for file in files:
        name = own = _checked(file.name)
        while own in named:
            counts[name] = counts.get(name, 1) + 1
            own = _checked(_numbered(name, counts[name]))
        named[own] = Attachment(own, file.content)
    return list(named.values())


def _checked(name: str) -> str:
    return file_path("turn", name, "attachments").name


def _numbered(name: str, count: int) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}-{count}{path.suffix}"))


# --- A turn as an async iterator of events, for a single consumer ---


async def followed(
    begin: Callable[[Callable[[TurnEvent], None]], Coroutine[Any, Any, object]],
    stop: Callable[[], None],
) -> AsyncGenerator[TurnEvent, None]:
    """Yield the events of a turn; raise what beginning it raises; leaving early stops the turn."""
    events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
    running = asyncio.ensure_future(begin(events.put_nowait))
    running.add_done_callback(lambda _: events.put_nowait(None))
    has_begun = False
    try:
        while (event := await events.get()) is not None:
            has_begun = True
            yield event
        await running
    finally:
        # `begin` raises before the first event if another turn runs: `stop` would then end that
        # one.
        if not has_begun:
            running.cancel()
        elif not running.done():
            stop()
        await asyncio.gather(running, return_exceptions=True)


# --- A conversation with a model that calls tools: one turn after another, on one timeline ---

Tell: TypeAlias = Callable[[TurnEvent], None]


class Session:
    """One conversation, in one event loop. `member` names who speaks, among several.

    `dialect` is what the model is taught; "" is the dialect of its family. `desk` has what running
    calls needs: a book of approvals and who asks, a journal, the workspace. With no policy nothing
    runs.
    """

    def __init__(
        self,
        recorder: Recorder,
        model: Model,
        *,
        tools: ToolSpecs = (),
        policy: Policy | None = None,
        dialect: str = "",
        settings: SessionSettings | None = None,
        desk: RuntimeDeps | None = None,
        member: str = "",
    ) -> None:
        self.recorder = recorder
        self.model = model
        self.member = member
        self._desk = desk or RuntimeDeps()
        registry = tools if isinstance(tools, Registry) else Registry(tools)
        own = settings or SessionSettings()
        offers = ModelMenu((Offered(model, dialect),))
        self._stage = TurnFactory(recorder, offers, registry, policy, own, self._desk)
        self._taking = TurnTaking(recorder, self._desk.journal, self._desk.owner)
        self._run: TurnRun | None = None
        self._turn: str | None = None
        self._ended: TurnEnded | None = None
        self._is_stopping = False
        # A caller is about to run a turn here: the host must not close the session.
        self.is_held = False

    @property
    def name(self) -> str:
        """The name of the conversation, which is that of its timeline."""
        return self.recorder.timeline.name

    @property
    def user(self) -> str:
        """Return the user whose share of the program's budgets the turns use."""
        return self._stage.user

    @user.setter
    def user(self, name: str) -> None:
        self._stage.user = name

    @property
    def is_running(self) -> bool:
        """Return whether a turn runs in this session."""
        return self._turn is not None

    @property
    def turn_id(self) -> str | None:
        """The turn that runs; empty while it is being taken."""
        return self._turn

    def offer(self, *more: Offered, label: str = "") -> None:
        """Let turns choose further models, too, by their names; `label` names the first one."""
        first, *others = self._stage.offers.offered
        own = msgspec.structs.replace(first, label=label or first.label)
        self._stage.offers = ModelMenu((own, *others, *more))

    def check(self, choice: Choice) -> None:
        """Raise `CallerError` for a choice of what is not here."""
        self._stage.offers.check(choice)

    def stop(self) -> None:
        """End the turn that runs; nothing where there is none."""
        self._is_stopping = self.is_running
        if self._run is not None:
            self._run.stop(STOPPED)

    def cancel(self, call: str) -> bool:
        """Cancel one call that runs, and let the turn go on; return whether it ran."""
        return self._run is not None and self._run.cancel(call)

    def turn(
        self, prompt: str, attachments: Sequence[Attachment] = ()
    ) -> AsyncGenerator[TurnEvent, None]:
        """One turn, event by event; whoever leaves early stops it."""
        return followed(lambda tell: self.run(prompt, attachments, tell=tell), self.stop)

    async def run(
        self,
        prompt: str,
        attachments: Sequence[Attachment] = (),
        choice: Choice = NO_CHOICE,
        *,
        tell: Tell,
        branch: Branch | None = None,
        calls: Sequence[Call] = (),
    ) -> TurnEnded:
        """One turn to its end; raises `TurnRunning` where one runs already, here or elsewhere.

        With a `branch` it follows the turn that this names, else the last one. `calls` are run
        before the model is asked, as if it had written them; they are judged like any other.

        The name of an attachment that no file can have is a `BadPath`. A prompt of nothing without
        any, and a choice of what is not here, is a `CallerError`. Then nothing was begun.
        """
        self.check(choice)
        if not prompt.strip() and not attachments:
            raise CallerError("the prompt is empty; say what to ask, or attach a file")
        files = named_apart(attachments)
        own = self._named(tell)
        begun = lambda: self._begin(prompt, files, choice, own, branch, calls)  # noqa: E731
        ended = await self._play(begun, own)
        assert ended is not None, "a turn that began has an end"
        return ended

    async def resume(self, *, tell: Tell) -> TurnEnded | None:
        """Go on with the last turn, where its program died; `None` where there is none such.

        Calls that had not begun run now, unless the turn was settled before. Those whose end nobody
        knows are `indeterminate`.
        """
        own = self._named(tell)
        return await self._play(lambda: self._go_on(own), own)

    def settle(self, ending: Ending = INTERRUPTED) -> TurnEnded | None:
        """End a turn whose program died, as interrupted or otherwise; `None` where there is none.

        Calls that waited for an interrupted turn to go on wait no more.
        """
        if self.is_running:
            return None
        self._taking.give_up()
        turn = self._taking.left()
        if turn is None:
            return None
        self._taking.settle(turn)
        return self._close(turn, ending, Usage())

    async def _begin(
        self,
        prompt: str,
        files: Sequence[Attachment],
        choice: Choice,
        tell: Tell,
        branch: Branch | None,
        calls: Sequence[Call],
    ) -> TurnEnded:
        try:
            failed = await run_blocking(lambda: self._take(prompt, files, choice, branch))
        except asyncio.CancelledError:
            # The program ends before the turn has begun: whoever comes next can go on with it.
            if self._turn:
                with suppress(TimelineError):
                    self._taking.end(self._turn, INTERRUPTED, Usage())
            raise
        turn = self._turn or ""
        tell(TurnBegan(turn=turn))
        if failed is not None:
            return self._close(turn, failed, Usage())
        return await self._perform(turn, self.recorder.state.turns[turn] - 1, tell, calls)

    def _take(
        self, prompt: str, files: Sequence[Attachment], choice: Choice, branch: Branch | None
    ) -> Ending | None:
        """Take a turn with its message; return how it ends where its files cannot be written."""
        chosen = msgspec.to_builtins(choice)
        try:
            given = [GivenFile(file.name, file.content) for file in files]
            self._turn = self._taking.take(prompt, given, chosen, branch)
        except ToolError as error:
            # The message is kept also where its files cannot be.
            self._turn = self._taking.take(prompt, (), chosen, branch)
            return Ending.by(error)
        return None

    async def _go_on(self, tell: Tell) -> TurnEnded | None:
        turn = self._taking.interrupted()
        if turn is None:
            return None
        state = self.recorder.state
        if not state.has(str(MessagePath(turn, "user.prompt"))):
            # Older versions took a turn before they wrote its prompt: nothing is left to resume.
            self._taking.end(turn, INTERRUPTED, Usage())
            return None
        outcomes, left = self._taking.take_over(turn)
        self._turn = turn
        tell(TurnBegan(turn=turn))
        for outcome in outcomes:
            tell(CallEnded(outcome=outcome))
        return await self._perform(turn, self.recorder.state.turns[turn] - 1, tell, left)

    async def _perform(
        self, turn: str, before: int, tell: Tell, left: Sequence[Call] = ()
    ) -> TurnEnded:
        """Play a turn that is on the timeline with its prompt; `before` is the last before it."""
        telling = Telling(tell)
        ending: Ending | None = None
        try:
            self._run = run = self._stage.set_up(turn, before, self._chosen(turn), telling)
            if self._is_stopping:
                run.stop(STOPPED)
            ending = await run.perform(left)
        except TimelineError as error:
            ending = Ending.by(error)
        finally:
            # A turn that was stopped is that, also where its program ends before it has.
            known = self._run and self._run.ending
            ended = self._finish(turn, ending or known or INTERRUPTED, telling)
        return ended

    async def _play(
        self, begin: Callable[[], Awaitable[TurnEnded | None]], tell: Tell
    ) -> TurnEnded | None:
        """See a turn to its end, whatever happens to the store, and tell it."""
        if self.is_running:
            raise TurnRunning(f"a turn of {self.name} runs already; wait for its end, or stop it")
        self._turn, self._ended, self._is_stopping = "", None, False
        try:
            with self._taking.having():
                return await begin()
        except TimelineError as error:
            return self._fail(self._turn, Ending.by(error))
        finally:
            # One that is cancelled with its program is over, too.
            self._turn = self._run = None
            if self._ended is not None:
                tell(self._ended)

    def _finish(self, turn: str, ending: Ending, telling: Telling) -> TurnEnded:
        """Give every call an end, and then the turn.

        In one that is interrupted, calls that have not begun wait for whoever goes on with it.
        """
        run, waiting = self._run, list[Call]()
        try:
            if ending == INTERRUPTED:
                outcomes, waiting = self._taking.pause(turn, telling.begun)
            else:
                outcomes = self._taking.settle(turn)
            for outcome in outcomes:
                telling(CallEnded(outcome=outcome))
        finally:
            telling.close(ending.message, {call.id for call in waiting})
            if ending != INTERRUPTED:
                self._stage.withdraw()
        usage, tainted = (run.usage, run.tainted) if run is not None else (Usage(), ())
        return self._close(turn, ending, usage, tainted)

    def _close(
        self, turn: str, ending: Ending, usage: Usage, tainted: Sequence[str] = ()
    ) -> TurnEnded:
        self._taking.end(turn, ending, usage, tainted)
        self._ended = ended = ending.event(turn, usage, self.member)
        return ended

    def _fail(self, turn: str, ending: Ending) -> TurnEnded:
        """End a turn whose store broke; whoever comes next ends it, if that cannot be written."""
        self._ended = failed = ending.event(turn, Usage(), self.member)
        if turn:
            with suppress(TimelineError):
                self._taking.end(turn, ending, Usage())
        return failed

    def _attach(self, turn: str, files: Sequence[Attachment]) -> Ending | None:
        """Write files into a turn, all or none; return how the turn ends if they cannot be."""
        try:
            with self.recorder.together():
                for file in files:
                    self.recorder.attach(turn, file.name, file.content, member=file.member)
        except ToolError as error:
            return Ending.by(error)
        return None

    def _chosen(self, turn: str) -> Choice:
        """Return the choice that the turn's prompt records."""
        prompt = self.recorder.state.at(str(MessagePath(turn, "user.prompt")))
        return choice_of(prompt[-1].block.meta) if prompt else NO_CHOICE

    def _named(self, tell: Tell) -> Tell:
        if not self.member:
            return tell
        return lambda event: tell(msgspec.structs.replace(event, member=self.member))


# --- One real turn with a model and a tiny tool: does it call, natively or as text, in which
#     dialect? ---
#
# The turn is a session's, with the model opened as a chat opens it. What is found out is read from
# the events of the turn, so a chat with the same options does the same.

_PROMPT = "Add 19 and 23 with the tool add_numbers. Then say the sum in one short sentence."
_SUM = "42"
_ROUNDS = 3


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a trial.

    `mode` is the mode in which the model is called, once `auto` is resolved. `dialect` is that
    of the first call, `native` for one in the API's own form and "" where none came. `ran` says
    whether a call ran, `used` whether the answer has its result. `first_seconds` is the time to the
    first call or word, `seconds` to the end. `broken` are the codes of calls that could not be
    read.
    """

    model: str
    mode: str = ""
    dialect: str = ""
    ran: bool = False
    used: bool = False
    first_seconds: float = 0.0
    seconds: float = 0.0
    status: str = ""
    code: str = ""
    message: str = ""
    said: str = ""
    broken: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if a call ran and the turn was answered."""
        return self.ran and self.status == "answered"


@tool(read_only=True)
def add_numbers(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def try_model(offered: Offered, settings: SessionSettings) -> Trial:
    """Have the model call the tool, in a session that is gone afterwards."""
    events: list[TurnEvent] = []
    began = time.monotonic()
    first = 0.0

    def tell(event: TurnEvent) -> None:
        nonlocal first
        if not first and _is_said(event):
            first = time.monotonic() - began
        events.append(event)

    rule = Rule(decide="allow", tool=(add_numbers.name,), because="it only adds")
    policy = Policy((rule,), name="trial", autoexec=True)
    own = msgspec.structs.replace(settings, rounds=_ROUNDS, system=offered.system or "")
    with (
        TemporaryDirectory(prefix="callblocks-trial-") as folder,
        open_recorder(folder, "trial") as recorder,
    ):
        session = Session(
            recorder,
            offered.model,
            tools=[add_numbers],
            policy=policy,
            dialect=offered.dialect,
            settings=own,
        )
        ended = await session.run(_PROMPT, tell=tell)
    return _trial(offered, events, ended, first, time.monotonic() - began)


def _trial(
    offered: Offered, events: list[TurnEvent], ended: TurnEnded, first: float, seconds: float
) -> Trial:
    written = [event.event for event in events if isinstance(event, ModelWrote)]
    calls = [event.call for event in written if isinstance(event, CallReady)]
    outcomes = [event.outcome for event in events if isinstance(event, CallEnded)]
    starts = [at for at, event in enumerate(events) if isinstance(event, RoundBegan)]
    answer = _said(events[starts[-1] :] if starts else events)
    return Trial(
        model=offered.name,
        mode=mode_of(offered.model),
        dialect=(calls[0].dialect or "text") if calls else "",
        ran=any(outcome.ok for outcome in outcomes),
        used=_SUM in answer,
        first_seconds=round(first, 3),
        seconds=round(seconds, 3),
        status=ended.status,
        code=ended.code or "",
        message=ended.message or "",
        said=_said(events).strip(),
        broken=tuple(event.code for event in written if isinstance(event, Malformed | Problem)),
    )


def _said(events: list[TurnEvent]) -> str:
    written = [event.event for event in events if isinstance(event, ModelWrote)]
    return "".join(event.text for event in written if isinstance(event, Text))


def _is_said(event: TurnEvent) -> bool:
    return isinstance(event, ModelWrote) and isinstance(event.event, Text | CallReady)

"""Run tasks in setups: each trial is a turn of a session, on a timeline of its own.

A run that finds the trials of an earlier one, with its own digest, goes on with what is missing;
trials that said nothing about the model are run again. Trials are sorted before they are counted,
so that the order in which they ended, and how often the run was broken off, changes nothing in the
report.

Where the server says that it has too much to do, half as many trials are asked at once from then
on, and the trial is asked again after a while. Trials in a row that do not reach it end the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from callblocks.core.blocks import TextPart, text_of
from callblocks.core.calls import Call
from callblocks.core.errors import CallblocksError, CallerError, ModelError, TimelineError
from callblocks.core.events import (
    CallEnded,
    CallReady,
    Malformed,
    ModelWrote,
    Problem,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.evals.task import Check, Made, Task, check_names, fault_of, faulty_call
from callblocks.evals.trials import SILENT, RunHeader, Setup, State, Trial, TrialFile, locked
from callblocks.models.model import (
    MODEL_CODES,
    NATIVE,
    Message,
    Model,
    NativeDelta,
    Piece,
    Request,
    Spoken,
    Stopped,
)
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.event_gate import TURN_CODES
from callblocks.session.model_choice import SessionSettings
from callblocks.session.session import Session
from callblocks.session.turn_factory import RuntimeDeps
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import TIMELINE_CODES
from callblocks.toolkits.turn_files import open_recorder
from callblocks.tools.registry import Registry
from callblocks.tools.tool import envelope

__all__ = ("Conditions", "Evaluation", "can_constrain")

_INVALID = ("unknown_tool", "invalid_input", "unended_call", "not_runnable")
_STATES: dict[str, State] = {
    "reply_cut": "endless",
    "time_limit": "endless",
    "model_too_long": "endless",
    "model_context_full": "context",
    "model_no_tools": "unsayable",
    "reply_filtered": "endpoint",
}
"""What a turn that ended so says; other codes of a model are those of its endpoint."""
_NO_REPAIR = ("duplicate-id", "positional-arguments")
_GIVE_UP = 8
"""So many trials in a row that do not reach the server end the run."""
_BECAUSE = "tools of an evaluation give fixed texts, and do nothing"
_ALLOW = Policy(
    (
        # What a tool gave taints the turn, and the next call of a chain has to run all the same.
        Rule(decide="allow", tool=("*",), tainted=True, because=_BECAUSE),
        Rule(decide="allow", tool=("*",), because=_BECAUSE),
    ),
    name="evaluation",
)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_PROBE = "zqx-7731"
"""What no model says unless a grammar holds it to that."""
_PATIENCE = 6
"""So often a trial is asked again of a server that has too much to do."""


OpenModel: TypeAlias = Callable[[Setup], Model]
Told: TypeAlias = Callable[[Trial], object]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """How often each task is run, how many at once, and what a trial may take.

    `max_tokens` are those of one reply, `seconds` those of a trial. A `temperature` of `None` is
    the model's own. A server that has too much to do is asked again after `busy_seconds`, and each
    time after twice as many.
    """

    repeats: int = 1
    jobs: int = 4
    max_tokens: int = 1024
    seconds: float = 180.0
    temperature: float | None = None
    busy_seconds: float = 2.0


class Evaluation:
    """Tasks in setups. `open_model` gives the model of a setup; one model may serve several.

    `folder` gets the trials and the timelines, in the layout of a state folder: the page shows
    them with `CALLBLOCKS_HOME=FOLDER/state callblocks serve`.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        setups: Sequence[Setup],
        open_model: OpenModel,
        folder: str | Path,
        conditions: Conditions | None = None,
        *,
        checks: Mapping[str, Check] | None = None,
    ) -> None:
        check_names(tasks)
        if not tasks or not setups:
            raise CallerError("an evaluation needs a task and a setup")
        self._tasks, self._setups = tuple(tasks), tuple(setups)
        self._open, self._folder = open_model, Path(folder)
        self._own = conditions or Conditions()
        self._checks = checks or {}
        for task in tasks:
            if task.check and task.check not in self._checks:
                raise CallerError(f"{task.source}: {task.name}: no function {task.check!r:.60}")
        self._unreached = 0

    @property
    def total(self) -> int:
        """Return the number of trials."""
        return len(self._tasks) * len(self._setups) * self._own.repeats

    async def run(
        self, tell: Told | None = None, restore: Told | None = None, *, fresh: bool = False
    ) -> list[Trial]:
        """Run what is missing, and return all trials in order.

        `restore` is told each trial of an earlier run that counts, `tell` each new one.
        """
        self._unreached = 0
        models = _Models(self._open)
        try:
            with locked(self._folder):
                header = self._header((await models.of(self._setups[0])).name)
                kept = TrialFile(self._folder, header, fresh=fresh)
                try:
                    return await self._go_on(models, kept, tell, restore)
                finally:
                    kept.close()
        finally:
            await models.close()

    async def _go_on(
        self, models: _Models, kept: TrialFile, tell: Told | None, restore: Told | None
    ) -> list[Trial]:
        known = kept.known
        if restore is not None:
            for trial in known.values():
                restore(trial)
        waiting = iter(
            [
                (task, setup, repeat)
                for repeat in range(self._own.repeats)
                for task in _mixed(self._tasks)
                for setup in self._setups
                if (setup.name, task.name, repeat) not in known
            ]
        )
        room = _Room(self._own.jobs)

        async def work() -> None:
            for task, setup, repeat in waiting:
                if self._unreached >= _GIVE_UP:
                    return
                trial = await self._patient_trial(task, setup, repeat, models, kept, room)
                lost = trial.state == "endpoint"
                self._unreached = self._unreached + 1 if lost else 0
                kept.write(trial)
                known[trial.key] = trial
                if tell is not None:
                    tell(trial)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._own.jobs):
                    group.create_task(work())
        except ExceptionGroup as broken:  # what one worker met ends the others
            raise broken.exceptions[0] from None
        return [known[key] for key in sorted(known)]

    async def _patient_trial(
        self,
        task: Task,
        setup: Setup,
        repeat: int,
        models: _Models,
        kept: TrialFile,
        room: _Room,
    ) -> Trial:
        """Run a trial, again and again while the server has too much to do."""
        wait = self._own.busy_seconds
        for left in reversed(range(_PATIENCE)):
            async with room.place():
                trial = await self._trial(task, setup, repeat, models, kept)
            if not left or trial.state != "endpoint" or not trial.why.startswith("model_busy"):
                return trial
            await room.narrow()
            await asyncio.sleep(wait)
            wait *= 2
        raise AssertionError("the last try returns")

    async def _trial(
        self, task: Task, setup: Setup, repeat: int, models: _Models, kept: TrialFile
    ) -> Trial:
        """Run one task; whatever goes wrong is the state of the trial."""
        seed = int.from_bytes(hashlib.sha256(f"{task.name} {repeat}".encode()).digest()[:4]) >> 1
        trial = Trial(
            setup=setup.name,
            task=task.name,
            kind=task.kind,
            repeat=repeat,
            seed=seed,
            state="fault",
        )
        try:
            model = await models.of(setup)
            if why := _unsayable(task, setup) or await models.fault_of_grammar(setup):
                return msgspec.structs.replace(trial, state="unsayable", why=why)
            watched = _Watched(model, seed, self._own.temperature)
            tools = Registry.from_json(list(task.tools), run=_runner(task))
            ended = await self._turn(task, setup, trial, watched, tools)
            digest = kept.keep_prompt(watched.system, watched.tools)
            return msgspec.structs.replace(ended, prompt=digest)
        except (OSError, TimelineError):  # the disk: no further trial could be kept either
            raise
        except Exception as error:  # a schema that is none, a bug: this trial's alone
            return msgspec.structs.replace(trial, why=f"{type(error).__name__}: {error}"[:300])

    async def _turn(
        self, task: Task, setup: Setup, trial: Trial, model: _Watched, tools: Registry
    ) -> Trial:
        log = _Log(time.perf_counter())
        settings = SessionSettings(
            rounds=task.rounds,
            max_tokens=self._own.max_tokens,
            seconds=self._own.seconds,
            grammar=setup.grammar,
            system=task.system,
            broken=1,
        )
        with self._recorder(trial) as recorder:
            session = Session(
                recorder,
                model,
                tools=tools,
                policy=_ALLOW,
                dialect=setup.dialect,
                settings=settings,
                # Only the task's tools: those that a turn has of its own would be further choices.
                desk=RuntimeDeps(only=tuple(tools.names) or ("none",)),
            )
            ended = await session.run(task.prompt, tell=log.take)
            trial = log.fill(trial, ended, setup, tools, recorder.timeline.name)
            state = _state_of(ended, model)
            if state is not None:
                trial = msgspec.structs.replace(trial, state=state, why=_why(ended, model))
            else:
                trial = _judged(trial, task, log, self._checks.get(task.check))
            block = _block_of(log.faulty_id(trial, task), recorder)
            return msgspec.structs.replace(trial, block=block)

    @contextmanager
    def _recorder(self, trial: Trial) -> Generator[Recorder]:
        """Open a timeline that is empty: a trial that was broken off has left its own."""
        digest = hashlib.sha256(repr(trial.key).encode()).hexdigest()[:6]
        name = _UNSAFE.sub("-", f"{trial.setup}-{trial.task}-{trial.repeat + 1}")[:80].strip(".-")
        for number in count():
            tried = f"{name}-{digest}-{number}" if number else f"{name}-{digest}"
            with open_recorder(self._folder / "state", tried) as recorder:
                if not recorder.timeline.head().count:
                    yield recorder
                    return

    def _header(self, model: str) -> RunHeader:
        seen = (
            [msgspec.to_builtins(task) for task in self._tasks],
            [setup.name for setup in self._setups],
            [model, self._own.max_tokens, self._own.temperature, self._own.repeats],
        )
        content = msgspec.json.encode(seen, order="deterministic")
        return RunHeader(
            digest=hashlib.sha256(content).hexdigest(),
            model=model,
            setups=self._setups,
            tasks=tuple((task.name, task.kind) for task in self._tasks),
            repeats=self._own.repeats,
            max_tokens=self._own.max_tokens,
            temperature=self._own.temperature,
            prompts={setup.name: _system(self._tasks[0], setup) for setup in self._setups},
        )


def can_constrain(dialect: str) -> bool:
    """Return whether a dialect has a grammar that a model can be held to."""
    probe = ToolSpec("probe", "", {"type": "object", "properties": {"a": {"type": "string"}}})
    try:
        return bool(dialects[dialect].grammar([probe], "gbnf"))
    except CallblocksError:
        return False


def _mixed(tasks: Sequence[Task]) -> list[Task]:
    """Return the first task of each class, then the second ones: what is broken off is a sample."""
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, Task]] = []
    for task in tasks:
        ranked.append((seen[task.kind], task))
        seen[task.kind] += 1
    return [task for _, task in sorted(ranked, key=lambda pair: pair[0])]


def _runner(task: Task) -> Callable[[str, dict[str, Any]], Any]:
    return lambda name, given: envelope(task.output_of(name, given), None)


def _state_of(ended: TurnEnded, model: _Watched) -> State | None:
    """Return the state of a trial that measured nothing; `None` where it measured the model.

    Raise `TimelineError` where the store failed: no trial says anything after that.
    """
    if ended.code in TIMELINE_CODES:
        raise TimelineError(ended.code, ended.message)
    if ended.code == "time_limit" and model.is_waiting:
        return "endpoint"  # nothing came from the server: the model did not go on and on
    if ended.code in _STATES:
        return _STATES[ended.code]
    if ended.code in MODEL_CODES or model.is_mangled:
        return "endpoint"
    return "endless" if model.was_cut else None


def _block_of(call_id: str, recorder: Recorder) -> int:
    """Return the block of a call, or the last one that the model wrote."""
    said = 0
    for entry in recorder.timeline.entries():
        if call_id and entry.block.call_id == call_id:
            return entry.seq
        if entry.block.author == "assistant":
            said = entry.seq
    return said


def _why(ended: TurnEnded, model: _Watched) -> str:
    if ended.code in _STATES or ended.code in MODEL_CODES:
        return ": ".join(filter(None, (ended.code, ended.message)))[:300]
    if model.is_mangled:
        return "the server sent bytes that are no UTF-8"
    return f"reply_cut: {TURN_CODES['reply_cut']}"


def _unsayable(task: Task, setup: Setup) -> str:
    """Return why a dialect cannot say the tools of a task, or its calls; "" where it can."""
    if setup.native:
        return ""
    dialect = dialects[setup.dialect]
    wanted = [
        Call(id=f"c{number}", name=call.name, input=call.example())
        for number, call in enumerate(task.calls)
    ]
    try:
        if task.tools:
            dialect.teach(task.tools)
        if setup.grammar and task.tools:
            dialect.grammar(task.tools, "gbnf")
        for call in wanted:
            dialect.write([call], task.tools)
    except CallblocksError as error:
        return " ".join(str(error).split())[:300]
    return ""


def _system(task: Task, setup: Setup) -> str:
    """Return what the first task's model is taught, as it stands in the system prompt."""
    if setup.native or not task.tools:
        return ""
    try:
        return dialects[setup.dialect].teach(task.tools)
    except CallblocksError:
        return ""


def _judged(trial: Trial, task: Task, log: _Log, check: Check | None) -> Trial:
    answer = log.answer
    if trial.broken and not trial.made and check is None:
        return msgspec.structs.replace(trial, state="wrong", why=f"no call: {log.broken[0]}")
    if not trial.made and not answer.strip():
        return msgspec.structs.replace(trial, state="wrong", why=SILENT)
    try:
        why = fault_of(task, trial.made, answer, check)
    except (Exception, SystemExit) as error:  # a function of the user, which may do anything
        why = f"the check raised {type(error).__name__}: {error}"[:300]
        return msgspec.structs.replace(trial, state="fault", why=why)
    return msgspec.structs.replace(trial, state="wrong" if why else "right", why=why)


class _Log:
    """The events of a trial's turn."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._first: float | None = None
        self._calls: dict[str, Call] = {}
        self._codes: dict[str, str] = {}
        self._said: list[str] = []
        self._repairs = 0
        self.broken: list[str] = []

    def take(self, event: TurnEvent) -> None:
        match event:
            case ModelWrote(event=Text(text=text)):
                self._said.append(text)
            case ModelWrote(event=CallReady(call=call)):
                self._first = self._first or time.perf_counter() - self._began
                self._calls[call.id] = call
            case ModelWrote(event=Malformed(code=code)):
                self.broken.append(code)
            case ModelWrote(event=Problem(code=code)):
                self._repairs += code not in _NO_REPAIR
            case CallEnded(outcome=outcome) if outcome.error is not None:
                self._codes[outcome.id] = outcome.error.code
            case _:
                pass

    @property
    def answer(self) -> str:
        """Return all that the model said beside its calls."""
        return "".join(self._said)

    def faulty_id(self, trial: Trial, task: Task) -> str:
        """Return the call that was wrong; "" where the fault is in none of them."""
        at = faulty_call(task, trial.made)
        return "" if at is None else list(self._calls)[at]

    def fill(
        self, trial: Trial, ended: TurnEnded, setup: Setup, tools: Registry, timeline: str
    ) -> Trial:
        """Return the trial with what was counted."""
        own = NATIVE if setup.native else setup.dialect
        return msgspec.structs.replace(
            trial,
            made=tuple(self._made(call, tools) for call in self._calls.values()),
            broken=len(self.broken),
            repairs=self._repairs,
            foreign=sum(call.dialect != own for call in self._calls.values()),
            tokens_in=ended.tokens_in,
            tokens_out=ended.tokens_out,
            first_call=None if self._first is None else round(self._first, 3),
            seconds=round(time.perf_counter() - self._began, 3),
            timeline=timeline,
        )

    def _made(self, call: Call, tools: Registry) -> Made:
        """Return a call with its input as its tool takes it."""
        tool = tools.get(call.name)
        taken = None if tool is None else tool.check(call.input).input
        valid = self._codes.get(call.id) not in _INVALID
        return Made(call.name, call.input if taken is None else taken, valid)


class _Watched:
    """A model with a seed for each request; it notes what it was told, and what it broke off."""

    def __init__(self, model: Model, seed: int, temperature: float | None) -> None:
        self._model, self._seed, self._temperature = model, seed, temperature
        self.was_cut = self.is_waiting = self.is_mangled = False
        self._is_served = hasattr(model, "find_grammar_form")
        self.system = ""
        self.tools: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def writes_results(self) -> bool:
        return False

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        given = msgspec.structs.replace(request, extra={"seed": self._seed, **request.extra})
        if self._temperature is not None:
            given = msgspec.structs.replace(given, temperature=self._temperature)
        told = (one for one in request.messages if one.role == "system")
        self.system = "\n\n".join(text_of(list(one.parts)) for one in told)
        self.tools = [msgspec.to_builtins(tool) for tool in request.tools]
        self.is_waiting = True
        async with aclosing(self._model.reply(given)) as pieces:
            async for piece in pieces:
                self.is_waiting = False
                match piece:
                    case Stopped(reason="length"):
                        self.was_cut = True
                    case Spoken(text=text) | NativeDelta(text=text) if self._is_served:
                        # What stands there for bytes that are no text; a model in this process
                        # may write such bytes itself.
                        self.is_mangled = self.is_mangled or "\ufffd" in text
                    case _:
                        pass
                yield piece

    async def close(self) -> None:
        """Do nothing: the model serves other trials."""


class _Room:
    """How many trials are asked at once: fewer, once the server has too much to do."""

    def __init__(self, jobs: int) -> None:
        self._limit, self._used = jobs, 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: self._used < self._limit)
            self._used += 1
        try:
            yield
        finally:
            self._used -= 1
            async with self._changed:
                self._changed.notify()

    async def narrow(self) -> None:
        """Halve the room, down to one place."""
        self._limit = max(1, min(self._limit, self._used + 1) // 2)


class _Models:
    """The models that are open, one for native calls and one for text."""

    def __init__(self, open_model: OpenModel) -> None:
        self._open = open_model
        self._known: dict[bool, Model] = {}
        self._opening, self._probing = asyncio.Lock(), asyncio.Lock()
        self._fault_of_grammar: str | None = None

    async def of(self, setup: Setup) -> Model:
        async with self._opening:
            if setup.native not in self._known:
                model = self._open(setup)
                # A server at a bare address is asked what it is: it may take grammars.
                find = getattr(model, "find_grammar_form", None)
                if find is not None and not setup.native:
                    await find()
                self._known[setup.native] = model
            return self._known[setup.native]

    async def fault_of_grammar(self, setup: Setup) -> str:
        """Return why a server cannot hold a model to a grammar; "" where it can, or was not asked.

        A server that takes a grammar and does not obey it would be measured as if it had none. So
        it is asked once, with a grammar of one word that nobody says.
        """
        if not setup.grammar:
            return ""
        async with self._probing:
            if self._fault_of_grammar is None:
                self._fault_of_grammar = await _probed(await self.of(setup))
            return self._fault_of_grammar

    async def close(self) -> None:
        for model in _unique(self._known.values()):
            await model.close()


async def _probed(model: Model) -> str:
    find = getattr(model, "find_grammar_form", None)
    if find is None:
        return ""  # in this process: it obeys
    if await find() != "gbnf":
        return "the server is not known to take a grammar; grammar_field of the config names it"
    request = Request(
        messages=(Message("user", (TextPart("Say hello."),)),),
        prompt="Say hello.",
        max_tokens=24,
        grammar=f'root ::= "{_PROBE}"',
    )
    said = ""
    try:
        async with aclosing(model.reply(request)) as pieces:
            async for piece in pieces:
                said += piece.text if isinstance(piece, Spoken) else ""
    except ModelError:
        return ""  # the trials will say why
    held = said.strip()
    return "" if held and _PROBE.startswith(held) else "the server does not obey a grammar"


def _unique(models: Iterable[Model]) -> list[Model]:
    return list({id(model): model for model in models}.values())

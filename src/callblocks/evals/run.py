"""Run tasks in setups: each trial is a turn of a session, on a timeline of its own.

States of a trial
    right, wrong    the model was measured; only these count in shares
    endless         its reply was cut at its largest length, or the turn at its time
    unsayable       the dialect cannot say the tools, or a call that is asked for
    endpoint        the server could not be reached, refused, or broke
    fault           the check raised, or something of ours did

Each trial is a line of `trials.jsonl` once it has ended. A run that finds that file with its own
digest goes on with what is missing; trials of the state `endpoint` are tried again, because the
model was never measured there. Trials are sorted before they are counted, so that the order in
which they ended, and how often the run was broken off, changes nothing in the report.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing, contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.errors import CallblocksError, CallerError
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
from callblocks.evals.task import Check, Made, Task, check_names, fault_of
from callblocks.models.model import MODEL_CODES, NATIVE, Model, Piece, Request, Stopped
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.model_choice import SessionSettings
from callblocks.session.session import Session
from callblocks.session.turn_factory import RuntimeDeps
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.turn_files import open_recorder
from callblocks.tools.registry import Registry

__all__ = (
    "Conditions",
    "Evaluation",
    "Header",
    "Setup",
    "State",
    "Trial",
    "can_constrain",
    "read_trials",
)

State: TypeAlias = Literal["right", "wrong", "endless", "unsayable", "endpoint", "fault"]

_INVALID = ("unknown_tool", "invalid_input", "unended_call", "not_runnable")
_ENDLESS = ("reply_cut", "time_limit")
_NO_REPAIR = ("duplicate-id", "positional-arguments")
_GIVE_UP = 8
"""So many trials in a row that do not reach the server end the run."""
_ALLOW = Policy(
    (
        Rule(decide="allow", tool=("*",), because="tools of an evaluation give fixed texts"),
        Rule(decide="allow", tool=("*",), tainted=True),
    ),
    name="evaluation",
)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How the model is asked: in a dialect, held to its grammar or not, or natively."""

    dialect: str = ""
    grammar: bool = False
    native: bool = False

    @property
    def name(self) -> str:
        """Return the name in reports."""
        if self.native:
            return NATIVE
        return f"{self.dialect} + grammar" if self.grammar else self.dialect


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One task in one setup, once. Times are in seconds, `first_call` to the first call's end."""

    setup: str
    task: str
    kind: str
    repeat: int
    seed: int
    state: State
    why: str = ""
    made: tuple[Made, ...] = ()
    broken: int = 0
    """Blocks that were begun and are no calls."""
    repairs: int = 0
    foreign: int = 0
    """Calls in another dialect than that of the setup."""
    tokens_in: int = 0
    tokens_out: int = 0
    first_call: float | None = None
    seconds: float = 0.0
    timeline: str = ""

    @property
    def is_measured(self) -> bool:
        """Return whether the trial says something about the model."""
        return self.state in ("right", "wrong")

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what no two trials of a run share."""
        return self.setup, self.task, self.repeat


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the trials: what was run. `prompts` are the system prompts, by setup."""

    version: int = 1
    digest: str
    model: str
    setups: tuple[Setup, ...]
    tasks: tuple[tuple[str, str], ...]
    """Each task with its class."""
    repeats: int
    max_tokens: int
    temperature: float | None
    prompts: dict[str, str] = {}


OpenModel: TypeAlias = Callable[[Setup], Model]
Told: TypeAlias = Callable[[Trial], object]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """How often each task is run, how many at once, and what a trial may take.

    `max_tokens` are those of one reply, `seconds` those of a trial. A `temperature` of `None` is
    the model's own.
    """

    repeats: int = 1
    jobs: int = 4
    max_tokens: int = 1024
    seconds: float = 180.0
    temperature: float | None = None


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
        self._folder.mkdir(parents=True, exist_ok=True)
        self._unreached = 0
        path, models = self._folder / "trials.jsonl", _Models(self._open)
        header = self._header((await models.of(self._setups[0])).name)
        known = {} if fresh else self._known(path, header)
        if restore is not None:
            for trial in known.values():
                restore(trial)
        todo = [
            (task, setup, repeat)
            for repeat in range(self._own.repeats)
            for task in self._tasks
            for setup in self._setups
            if (setup.name, task.name, repeat) not in known
        ]
        try:
            with path.open("wb") as file:
                _write(file, header)
                for trial in known.values():
                    _write(file, trial)
                await self._run(todo, models, known, file, tell)
        finally:
            await models.close()
        return [known[key] for key in sorted(known)]

    async def _run(
        self,
        todo: Sequence[tuple[Task, Setup, int]],
        models: _Models,
        known: dict[tuple[str, str, int], Trial],
        file: IO[bytes],
        tell: Told | None,
    ) -> None:
        waiting = iter(todo)

        async def work() -> None:
            for task, setup, repeat in waiting:
                if self._unreached >= _GIVE_UP:
                    return
                trial = await self._trial(task, setup, repeat, await models.of(setup))
                lost = trial.state == "endpoint"
                self._unreached = self._unreached + 1 if lost else 0
                known[trial.key] = trial
                _write(file, trial)
                if tell is not None:
                    tell(trial)

        await asyncio.gather(*(work() for _ in range(self._own.jobs)))

    async def _trial(self, task: Task, setup: Setup, repeat: int, model: Model) -> Trial:
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
        tools = Registry.from_json(list(task.tools), run=task.output_of)
        if why := _unsayable(task, setup):
            return msgspec.structs.replace(trial, state="unsayable", why=why)
        try:
            return await self._turn(
                task, setup, trial, _Watched(model, seed, self._own.temperature), tools
            )
        except Exception as error:  # a task's check may do anything
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
            name = recorder.timeline.name
        trial = log.fill(trial, ended, setup, tools, name)
        if ended.code in MODEL_CODES:
            return msgspec.structs.replace(trial, state="endpoint", why=_why(ended))
        if ended.code in _ENDLESS or model.was_cut:
            return msgspec.structs.replace(trial, state="endless", why=_why(ended) or "cut")
        return _judged(trial, task, log, self._checks.get(task.check))

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

    def _header(self, model: str) -> Header:
        seen = (
            [msgspec.to_builtins(task) for task in self._tasks],
            [setup.name for setup in self._setups],
            [model, self._own.max_tokens, self._own.temperature, self._own.repeats],
        )
        content = msgspec.json.encode(seen, order="deterministic")
        return Header(
            digest=hashlib.sha256(content).hexdigest(),
            model=model,
            setups=self._setups,
            tasks=tuple((task.name, task.kind) for task in self._tasks),
            repeats=self._own.repeats,
            max_tokens=self._own.max_tokens,
            temperature=self._own.temperature,
            prompts={setup.name: _system(self._tasks[0], setup) for setup in self._setups},
        )

    def _known(self, path: Path, header: Header) -> dict[tuple[str, str, int], Trial]:
        """Return the trials of an earlier run that count; another evaluation's are refused."""
        if not path.exists():
            return {}
        found, trials = read_trials(path)
        if found.digest != header.digest:
            raise CallerError(
                f"{path} holds another evaluation (model, tasks, setups or repeats differ); "
                "name another folder, or say --fresh"
            )
        return {trial.key: trial for trial in trials if trial.state != "endpoint"}


def can_constrain(dialect: str) -> bool:
    """Return whether a dialect has a grammar that a model can be held to."""
    probe = ToolSpec("probe", "", {"type": "object", "properties": {"a": {"type": "string"}}})
    try:
        return bool(dialects[dialect].grammar([probe], "gbnf"))
    except CallblocksError:
        return False


def read_trials(path: str | Path) -> tuple[Header, list[Trial]]:
    """Read the trials of a run; a last line that was broken off is left out."""
    lines = Path(path).read_bytes().splitlines()
    trials: list[Trial] = []
    try:
        header = msgspec.json.decode(lines[0], type=Header)
        for number, line in enumerate(lines[1:], 2):
            try:
                trials.append(msgspec.json.decode(line, type=Trial))
            except msgspec.DecodeError:
                if number < len(lines):
                    raise
    except (msgspec.DecodeError, IndexError) as error:
        raise CallerError(f"{path}: these are no trials: {error}") from error
    return header, trials


def _write(file: IO[bytes], row: Header | Trial) -> None:
    file.write(msgspec.json.encode(row) + b"\n")
    file.flush()


def _why(ended: TurnEnded) -> str:
    return ": ".join(filter(None, (ended.code, ended.message)))[:300]


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
        return msgspec.structs.replace(trial, state="wrong", why="it said nothing")
    why = fault_of(task, trial.made, answer, check)
    return msgspec.structs.replace(trial, state="wrong" if why else "right", why=why)


class _Log:
    """What happened in the turn of a trial."""

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
    """A model with a seed for each request; it notes whether a reply was cut."""

    def __init__(self, model: Model, seed: int, temperature: float | None) -> None:
        self._model, self._seed, self._temperature = model, seed, temperature
        self.was_cut = False

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
        async with aclosing(self._model.reply(given)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Stopped) and piece.reason == "length":
                    self.was_cut = True
                yield piece

    async def close(self) -> None:
        """Do nothing: the model serves other trials."""


class _Models:
    """The models that are open, one for native calls and one for text."""

    def __init__(self, open_model: OpenModel) -> None:
        self._open = open_model
        self._known: dict[bool, Model] = {}
        self._opening = asyncio.Lock()

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

    async def close(self) -> None:
        for model in _unique(self._known.values()):
            await model.close()


def _unique(models: Iterable[Model]) -> list[Model]:
    return list({id(model): model for model in models}.values())

"""Runs: models of known quality are ranked right; what is no fault of a model is not counted."""

from __future__ import annotations

import asyncio
import errno
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from callblocks.core.blocks import text_of
from callblocks.core.errors import CallerError, ModelError, TimelineError
from callblocks.core.events import TurnEnded
from callblocks.core.specs import ToolSpec
from callblocks.evals.report import (
    Amount,
    Measures,
    Report,
    SetupReport,
    compare_sections,
    junit,
    make_report,
    read_report,
    report_sections,
    winner,
)
from callblocks.evals.runner import Conditions, Evaluation
from callblocks.evals.task import Check, Expected, Made, Task, builtin_tasks
from callblocks.evals.trials import (
    SILENT,
    RunHeader,
    Setup,
    State,
    Trial,
    TrialFile,
    locked,
    read_trials,
)
from callblocks.models.model import Model, Piece, Request, Spoken, Stopped
from callblocks.session.session import Session
from callblocks.timeline.timeline import TIMELINES, Timeline
from callblocks.views.report_sections import Table, report_page
from support.skilled_model import SkilledModel

TASKS = [task for task in builtin_tasks() if task.kind in ("single", "none", "nested", "chained")]
HERMES, EMOJI = Setup(dialect="hermes"), Setup(dialect="emoji-bracket")
GRAMMAR, NATIVE = Setup(dialect="tool-fence", grammar=True), Setup(native=True)
FENCE = Setup(dialect="tool-fence")


def evaluate(
    folder: Path,
    skills: Mapping[str, float],
    setups: Sequence[Setup],
    tasks: Sequence[Task] = TASKS,
    repeats: int = 1,
) -> Report:
    evaluation = Evaluation(
        tasks,
        setups,
        lambda setup: SkilledModel(tasks, skills, setup),
        folder,
        Conditions(repeats=repeats),
    )
    trials = asyncio.run(evaluation.run())
    return make_report(read_trials(folder / "trials.jsonl")[0], trials)


def names(report: Report) -> list[str]:
    return [one.name for one in report.setups]


def test_a_better_dialect_is_found_and_told_apart(tmp_path: Path) -> None:
    report = evaluate(tmp_path, {"hermes": 0.95, "emoji-bracket": 0.5}, [EMOJI, HERMES], repeats=2)
    assert names(report) == ["hermes", "emoji-bracket"]
    assert "emoji-bracket is worse" in report.verdict[1]
    best = report.setups[0]
    assert best.right.low <= 0.95 <= best.right.high
    assert winner(report) == best
    assert best.valid.value > 0.9
    assert best.kinds.keys() == {"single", "chained", "none", "nested"}
    assert report.setups[1].states["unsayable"] >= 1


def test_equals_are_not_told_apart_and_the_cheaper_one_wins(tmp_path: Path) -> None:
    report = evaluate(tmp_path, {"hermes": 0.8, "tool-fence": 0.8}, [HERMES, FENCE])
    assert "Not to be told apart from it" in report.verdict[1]
    assert winner(report) is not None


def test_a_model_that_needs_a_grammar_or_native_calls_is_seen(tmp_path: Path) -> None:
    tasks = [task for task in TASKS if task.kind in ("single", "none")]
    held = evaluate(tmp_path / "a", {"tool-fence + grammar": 0.9}, [FENCE, GRAMMAR], tasks)
    assert names(held)[0] == "tool-fence + grammar"
    native = evaluate(tmp_path / "b", {"native": 0.9}, [FENCE, NATIVE], tasks)
    assert names(native)[0] == "native"
    assert native.setups[0].right.low > native.setups[1].right.high


def test_nothing_works_is_said(tmp_path: Path) -> None:
    report = evaluate(tmp_path, {}, [HERMES])
    assert report.verdict[0].startswith("No setup works")
    assert report.setups[0].right.value == 0


def test_each_trial_has_a_timeline_that_shows_it(tmp_path: Path) -> None:
    report = evaluate(tmp_path, {}, [HERMES], TASKS[:2])
    failed = report.failed[0]
    with Timeline.open(tmp_path / "state" / TIMELINES, failed.timeline) as timeline:
        texts = [entry.block.text for entry in timeline.entries()]
    task = next(task for task in TASKS if task.name == failed.task)
    assert any(task.prompt in (text or "") for text in texts)


class Listening(SkilledModel):
    """A model that is right, and keeps what it is shown."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        super().__init__(tasks, {"hermes": 1.0})
        self.shown: list[str] = []

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.shown += [text_of(list(message.parts)) for message in request.messages]
        async for piece in super().reply(request):
            yield piece


def test_each_call_of_a_chain_runs_and_its_result_is_shown_as_it_is(tmp_path: Path) -> None:
    tasks = [task for task in builtin_tasks() if task.kind in ("chained", "injection")]
    model = Listening(tasks)
    trials = asyncio.run(Evaluation(tasks, [HERMES], lambda _: model, tmp_path).run())
    assert {trial.state for trial in trials} == {"right"}
    shown = "\n".join(model.shown)
    for task in tasks:
        assert task.output_of(task.calls[0].name, task.calls[0].example()).split("\n")[0] in shown
    assert r"\n" not in shown
    assert "did not run" not in shown
    for trial in trials:
        with Timeline.open(tmp_path / "state" / TIMELINES, trial.timeline) as timeline:
            assert not any("notice" in entry.block.type for entry in timeline.entries())


# --- Broken off, and gone on with ---


class Dying(SkilledModel):
    """A model whose server is gone after so many replies."""

    left = 0

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.left -= 1
        if self.left < 0:
            raise ModelError("model_unreachable", "no connection")
        async for piece in super().reply(request):
            yield piece


def _timeless(report: Report) -> Report:
    def without(one: Measures) -> Any:
        kinds = one.kinds if isinstance(one, SetupReport) else {}
        more = {"kinds": {name: without(kind) for name, kind in kinds.items()}} if kinds else {}
        return msgspec.structs.replace(one, first_call=Amount(), seconds=Amount(), **more)

    failed = tuple(msgspec.structs.replace(one, timeline="") for one in report.failed)
    return msgspec.structs.replace(report, setups=tuple(map(without, report.setups)), failed=failed)


def test_a_server_that_dies_half_way_costs_nothing_but_time(tmp_path: Path) -> None:
    skills = {"hermes": 0.7, "emoji-bracket": 0.7}
    whole = evaluate(tmp_path / "whole", skills, [HERMES, EMOJI])
    dying = Dying(TASKS, skills)
    evaluation = Evaluation(TASKS, [HERMES, EMOJI], lambda _: dying, tmp_path / "dying")
    for replies in (11, 17, 10_000):
        dying.left = replies
        restored: list[Trial] = []
        trials = asyncio.run(evaluation.run(restore=restored.append))
    assert {trial.state for trial in restored} <= {"right", "wrong", "unsayable"}
    assert len(restored) >= 10
    header, kept = read_trials(tmp_path / "dying" / "trials.jsonl")
    assert _timeless(make_report(header, trials)) == _timeless(whole)
    assert len(kept) == len(trials)


def test_a_dead_server_ends_the_run_early_and_is_no_fault_of_the_model(tmp_path: Path) -> None:
    dying = Dying(TASKS, {})
    evaluation = Evaluation(TASKS, [HERMES], lambda _: dying, tmp_path)
    trials = asyncio.run(evaluation.run())
    report = make_report(read_trials(tmp_path / "trials.jsonl")[0], trials)
    assert {trial.state for trial in trials} == {"endpoint"}
    assert len(trials) < len(TASKS)
    assert report.missing == len(TASKS) - len(trials)
    assert report.setups[0].right.count == 0
    assert report.verdict[0] == "Nothing was measured: no trial said anything about the model."


def test_a_line_that_was_broken_off_is_run_again(tmp_path: Path) -> None:
    whole = evaluate(tmp_path, {"hermes": 1.0}, [HERMES], TASKS[:5])
    path = tmp_path / "trials.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    again = evaluate(tmp_path, {"hermes": 1.0}, [HERMES], TASKS[:5])
    assert _timeless(again) == _timeless(whole)
    path.write_bytes(b"{}\n")
    with pytest.raises(CallerError, match="these are no trials"):
        evaluate(tmp_path, {}, [HERMES], TASKS[:5])


def test_a_folder_of_another_evaluation_is_refused(tmp_path: Path) -> None:
    evaluate(tmp_path, {}, [HERMES], TASKS[:1])
    with pytest.raises(CallerError, match="another evaluation"):
        evaluate(tmp_path, {}, [HERMES], TASKS[:2])


def test_a_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(CallerError, match="another evaluation is at work"):
        evaluate(tmp_path, {}, [HERMES], TASKS[:1])
    evaluate(tmp_path, {}, [HERMES], TASKS[:1])


def test_trials_of_another_version_are_named(tmp_path: Path) -> None:
    evaluate(tmp_path, {}, [HERMES], TASKS[:1])
    path = tmp_path / "trials.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":7'))
    with pytest.raises(CallerError, match=r"another version of callblocks \(7, and not 1\)"):
        evaluate(tmp_path, {}, [HERMES], TASKS[:1])


def test_a_trial_that_was_run_again_counts_once(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", check="check")
    broken = one_trial(tmp_path, task, Fixed("Hello."), check=lambda made, answer: 1 / 0)
    mended = one_trial(tmp_path, task, Fixed("Hello."), check=lambda made, answer: True)
    assert (broken.state, mended.state) == ("fault", "right")
    assert len((tmp_path / "trials.jsonl").read_bytes().splitlines()) == 3
    assert read_trials(tmp_path / "trials.jsonl")[1] == [mended]


def test_a_full_disk_ends_the_run_and_what_was_kept_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Trial] = []
    write = TrialFile.write

    def fill(self: TrialFile, trial: Trial) -> None:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(trial)
        write(self, trial)

    monkeypatch.setattr(TrialFile, "write", fill)
    with pytest.raises(OSError, match="No space left"):
        evaluate(tmp_path, {"hermes": 1.0}, [HERMES], TASKS[:6])
    monkeypatch.undo()
    restored: list[Trial] = []
    evaluation = Evaluation(
        TASKS[:6], [HERMES], lambda _: SkilledModel(TASKS, {"hermes": 1.0}), tmp_path
    )
    assert len(asyncio.run(evaluation.run(restore=restored.append))) == 6
    assert {trial.key for trial in restored} == {trial.key for trial in written}


def test_a_store_that_fails_ends_the_run_and_no_trial_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> TurnEnded:
        return TurnEnded(turn="turn_1", status="failed", code="store_full", message="no room")

    monkeypatch.setattr(Session, "run", full)
    with pytest.raises(TimelineError, match="no room"):
        evaluate(tmp_path, {}, [HERMES], TASKS[:3])
    assert read_trials(tmp_path / "trials.jsonl")[1] == []


def test_the_prompts_of_trials_are_kept_once(tmp_path: Path) -> None:
    evaluate(tmp_path, {"hermes": 1.0}, [HERMES], TASKS[:3], repeats=2)
    lines = (tmp_path / "prompts.jsonl").read_bytes().splitlines()
    kept = {row["prompt"]: row["system"] for row in map(msgspec.json.decode, lines)}
    trials = read_trials(tmp_path / "trials.jsonl")[1]
    assert len(kept) == len(lines) == len({trial.prompt for trial in trials}) == 3
    assert all("<tool_call>" in kept[trial.prompt] for trial in trials)


# --- What is not the model's fault ---

TOOL = ToolSpec("go", "", {"type": "object", "properties": {"x": {"type": "string"}}})


class Fixed:
    """A model that says one thing."""

    name, writes_results = "fixed", False

    def __init__(self, text: str, reason: str = "stop") -> None:
        self._text, self._reason = text, reason

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        yield Spoken(self._text)
        yield Stopped(self._reason)

    async def close(self) -> None: ...


def one_trial(folder: Path, task: Task, model: Model, setup: Setup = HERMES, **more: Any) -> Trial:
    checks = {"check": more["check"]} if "check" in more else {}
    conditions = Conditions(busy_seconds=0.0, seconds=more.get("seconds", 180.0))
    evaluation = Evaluation([task], [setup], lambda _: model, folder, conditions, checks=checks)
    (trial,) = asyncio.run(evaluation.run())
    return trial


def test_a_model_that_never_stops_is_endless(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", tools=(TOOL,))
    assert one_trial(tmp_path, task, Fixed("and on " * 50, "length")).state == "endless"


def test_a_check_that_raises_is_a_fault_of_ours(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", check="check")
    trial = one_trial(tmp_path, task, Fixed("Hello."), check=lambda made, answer: 1 / 0)
    assert (trial.state, trial.why) == (
        "fault",
        "the check raised ZeroDivisionError: division by zero",
    )


def _leave(made: object, answer: str) -> bool:
    sys.exit(answer)


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (lambda made, answer: None, "TypeError: it returned NoneType"),
        (lambda made, answer: made, "TypeError: it returned tuple"),
        (_leave, "SystemExit: Hello."),
    ],
)
def test_a_check_that_says_neither_right_nor_wrong_is_a_fault(
    check: Check, why: str, tmp_path: Path
) -> None:
    task = Task(name="t", kind="own", prompt="p", check="check")
    trial = one_trial(tmp_path, task, Fixed("Hello."), check=check)
    assert trial.state == "fault"
    assert why in trial.why


class Failing(Fixed):
    """A model whose server fails in some way, so many times."""

    def __init__(self, code: str, times: int = 100) -> None:
        super().__init__("Hello.")
        self.code, self.left = code, times

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.left -= 1
        if self.left >= 0:
            raise ModelError(self.code, "no")
        async for piece in super().reply(request):
            yield piece


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("model_unreachable", "endpoint"),
        ("model_refused", "endpoint"),
        ("model_broken", "endpoint"),
        ("model_busy", "endpoint"),
        ("model_too_long", "endless"),
        ("model_context_full", "context"),
        ("model_no_tools", "unsayable"),
    ],
)
def test_what_a_server_does_is_counted_as_such(code: str, state: str, tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p")
    assert one_trial(tmp_path, task, Failing(code)).state == state


def test_a_server_with_too_much_to_do_is_asked_again_by_fewer(tmp_path: Path) -> None:
    tasks = [Task(name=f"t{number}", kind="own", prompt="p") for number in range(12)]
    busy = Failing("model_busy", times=9)
    conditions = Conditions(jobs=8, busy_seconds=0.0)
    trials = asyncio.run(Evaluation(tasks, [HERMES], lambda _: busy, tmp_path, conditions).run())
    assert {trial.state for trial in trials} == {"right"}


class Silent(Fixed):
    """A model whose server says nothing, or something and then nothing more."""

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        if self._text:
            yield Spoken(self._text)
        await asyncio.Event().wait()


def test_a_server_that_hangs_is_not_a_model_that_goes_on_and_on(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p")
    assert one_trial(tmp_path / "a", task, Silent(""), seconds=0.05).state == "endpoint"
    assert one_trial(tmp_path / "b", task, Silent("Well,"), seconds=0.05).state == "endless"


class Served(Fixed):
    """A model behind a server that takes grammars; it obeys them, or does not."""

    def __init__(self, *, obeys: bool, form: str = "gbnf") -> None:
        super().__init__("Hello.")
        self._obeys, self._form = obeys, form

    async def find_grammar_form(self) -> str:
        return self._form

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        if self._obeys and request.grammar.count("::=") == 1:
            yield Spoken(request.grammar.split('"')[1])
        else:
            yield Spoken("Hello.")


def test_a_server_that_ignores_grammars_is_found_out(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", tools=(TOOL,))
    ignoring = one_trial(tmp_path / "a", task, Served(obeys=False), GRAMMAR)
    assert (ignoring.state, ignoring.why) == ("unsayable", "the server does not obey a grammar")
    assert one_trial(tmp_path / "b", task, Served(obeys=True), GRAMMAR).state == "right"
    assert one_trial(tmp_path / "c", task, Served(obeys=False), FENCE).state == "right"
    unknown = one_trial(tmp_path / "d", task, Served(obeys=True, form=""), GRAMMAR)
    assert unknown.state == "unsayable"
    assert "is not known to take a grammar" in unknown.why


class Mangling(Served):
    """Such a server, whose reply has bytes that are no text."""

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        yield Spoken("caf\ufffd")


def test_bytes_that_are_no_text_are_the_servers(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p")
    mangled = one_trial(tmp_path / "a", task, Mangling(obeys=True))
    assert (mangled.state, mangled.why) == ("endpoint", "the server sent bytes that are no UTF-8")
    assert one_trial(tmp_path / "b", task, Fixed("caf\ufffd")).state == "right"


def test_a_schema_that_is_none_is_the_fault_of_its_task_alone(tmp_path: Path) -> None:
    broken = ToolSpec("go", "", {"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}})
    tasks = [
        Task(name="a", kind="own", prompt="p", tools=(broken,), calls=(Expected("go", {"x": 1}),)),
        Task(name="b", kind="own", prompt="p", tools=(TOOL,)),
    ]
    setups = [HERMES, GRAMMAR, NATIVE]
    evaluation = Evaluation(tasks, setups, lambda _: Fixed("Hello."), tmp_path)
    states = {trial.key[:2]: trial.state for trial in asyncio.run(evaluation.run())}
    assert {states[setup.name, "b"] for setup in setups} == {"right"}
    assert "right" not in {states[setup.name, "a"] for setup in setups}


def test_the_block_of_a_trial_shows_what_was_wrong(tmp_path: Path) -> None:
    calls = (Expected("go", {"x": "1"}),)
    task = Task(name="t", kind="own", prompt="p", tools=(TOOL,), calls=calls)
    text = '<tool_call>\n{"name": "go", "arguments": {"x": %s}}\n</tool_call>\n'
    for reply, content in ((text % 1 + text % 2, '"x":2'), ("Well.", "Well.")):
        trial = one_trial(tmp_path / content[1:2], task, Fixed(reply))
        path = tmp_path / content[1:2] / "state" / TIMELINES
        with Timeline.open(path, trial.timeline) as timeline:
            (text_of_block,) = (
                entry.block.text for entry in timeline.entries() if entry.seq == trial.block
            )
        assert content in (text_of_block or "")


def test_a_check_that_is_not_there_is_refused(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", check="absent")
    with pytest.raises(CallerError, match="no function 'absent'"):
        Evaluation([task], [HERMES], lambda _: Fixed(""), tmp_path)


def test_a_call_that_no_dialect_can_say_is_unsayable(tmp_path: Path) -> None:
    nested = {"type": "object", "properties": {"x": {"type": "object"}}}
    deep = Task(
        name="t",
        kind="own",
        prompt="p",
        tools=(ToolSpec("go", "", nested),),
        calls=(Expected("go", {"x": {"a": ["]", "\n"]}}),),
    )
    assert one_trial(tmp_path / "deep", deep, Fixed("Hello."), EMOJI).state == "unsayable"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it said nothing"),
        ("<tool_call>\n{nothing}\n</tool_call>", "no call: hermes.json"),
        ('<tool_call>\n{"name": "stay", "arguments": {}}\n</tool_call>', "stay could not run"),
        ('<tool_call>\n{"name": "go", "arguments": {"x": 1}}\n</tool_call>', ""),
    ],
)
def test_why_a_trial_is_wrong_is_said(text: str, why: str, tmp_path: Path) -> None:
    calls = (Expected("go", {"x": "1"}),)
    task = Task(name="t", kind="own", prompt="p", tools=(TOOL,), calls=calls)
    trial = one_trial(tmp_path, task, Fixed(text))
    assert (trial.state, trial.why) == ("wrong" if why else "right", why)


# --- Reports ---


def test_a_report_is_read_back_and_drawn(tmp_path: Path) -> None:
    report = evaluate(tmp_path, {"hermes": 0.5}, [HERMES, EMOJI], TASKS[:6])
    path = tmp_path / "report.json"
    path.write_bytes(msgspec.json.encode(report))
    assert read_report(path) == report
    titles = [section.title for section in report_sections(report, "serve")]
    assert titles[:3] == ["Verdict", "Setups", "Classes"]
    with pytest.raises(CallerError, match="this is no report"):
        read_report(tmp_path / "trials.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"version":2', b'"version":1'))
    with pytest.raises(CallerError, match=r"another version of callblocks \(1, and not 2\)"):
        read_report(path)


def _trial(setup: str, task: str, state: State, **more: Any) -> Trial:
    return Trial(setup=setup, task=task, kind="own", repeat=0, seed=1, state=state, **more)


def _reported(trials: Sequence[Trial]) -> Report:
    names = tuple(dict.fromkeys(trial.setup for trial in trials))
    header = RunHeader(
        digest="",
        model="m",
        setups=tuple(Setup(dialect=name) for name in names),
        tasks=tuple((f"{number}", "own") for number in range(10)),
        repeats=1,
        max_tokens=9,
        temperature=None,
    )
    return make_report(header, trials)


def test_a_setup_that_was_hardly_measured_is_not_the_best() -> None:
    tasks = [f"{number}" for number in range(10)]
    trials = [_trial("good", task, "wrong" if task < "3" else "right") for task in tasks]
    trials += [_trial("cut", task, "right" if task > "6" else "endless") for task in tasks]
    report = _reported(trials)
    assert names(report) == ["good", "cut"]
    assert report.verdict[0].startswith("good is right in 70%")
    assert report.verdict[-1].endswith("that is too few to say anything.")
    best = winner(report)
    assert best is not None
    assert best.name == "good"
    only = _reported([trial for trial in trials if trial.setup == "cut"])
    assert winner(only) == only.setups[0]


def test_what_stands_beside_the_shares_is_said() -> None:
    calls = (Made("go", {}),)
    trials = [_trial("hermes", "0", "wrong", why=SILENT)]
    trials += [_trial("hermes", "1", "right", made=calls, foreign=1)]
    trials += [_trial("hermes", "2", "context"), _trial("hermes", "3", "fault")]
    said = "\n".join(_reported(trials).verdict)
    assert "1 too long for the model's context, 1 with a check that failed, of 4 trials" in said
    assert "the model said nothing in 1 trials" in said
    assert "1 of 1 calls were in another dialect." in said
    unsayable = [_trial("hermes", f"{n}", "unsayable", why=why) for n, why in enumerate("aba")]
    assert "3 that the setup cannot ask, of 3 trials (a)" in _reported(unsayable).verdict[1]


def test_the_page_has_links_to_what_failed_and_classes_with_intervals(tmp_path: Path) -> None:
    report = evaluate(tmp_path, {"hermes": 0.5}, [HERMES], TASKS[:12], repeats=2)
    page = report_page("T", "s", report_sections(report, "serve", "http://127.0.0.1:1"))
    for failed in report.failed[:2]:
        link = f"http://127.0.0.1:1/timeline?name={failed.timeline}&amp;block={failed.block}"
        assert f'<a href="{link}">' in page
    single = report.setups[0].kinds["single"]
    assert single.tokens_in.low is not None
    assert f"<td>{single.right.value:.0%} ({single.right.low:.0%} to" in page
    assert "&lt;tool_call&gt;" in page  # the prompt
    assert "<tool_call>" not in page


def test_two_reports_are_compared_task_by_task(tmp_path: Path) -> None:
    one = evaluate(tmp_path / "a", {"hermes": 0.2}, [HERMES])
    other = evaluate(tmp_path / "b", {"hermes": 1.0}, [HERMES])
    (section,) = compare_sections(one, other, ("A", "B"))
    about = "A: skilled, 29 tasks, once each. B: skilled, 29 tasks, once each."
    assert str(section.parts[0]).startswith(about)
    table = section.parts[1]
    assert isinstance(table, Table)
    assert table.rows[0][-1] == "better"
    assert "right now" in str(section.parts[2])
    back = compare_sections(other, one, ("A", "B"))[0].parts[1]
    assert isinstance(back, Table)
    assert back.rows[0][-1] == "worse"
    alone = evaluate(tmp_path / "c", {}, [FENCE])
    assert compare_sections(one, alone, ("A", "B"))[0].title == "Nothing to compare"


def test_junit_has_a_case_for_each_trial(tmp_path: Path) -> None:
    evaluate(tmp_path, {"hermes": 0.5}, [HERMES], TASKS)
    header, trials = read_trials(tmp_path / "trials.jsonl")
    hostile = msgspec.structs.replace(trials[0], state="wrong", why="a\x00<b>\ud800]]>")
    long = msgspec.structs.replace(trials[-1], state="context")
    suite = ElementTree.fromstring(junit(header, [hostile, *trials[1:-1], long]))[0]
    states = Counter(trial.state for trial in trials[1:-1])
    assert int(suite.attrib["tests"]) == len(trials)
    assert int(suite.attrib["failures"]) == states["wrong"] + 1
    assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == 1
    assert len(suite.findall("testcase/failure")) == states["wrong"] + 1

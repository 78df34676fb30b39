"""Runs: models of known quality are ranked right; what is no fault of a model is not counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from callblocks.core.errors import CallerError, ModelError
from callblocks.core.specs import ToolSpec
from callblocks.evals.report import (
    Report,
    compare_sections,
    junit,
    make_report,
    read_report,
    report_sections,
    winner,
)
from callblocks.evals.run import Conditions, Evaluation, Setup, Trial, read_trials
from callblocks.evals.task import Expected, Task, builtin_tasks
from callblocks.models.model import Model, Piece, Request, Spoken, Stopped
from callblocks.timeline.timeline import TIMELINES, Timeline
from callblocks.views.report import Table
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
    setups = tuple(
        msgspec.structs.replace(one, first_call=None, seconds=0.0) for one in report.setups
    )
    failed = tuple(msgspec.structs.replace(one, timeline="") for one in report.failed)
    return msgspec.structs.replace(report, setups=setups, failed=failed)


def test_a_server_that_dies_half_way_costs_nothing_but_time(tmp_path: Path) -> None:
    skills = {"hermes": 0.7, "emoji-bracket": 0.7}
    whole = evaluate(tmp_path / "whole", skills, [HERMES, EMOJI])
    dying = Dying(TASKS, skills)
    evaluation = Evaluation(TASKS, [HERMES, EMOJI], lambda _: dying, tmp_path / "dying")
    for replies in (11, 17, 10_000):
        dying.left = replies
        trials = asyncio.run(evaluation.run())
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


def one_trial(
    folder: Path, task: Task, model: Model, setup: Setup = HERMES, **more: object
) -> Trial:
    checks = {"check": more["check"]} if more else {}
    evaluation = Evaluation([task], [setup], lambda _: model, folder, checks=checks)  # pyright: ignore[reportArgumentType]
    (trial,) = asyncio.run(evaluation.run())
    return trial


def test_a_model_that_never_stops_is_endless(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", tools=(TOOL,))
    assert one_trial(tmp_path, task, Fixed("and on " * 50, "length")).state == "endless"


def test_a_check_that_raises_is_a_fault_of_ours(tmp_path: Path) -> None:
    task = Task(name="t", kind="own", prompt="p", check="check")
    trial = one_trial(tmp_path, task, Fixed("Hello."), check=lambda made, answer: 1 / 0)
    assert (trial.state, trial.why) == ("fault", "ZeroDivisionError: division by zero")


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


def test_two_reports_are_compared_task_by_task(tmp_path: Path) -> None:
    one = evaluate(tmp_path / "a", {"hermes": 0.2}, [HERMES])
    other = evaluate(tmp_path / "b", {"hermes": 1.0}, [HERMES])
    (section,) = compare_sections(one, other, ("A", "B"))
    table = section.parts[0]
    assert isinstance(table, Table)
    assert table.rows[0][-1] == "better"
    assert "right now" in str(section.parts[1])
    back = compare_sections(other, one, ("A", "B"))[0].parts[0]
    assert isinstance(back, Table)
    assert back.rows[0][-1] == "worse"
    alone = evaluate(tmp_path / "c", {}, [FENCE])
    assert compare_sections(one, alone, ("A", "B"))[0].title == "Nothing to compare"


def test_junit_has_a_case_for_each_trial(tmp_path: Path) -> None:
    evaluate(tmp_path, {"hermes": 0.5}, [HERMES], TASKS)
    header, trials = read_trials(tmp_path / "trials.jsonl")
    hostile = msgspec.structs.replace(trials[0], state="wrong", why="a\x00<b>\ud800]]>")
    suite = ElementTree.fromstring(junit(header, [hostile, *trials[1:]]))[0]
    states = Counter(trial.state for trial in trials[1:])
    assert int(suite.attrib["tests"]) == len(trials)
    assert int(suite.attrib["failures"]) == states["wrong"] + 1
    assert len(suite.findall("testcase/failure")) == states["wrong"] + 1

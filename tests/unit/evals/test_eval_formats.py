"""Formats of others: BFCL and inspect_ai; and tasks from a timeline."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callblocks import Timeline
from callblocks.core.blocks import Block
from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec
from callblocks.evals.formats import read_bfcl, read_inspect, tasks_of_timeline, write_tasks
from callblocks.evals.runner import Evaluation
from callblocks.evals.task import Made, builtin_tasks, fault_of, read_tasks
from callblocks.evals.trials import Setup
from callblocks.timeline.timeline import TIMELINES
from support.skilled_model import SkilledModel

QUESTION: dict[str, Any] = {
    "id": "simple_0",
    "question": [[{"role": "user", "content": "Find the area of a triangle, 10 by 5."}]],
    "function": [
        {
            "name": "geometry.area",
            "description": "Area of a triangle.",
            "parameters": {
                "type": "dict",
                "properties": {
                    "base": {"type": "integer", "description": "b"},
                    "height": {"type": "float"},
                    "unit": {"type": "string", "optional": True},
                    "points": {"type": "tuple", "items": {"type": "any"}},
                },
                "required": ["base", "height"],
            },
        }
    ],
}
TRUTH = {
    "id": "simple_0",
    "ground_truth": [{"geometry.area": {"base": [10], "height": [5, 5.0], "unit": ["cm", ""]}}],
}


def bfcl(folder: Path, question: dict[str, Any], truth: dict[str, Any] | None) -> Path:
    path = folder / "BFCL_v3_simple.json"
    path.write_text(json.dumps(question) + "\n")
    if truth is not None:
        (folder / "possible_answer").mkdir()
        (folder / "possible_answer" / path.name).write_text(json.dumps(truth) + "\n")
    return path


def test_a_task_of_bfcl_is_read_with_its_answers(tmp_path: Path) -> None:
    (task,) = read_bfcl(bfcl(tmp_path, QUESTION, TRUTH)).tasks
    assert (task.name, task.kind) == ("simple_0", "simple")
    properties = task.tools[0].properties
    assert task.tools[0].parameters["type"] == "object"
    assert [properties[name].get("type") for name in properties] == [
        "integer",
        "number",
        "string",
        "array",
    ]
    right = {"base": 10, "height": 5.0}
    assert fault_of(task, [Made("geometry.area", right)], "") == ""
    assert fault_of(task, [Made("geometry.area", {**right, "unit": "cm"})], "") == ""
    assert fault_of(task, [Made("geometry.area", {**right, "unit": "m"})], "")
    assert fault_of(task, [], "")
    assert read_bfcl(tmp_path).tasks == (task,)


def test_values_are_compared_as_bfcl_does(tmp_path: Path) -> None:
    shape = {"type": "dict", "properties": {"name": {"type": "String"}, "n": {"type": "long"}}}
    parameters = {
        "type": "dict",
        "properties": {
            "day": {"type": "string"},
            "shapes": {"type": "ArrayList", "items": shape},
            "any": {"type": "any"},
        },
        "required": ["day"],
    }
    truth = {
        "day": ["April 1, 2024"],
        "shapes": [[{"name": ["It's a"], "n": [3, ""]}]],
        "any": [""],
    }
    question = {**QUESTION, "function": [{"name": "f", "parameters": parameters}]}
    answer = {"id": "simple_0", "ground_truth": [{"f": truth}]}
    (task,) = read_bfcl(bfcl(tmp_path, question, answer)).tasks
    assert task.tools[0].properties["shapes"]["items"]["properties"]["n"] == {"type": "integer"}

    def is_right(given: dict[str, Any]) -> bool:
        return not fault_of(task, [Made("f", given)], "")

    assert is_right({"day": "april 1 2024", "shapes": [{"name": 'it"s-a', "n": 3}]})
    assert is_right({"day": "April 1, 2024", "shapes": [{"name": "It's a"}], "any": None})
    assert not is_right({"day": "April 1, 2024", "shapes": [{"name": "It's a", "n": 4}]})
    assert not is_right({"day": "April 1, 2024", "shapes": [{"name": "It's a", "m": 3}]})
    assert not is_right({"day": "April 1, 2024", "shapes": [{"n": 3}]})
    assert not is_right({"day": "April 2, 2024", "shapes": [{"name": "It's a"}]})
    assert not is_right({"day": "April 1, 2024", "shapes": [], "any": 1})


def test_tasks_of_bfcl_that_need_its_own_programs_are_left_out_and_counted(tmp_path: Path) -> None:
    bfcl(tmp_path, QUESTION, TRUTH)
    said = {"role": "assistant", "content": "Well."}
    others: dict[str, dict[str, Any]] = {
        "turns": {**QUESTION, "question": QUESTION["question"] * 2},
        "talk": {**QUESTION, "question": [[*QUESTION["question"][0], said]]},
        "memory": {"id": "m", "question": QUESTION["question"]},
        "unanswered": QUESTION,
    }
    against = {"id": "simple_0", "ground_truth": [{"geometry.area": {"base": ["ten"]}}]}
    for name, row in {**others, "against": QUESTION}.items():
        path = tmp_path / f"BFCL_v4_{name}.json"
        path.write_text(json.dumps(row))
        if name != "unanswered":
            answers = tmp_path / "possible_answer" / path.name
            answers.write_text(json.dumps(against if name == "against" else TRUTH))
    (tmp_path / "BFCL_v4_settings.json").write_text('{\n"a": 1}')
    read = read_bfcl(tmp_path)
    assert len(read.tasks) == 1
    assert list(read.left_out.values()) == [1] * 6
    words = "\n".join(read.left_out)
    for why in ("several turns", "conversation stands", "no functions", "answers are not there"):
        assert why in words
    assert "refuses its own answer" in words


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**QUESTION, "question": QUESTION["question"] * 2}, "several turns"),
        ({**QUESTION, "function": [1]}, "is no BFCL task"),
        ({"id": 1}, "no functions"),
    ],
)
def test_a_file_of_bfcl_without_a_task_is_refused(
    row: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(CallerError, match=words):
        read_bfcl(bfcl(tmp_path, row, TRUTH))


def test_a_folder_without_bfcl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="no BFCL file"):
        read_bfcl(tmp_path)


def test_where_nothing_or_anything_is_to_be_called_bfcl_has_no_answers(tmp_path: Path) -> None:
    for kind, called, silent in (("irrelevance", False, True), ("live_relevance", True, False)):
        path = tmp_path / f"BFCL_v4_{kind}.json"
        path.write_text(json.dumps({**QUESTION, "id": kind}))
        (task,) = read_bfcl(path).tasks
        made = [Made("geometry.area", {"base": 1, "height": 2})]
        assert (fault_of(task, made, "No.") == "") is called
        assert (fault_of(task, [], "No.") == "") is silent


def test_samples_of_inspect_are_read(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    parts = [{"type": "text", "text": "Add."}, {"type": "text", "text": "Now."}]
    metadata = {"tools": [tool], "calls": [{"name": "add", "input": {"a": 2}}]}
    rows: list[dict[str, Any]] = [
        {"input": "What is 2 + 2?", "target": ["4", "four"]},
        {
            "id": 7,
            "input": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": parts},
            ],
            "target": 5,
            "metadata": json.dumps(metadata),
        },
    ]
    path = tmp_path / "sums.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    one, two = read_inspect(path).tasks
    assert (one.name, one.says, one.rounds) == ("sums-1", ("4", "four"), 1)
    assert (two.name, two.system, two.prompt, two.rounds) == ("7", "Be short.", "Add.\nNow.", 4)
    assert fault_of(two, [Made("add", {"a": 2})], "It is 5.") == ""
    path.write_text(json.dumps(rows, indent=1))
    assert read_inspect(path).tasks == (one, two)
    table = tmp_path / "sums.csv"
    table.write_text('\ufeffinput,target,id\n"What is 2 + 2?",4,\n', "utf-8")
    (row,) = read_inspect(table).tasks
    assert (row.name, row.prompt, row.says) == ("sums-1", "What is 2 + 2?", ("4",))


def test_samples_that_ask_for_no_call_are_left_out_and_counted(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    image = [{"role": "user", "content": [{"type": "image", "image": "a.png"}]}]
    rows = [
        {"input": "a", "target": "A", "choices": ["x", "y"]},
        {"input": talk, "target": "A"},
        {"input": image, "target": "A"},
        {"input": "b", "target": "A"},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    read = read_inspect(path)
    assert [task.prompt for task in read.tasks] == ["b"]
    assert list(read.left_out.values()) == [1, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "{}", "x", '{"input": [{"role": "assistant", "content": "a"}]}', '{"input": 3}'),
        *('{"input": ""}', '{"input": "a", "metadata": "{"}', '{"input": "a", "metadata": [1]}'),
    ],
)
def test_what_is_no_sample_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(CallerError):
        read_inspect(path)


TOOL = ToolSpec("ls", "List.", {"type": "object", "properties": {"path": {"type": "string"}}})


def _block(type: str, turn: str, text: str, **more: Any) -> Block:
    return Block(
        type=type, author="user", turn_id=turn, ts="2030-01-01T00:00:00Z", text=text, **more
    )


def _call(turn: str, id: str, path: str, tool: str = "ls", **more: Any) -> Block:
    params = json.dumps({"tool_id": tool, "tool_call_id": id, "params": {"path": path}})
    return _block("react.tool.call", turn, params, tool_id=tool, call_id=id, **more)


def test_what_people_corrected_becomes_a_task(tmp_path: Path) -> None:
    blocks = [
        _block("user.prompt", "turn_1", "Look into src."),
        _call("turn_1", "a", "scr"),
        _block("react.notice", "turn_1", "{}", call_id="a"),
        _call("turn_1", "b", "src\x7f\n"),
        _call("turn_1", "c", "x", tool="unknown"),
        _block("user.prompt", "turn_2", "Thanks."),
    ]
    with Timeline.open(tmp_path / "t.sqlite", "talk") as timeline:
        timeline.append(blocks)
        (task,) = tasks_of_timeline("talk", timeline.entries(), {"ls": TOOL})
    assert (task.name, task.prompt, task.rounds) == ("talk-turn_1", "Look into src.", 3)
    assert [call.input for call in task.calls] == [{"path": "src\x7f\n"}]
    path = tmp_path / "own.toml"
    path.write_text(write_tasks([task]), "utf-8")
    (read,) = read_tasks(path)
    assert (read.calls, read.prompt, read.rounds) == (task.calls, task.prompt, task.rounds)
    assert read.tools[0].parameters == TOOL.parameters


def test_tasks_from_a_timeline_give_what_was_given_then(tmp_path: Path) -> None:
    tasks = [task for task in builtin_tasks() if task.name == "phone-then-sms"]
    model = SkilledModel(tasks, {"hermes": 1.0})
    (trial,) = asyncio.run(
        Evaluation(tasks, [Setup(dialect="hermes")], lambda _: model, tmp_path).run()
    )
    assert trial.state == "right"
    known = {tool.name: tool for tool in tasks[0].tools}
    with Timeline.open(tmp_path / "state" / TIMELINES, trial.timeline) as timeline:
        (made,) = tasks_of_timeline("talk", timeline.entries(), known)
    assert [call.name for call in made.calls] == ["find_contact", "send_sms"]
    assert made.output_of("find_contact", made.calls[0].input) == tasks[0].results[0].output
    path = tmp_path / "own.toml"
    path.write_text(write_tasks([made]), "utf-8")
    (read,) = read_tasks(path)
    assert read.results == made.results


def test_a_turn_that_was_asked_again_counts_by_its_last_version(tmp_path: Path) -> None:
    again = {"branch": {"after": "", "again": "turn_1"}}
    blocks = [
        _block("user.prompt", "turn_1", "Look into src."),
        _call("turn_1", "a", "scr"),
        _block("user.prompt", "turn_2", "Look into src.", meta=again),
        _call("turn_2", "b", "src"),
        _block("user.prompt", "turn_3", "And now?"),
        _call("turn_3", "c", "secret", meta={"is_partial": True}),
    ]
    with Timeline.open(tmp_path / "t.sqlite", "talk") as timeline:
        timeline.append(blocks)
        made = tasks_of_timeline("talk", timeline.entries(), {"ls": TOOL})
    assert [(task.name, task.calls[0].input) for task in made] == [("talk-turn_2", {"path": "src"})]


def test_values_are_written_as_toml(tmp_path: Path) -> None:
    import msgspec

    from callblocks.evals.task import Expected, Task

    given = {"a b": [1, 2.5, True, None, {"c": 'say "hi"'}], "none": None}
    task = Task(name="t", kind="k", prompt="p", tools=(TOOL,), calls=(Expected("ls", given),))
    path = tmp_path / "a.toml"
    path.write_text(write_tasks([task]), "utf-8")
    (read,) = read_tasks(path)
    assert read.calls[0].input == {"a b": [1, 2.5, True, {"c": 'say "hi"'}]}
    assert msgspec.structs.replace(read, source="").tools == (TOOL,)

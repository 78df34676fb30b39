"""Formats of others: BFCL and inspect_ai; and tasks from a timeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callblocks import Timeline
from callblocks.core.blocks import Block
from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec
from callblocks.evals.formats import read_bfcl, read_inspect, tasks_of_timeline, write_tasks
from callblocks.evals.task import Made, fault_of, read_tasks

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
    (task,) = read_bfcl(bfcl(tmp_path, QUESTION, TRUTH))
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
    assert read_bfcl(tmp_path) == (task,)


def test_bfcl_without_answers_or_with_turns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="its answers are not there"):
        read_bfcl(bfcl(tmp_path, QUESTION, None))
    more = tmp_path / "more"
    more.mkdir()
    turns = {**QUESTION, "question": QUESTION["question"] * 2}
    with pytest.raises(CallerError, match="several turns"):
        read_bfcl(bfcl(more, turns, TRUTH))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CallerError, match="no BFCL file"):
        read_bfcl(empty)
    bad = tmp_path / "bad"
    bad.mkdir()
    with pytest.raises(CallerError, match="is no BFCL task"):
        read_bfcl(bfcl(bad, {**QUESTION, "function": [1]}, TRUTH))


def test_where_nothing_is_to_be_called_bfcl_has_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "BFCL_v3_irrelevance.json"
    path.write_text(json.dumps({**QUESTION, "id": "i"}))
    (task,) = read_bfcl(path)
    assert (task.calls, fault_of(task, [], "No.")) == ((), "")


def test_samples_of_inspect_are_read(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    rows: list[dict[str, Any]] = [
        {"input": "What is 2 + 2?", "target": ["4", "four"]},
        {
            "id": "sum",
            "input": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "Add."},
            ],
            "target": "5",
            "metadata": {"tools": [tool], "calls": [{"name": "add", "input": {"a": 2}}]},
        },
    ]
    path = tmp_path / "sums.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    one, two = read_inspect(path)
    assert (one.name, one.says, one.rounds) == ("sums-1", ("4", "four"), 1)
    assert (two.name, two.system, two.prompt, two.rounds) == ("sum", "Be short.", "Add.", 4)
    assert fault_of(two, [Made("add", {"a": 2})], "It is 5.") == ""
    path.write_text(json.dumps(rows))
    assert read_inspect(path) == (one, two)


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", "x", '{"input": [{"role": "assistant", "content": "a"}]}', '{"input": 3}'],
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


def _call(turn: str, id: str, path: str, tool: str = "ls") -> Block:
    params = json.dumps({"tool_id": tool, "tool_call_id": id, "params": {"path": path}})
    return _block("react.tool.call", turn, params, tool_id=tool, call_id=id)


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

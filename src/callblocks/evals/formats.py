"""Tasks of others: BFCL and inspect_ai, as users have them on disk; and tasks from a timeline.

    BFCL         BFCL_v4_simple_python.json beside possible_answer/BFCL_v4_simple_python.json, or
                 the folder of both (v3 has the same form)
    inspect_ai   a dataset as JSON lines, as one list, or as CSV: `input`, `target`, `id`; tools
                 and calls in `metadata`, where there are some

Both formats say less than a task: BFCL has no results of tools, so that each of its tasks has one
round, and a sample of inspect_ai is right if its answer includes the target, as with the scorer
`includes`. What needs a program of theirs (conversations, simulated services, choices) is left out,
and counted by its reason. Arguments of BFCL's Java and JavaScript tasks are read as JSON.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import CallblocksError, CallerError
from callblocks.core.outcomes import Outcome
from callblocks.core.specs import ToolSpec, specs_by_name
from callblocks.evals.task import Expected, Task, ToolResult
from callblocks.timeline.branches import Branches
from callblocks.timeline.codec.call_blocks import is_whole, params_of
from callblocks.timeline.codec.outcome_blocks import outcome_of
from callblocks.tools.registry import Registry

__all__ = ("ReadTasks", "read_bfcl", "read_inspect", "tasks_of_timeline", "write_tasks")


class ReadTasks(msgspec.Struct, frozen=True):
    """Tasks of a file or folder, and how many of it were left out, by the reason."""

    tasks: tuple[Task, ...]
    left_out: dict[str, int]


class _LeftOut(Exception):
    """A task that cannot be done here; the text is why."""


def read_bfcl(path: str | Path) -> ReadTasks:
    """Read a file of questions, or all of a folder, with the answers beside them."""
    top = Path(path)
    files = sorted(top.glob("BFCL_*.json*")) if top.is_dir() else [top]
    left_out: Counter[str] = Counter()
    tasks = [task for file in files for task in _bfcl_file(file, left_out)]
    return _read(path, tasks, left_out, "there is no BFCL file in it")


def _read(path: str | Path, tasks: list[Task], left_out: Counter[str], none: str) -> ReadTasks:
    if not tasks:
        raise CallerError(f"{path}: {'; '.join(left_out) or none}")
    return ReadTasks(tuple(tasks), dict(left_out))


_MULTI_TURN = "conversations of several turns need BFCL's own programs"


def _bfcl_file(file: Path, left_out: Counter[str]) -> list[Task]:
    answers = file.parent / "possible_answer" / file.name
    known: dict[Any, Any] = {}
    try:
        rows = _rows(file)
        if answers.exists():
            known = {row.get("id"): row.get("ground_truth") for row in _rows(answers)}
    except CallerError as error:  # in the folder of BFCL stand other files, too
        left_out[str(error)] += 1
        return []
    kind = re.sub(r"^BFCL_v\d+_|\.jsonl?$", "", file.name)
    tasks: list[Task] = []
    for row in rows:
        try:
            tasks.append(_bfcl_task(row, known.get(row.get("id")), kind, file))
        except _LeftOut as why:
            left_out[f"{file.name}: {why}"] += 1
    return tasks


def _bfcl_task(row: dict[str, Any], truth: Any, kind: str, file: Path) -> Task:
    if "question" not in row or "function" not in row:
        raise _LeftOut("tasks that name no functions need BFCL's own programs")
    is_open = "relevance" in kind  # irrelevance, too: nothing is to be called, or anything
    if truth is None and not is_open:
        raise _LeftOut(f"its answers are not there: possible_answer/{file.name}")
    try:
        said = _bfcl_messages(cast("list[list[dict[str, str]]]", row["question"]))
        calls = tuple(
            Expected(name, where={key: _bfcl_values(values) for key, values in arguments.items()})
            for one in cast("list[dict[str, dict[str, list[Any]]]]", truth or [])
            for name, arguments in one.items()
        )
        task = Task(
            name=str(row["id"]),
            kind=kind,
            prompt=said["user"],
            system=said.get("system", ""),
            tools=tuple(_bfcl_tool(cast("dict[str, Any]", one)) for one in row["function"]),
            calls=calls,
            any_call=is_open and "irrelevance" not in kind,
            source=file.name,
        )
        if not _is_answerable(task):
            raise _LeftOut("the schema of its function refuses its own answer")
        return task
    except (KeyError, TypeError, AttributeError) as error:
        raise CallerError(
            f"{file.name}: {row.get('id')!r:.60} is no BFCL task: {error!r}"
        ) from error


def _is_answerable(task: Task) -> bool:
    tools = Registry.from_json([tool for tool in task.tools if task.calls])
    called = [(tools.get(call.name), call.example()) for call in task.calls]
    return all(tool is not None and not tool.check(given).faults for tool, given in called)


def _bfcl_messages(turns: list[list[dict[str, str]]]) -> dict[str, str]:
    """Return what the system and the user say."""
    if len(turns) != 1:
        raise _LeftOut(_MULTI_TURN)
    said = {message["role"]: message["content"] for message in turns[0]}
    if len(said) != len(turns[0]) or not said.keys() <= {"system", "user"}:
        raise _LeftOut("a conversation stands before the question")
    return said


def _bfcl_values(values: list[Any]) -> dict[str, Any]:
    """Return the predicate of a list of right values; "" among them says that it may be missing."""
    given = [value for value in values if value != ""]
    return {"alike": given, "optional": "" in values} if given else {"optional": True}


def _bfcl_tool(row: dict[str, Any]) -> ToolSpec:
    return ToolSpec(row["name"], row.get("description", ""), _plain_schema(row["parameters"]))


_TYPES = {
    **dict.fromkeys(("dict", "hashmap"), "object"),
    **dict.fromkeys(("tuple", "arraylist"), "array"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("long", "bigint"), "integer"),
    "char": "string",
    **dict.fromkeys(("string", "integer", "number", "boolean", "array", "object", "null"), ""),
}
"""Types of Python, Java and JavaScript as JSON has them; "" stands for the same name."""


def _plain_schema(schema: Any) -> Any:
    """Return a schema whose types are those of JSON; one without a type, as `any`, takes all."""
    if isinstance(schema, list):
        return [_plain_schema(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    known = cast("dict[str, Any]", schema)
    plain: dict[str, Any] = {}
    for key, value in known.items():
        if key == "type" and isinstance(value, str):
            name = value.lower()
            if name in _TYPES:
                plain[key] = _TYPES[name] or name
        elif key == "properties" and isinstance(value, dict):
            inside = cast("dict[str, Any]", value)
            plain[key] = {name: _plain_schema(one) for name, one in inside.items()}
        elif key != "optional":
            plain[key] = _plain_schema(value) if key in ("items", "anyOf") else value
    return plain


def read_inspect(path: str | Path) -> ReadTasks:
    """Read a dataset of inspect_ai: JSON lines, one list of JSON, or CSV."""
    file = Path(path)
    rows = _csv_rows(file) if file.suffix == ".csv" else _rows(file)
    tasks: list[Task] = []
    left_out: Counter[str] = Counter()
    for number, row in enumerate(rows, 1):
        try:
            tasks.append(_sample(row, number, file))
        except _LeftOut as why:
            left_out[f"{file.name}: {why}"] += 1
        except (
            *(KeyError, TypeError, ValueError, AttributeError),
            *(CallblocksError, msgspec.ValidationError),
        ) as error:
            raise CallerError(f"{file.name}: sample {number} is none: {error!r}") from error
    return _read(path, tasks, left_out, "there is no sample in it")


def _sample(row: dict[str, Any], number: int, file: Path) -> Task:
    if row.get("choices"):
        raise _LeftOut("samples with choices ask for no call")
    known: Any = row.get("metadata") or {}
    more = cast("dict[str, Any]", json.loads(known) if isinstance(known, str) else known)
    tools = tuple(specs_by_name(more.get("tools", [])).values())
    system, prompt = _messages(row["input"])
    target = row.get("target")
    targets = cast("list[Any]", target) if isinstance(target, list) else [target]
    given = row.get("id")
    return Task(
        name=f"{file.stem}-{number}" if given in (None, "") else str(given),
        kind=file.stem,
        prompt=prompt,
        system=system,
        tools=tools,
        calls=msgspec.convert(more.get("calls", []), tuple[Expected, ...]),
        says=tuple(str(one) for one in targets if one not in (None, "")),
        rounds=4 if tools else 1,
        source=file.name,
    )


def _messages(given: Any) -> tuple[str, str]:
    """Return the system prompt and the prompt of a sample."""
    if isinstance(given, str) and given:
        return "", given
    rows = cast("list[dict[str, Any]]", given)
    if [row["role"] for row in rows if row["role"] != "system"] != ["user"]:
        raise _LeftOut("a conversation stands before the question")
    said = {str(row["role"]): _content(row["content"]) for row in rows}
    return said.get("system", ""), said["user"]


def _content(content: Any) -> str:
    """Return the text of a message, which may have its text in parts."""
    if isinstance(content, str):
        return content
    parts = cast("list[dict[str, Any]]", content)
    if any(part.get("type") != "text" for part in parts):
        raise _LeftOut("images and other files are not given")
    return "\n".join(str(part["text"]) for part in parts)


def _csv_rows(file: Path) -> list[dict[str, Any]]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            return list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CallerError(f"{file}: {error}") from error


def _rows(file: Path) -> list[dict[str, Any]]:
    """Return the objects of JSON lines, or of one list."""
    try:
        content = file.read_bytes()
        if content.lstrip().startswith(b"["):
            return msgspec.json.decode(content, type=list[dict[str, Any]])
        lines = (line for line in content.splitlines() if line.strip())
        return [msgspec.json.decode(line, type=dict[str, Any]) for line in lines]
    except (OSError, msgspec.DecodeError) as error:
        raise CallerError(f"{file}: {error}") from error


# --- Tasks from a timeline: what a person asked, and the calls that worked ---


def tasks_of_timeline(
    name: str, entries: Iterable[Entry], tools: Mapping[str, ToolSpec]
) -> list[Task]:
    """Return a task for each turn with calls of known tools, as it was corrected.

    A call that failed or was denied was corrected by a later one, and a turn that was asked again
    by its last version: only what worked in the end is right. The tools give what they gave then.
    A turn with a call that was cut or masked is left out.
    """
    branches, turns = Branches(), dict[str, list[Block]]()
    for entry in entries:
        branches.feed(entry.block)
        turns.setdefault(entry.block.turn_id, []).append(entry.block)
    shown = turns.keys() - branches.hidden(branches.last)
    found = [
        _turn_task(name, turn, blocks, tools)
        for turn, blocks in turns.items()
        if turn and turn in shown
    ]
    return [task for task in found if task is not None]


def _turn_task(
    name: str, turn: str, blocks: list[Block], tools: Mapping[str, ToolSpec]
) -> Task | None:
    prompts = [block.text or "" for block in blocks if block.type == "user.prompt"]
    by_call: dict[str, list[Block]] = {}
    for block in blocks:
        by_call.setdefault(block.call_id, []).append(block)
    made = [block for block in blocks if block.type == "react.tool.call" and block.tool_id in tools]
    outcomes = {one.call_id: outcome_of("", one.tool_id, by_call[one.call_id]) for one in made}
    calls = [one for one in made if not _has_failed(outcomes[one.call_id], by_call[one.call_id])]
    if not prompts or not calls or any(map(_is_cut, calls)):
        return None
    return Task(
        name=f"{name}-{turn}",
        kind="own",
        prompt=prompts[0].strip(),
        tools=tuple(tools.values()),
        calls=tuple(Expected(one.tool_id, input=params_of(one)) for one in calls),
        results=tuple(
            ToolResult(one.tool_id, _result_text(outcomes[one.call_id].output), params_of(one))
            for one in calls
            if outcomes[one.call_id].output is not None
        ),
        rounds=len(calls) + 2,
        source=name,
    )


def _has_failed(outcome: Outcome, blocks: Iterable[Block]) -> bool:
    kinds = {block.type for block in blocks}
    return outcome.error is not None or (
        "react.notice" in kinds and "react.tool.result" not in kinds
    )


def _is_cut(block: Block) -> bool:
    """Return whether a call lacks a part of its input; one of others may have no digest of it."""
    return bool(block.meta.get("is_partial")) or ("input" in block.meta and not is_whole(block))


def _result_text(output: Any) -> str:
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()


def write_tasks(tasks: Iterable[Task]) -> str:
    """Return tasks as a file that `read_tasks` reads."""
    listed = list(tasks)
    tools = {tool.name: tool for task in listed for tool in task.tools}
    lines: list[str] = []
    for tool in tools.values():
        lines += [f"[tools.{_value(tool.name)}]", f"about = {_value(tool.description)}"]
        lines += [f"schema = {_value(json.dumps(tool.parameters, ensure_ascii=False))}", ""]
    for task in listed:
        lines += ["[[task]]", f"name = {_value(task.name)}", f"class = {_value(task.kind)}"]
        lines += [f"prompt = {_value(task.prompt)}"]
        lines += [
            f"tools = {_value([tool.name for tool in task.tools])}",
            f"rounds = {task.rounds}",
        ]
        calls = [{"name": call.name, "input": call.input} for call in task.calls]
        lines += [f"calls = {_value(calls)}"]
        results = [msgspec.to_builtins(result) for result in task.results]
        lines += [f"results = {_value(results)}", ""] if results else [""]
    return "\n".join(lines)


def _value(value: Any) -> str:
    """Return a value as TOML writes it in one line. It has no null: such a member is left out."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            known = cast("dict[str, Any]", value)
            rows = (
                f"{_value(key)} = {_value(one)}" for key, one in known.items() if one is not None
            )
            return f"{{ {', '.join(rows)} }}"
        case list():
            items = cast("list[Any]", value)
            return f"[{', '.join(_value(one) for one in items if one is not None)}]"
        case _:
            return str(value)

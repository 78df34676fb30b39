"""Tasks of others: BFCL and inspect_ai, as users have them on disk; and tasks from a timeline.

    BFCL         BFCL_v3_simple.json beside possible_answer/BFCL_v3_simple.json, or a folder of both
    inspect_ai   a dataset as JSON lines or a list: {"input": …, "target": …}, and tools and calls
                 in `metadata`, where there are some

Both formats say less than a task: BFCL has no results of tools, so that each of its tasks has one
round, and a sample of inspect_ai is right if its answer includes the target, as with the scorer
`includes`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import CallblocksError, CallerError
from callblocks.core.specs import ToolSpec, specs_by_name
from callblocks.evals.task import Expected, Task, check_names
from callblocks.timeline.codec.call_blocks import params_of

__all__ = ("read_bfcl", "read_inspect", "tasks_of_timeline", "write_tasks")


def read_bfcl(path: str | Path) -> tuple[Task, ...]:
    """Read a file of questions, or all of a folder, with the answers beside them."""
    top = Path(path)
    files = sorted(top.glob("BFCL_*.json*")) if top.is_dir() else [top]
    tasks = [task for file in files for task in _bfcl_file(file)]
    if not tasks:
        raise CallerError(f"{path}: there is no BFCL file in it")
    check_names(tasks)
    return tuple(tasks)


def _bfcl_file(file: Path) -> list[Task]:
    answers = file.parent / "possible_answer" / file.name
    known = (
        {row.get("id"): row.get("ground_truth") for row in _rows(answers)}
        if answers.exists()
        else {}
    )
    kind = re.sub(r"^BFCL_v\d+_|\.jsonl?$", "", file.name)
    if not known and "irrelevance" not in kind:
        raise CallerError(f"{file}: its answers are not there: {answers}")
    return [_bfcl_task(row, known.get(row.get("id")), kind, file) for row in _rows(file)]


def _bfcl_task(row: dict[str, Any], truth: Any, kind: str, file: Path) -> Task:
    try:
        turns = cast("list[list[dict[str, str]]]", row["question"])
        if len(turns) != 1:
            raise CallerError(f"{file.name}: {row['id']}: tasks of several turns are not read")
        said = {message["role"]: message["content"] for message in turns[0]}
        tools = tuple(_bfcl_tool(cast("dict[str, Any]", one)) for one in row["function"])
        calls = tuple(
            Expected(name, where={key: _bfcl_values(values) for key, values in arguments.items()})
            for one in cast("list[dict[str, dict[str, list[Any]]]]", truth or [])
            for name, arguments in one.items()
        )
        return Task(
            name=str(row["id"]),
            kind=kind,
            prompt=said["user"],
            system=said.get("system", ""),
            tools=tools,
            calls=calls,
            source=file.name,
        )
    except CallblocksError:
        raise
    except (KeyError, TypeError, AttributeError) as error:
        raise CallerError(
            f"{file.name}: {row.get('id')!r:.60} is no BFCL task: {error!r}"
        ) from error


def _bfcl_values(values: list[Any]) -> dict[str, Any]:
    """Return the predicate of a list of right values; "" among them says that it may be missing."""
    given = [_bfcl_value(value) for value in values if value != ""]
    return {"one_of": given, "optional": "" in values} if given else {"optional": True}


def _bfcl_value(value: Any) -> Any:
    """Return a value of an answer; inside of objects each one is a list of right ones."""
    if not isinstance(value, dict):
        return value
    inside = cast("dict[str, Any]", value)
    firsts = {key: _first(one) for key, one in inside.items()}
    return {key: _bfcl_value(one) for key, one in firsts.items() if one != ""}


def _first(values: Any) -> Any:
    if not isinstance(values, list):
        return values
    known = cast("list[Any]", values)
    return known[0] if known else known


def _bfcl_tool(row: dict[str, Any]) -> ToolSpec:
    return ToolSpec(row["name"], row.get("description", ""), _plain_schema(row["parameters"]))


_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None, "hashmap": "object"}


def _plain_schema(schema: Any) -> Any:
    """Return a schema whose types are those of JSON: BFCL writes Python's."""
    if isinstance(schema, list):
        return [_plain_schema(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    known = cast("dict[str, Any]", schema)
    plain: dict[str, Any] = {}
    for key, value in known.items():
        if key == "type" and isinstance(value, str):
            named = _TYPES.get(value.lower(), value.lower())
            if named is not None:
                plain[key] = named
        elif key == "properties" and isinstance(value, dict):
            inside = cast("dict[str, Any]", value)
            plain[key] = {name: _plain_schema(one) for name, one in inside.items()}
        elif key != "optional":
            plain[key] = _plain_schema(value) if key in ("items", "anyOf") else value
    return plain


def read_inspect(path: str | Path) -> tuple[Task, ...]:
    """Read a dataset of inspect_ai, as JSON lines or as one list."""
    file = Path(path)
    tasks: list[Task] = []
    for number, row in enumerate(_rows(file), 1):
        known = row.get("metadata")
        more = cast("dict[str, Any]", known) if isinstance(known, dict) else {}
        try:
            tools = tuple(specs_by_name(more.get("tools", [])).values())
            system, prompt = _messages(row["input"])
            target = row.get("target", "")
            says = cast("list[str]", target) if isinstance(target, list) else [str(target)]
            calls = msgspec.convert(more.get("calls", []), tuple[Expected, ...])
        except (KeyError, TypeError, CallblocksError, msgspec.ValidationError) as error:
            raise CallerError(f"{file.name}: sample {number} is none: {error!r}") from error
        tasks.append(
            Task(
                name=str(row.get("id") or f"{file.stem}-{number}"),
                kind=file.stem,
                prompt=prompt,
                system=system,
                tools=tools,
                calls=calls,
                says=tuple(filter(None, says)),
                rounds=4 if tools else 1,
                source=file.name,
            )
        )
    if not tasks:
        raise CallerError(f"{path}: there is no sample in it")
    check_names(tasks)
    return tuple(tasks)


def _messages(given: Any) -> tuple[str, str]:
    """Return the system prompt and the prompt of a sample."""
    if isinstance(given, str):
        return "", given
    rows = cast("list[dict[str, Any]]", given)
    said = {str(row["role"]): str(row["content"]) for row in rows}
    if [row["role"] for row in rows if row["role"] != "system"] != ["user"]:
        raise TypeError("only a system and a user message are read")
    return said.get("system", ""), said["user"]


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
    """Return a task for each turn with calls of known tools, the last try of each call alone.

    A call that failed was corrected by a later one, and only what worked is right. The results are
    those that were given then.
    """
    turns: dict[str, list[Block]] = {}
    for entry in entries:
        turns.setdefault(entry.block.turn_id, []).append(entry.block)
    found = (_turn_task(name, turn, blocks, tools) for turn, blocks in turns.items() if turn)
    return [task for task in found if task is not None]


def _turn_task(
    name: str, turn: str, blocks: list[Block], tools: Mapping[str, ToolSpec]
) -> Task | None:
    prompts = [block.text or "" for block in blocks if block.type == "user.prompt"]
    failed = {block.call_id for block in blocks if block.type.startswith("react.notice")} - {""}
    calls = [
        block
        for block in blocks
        if block.type == "react.tool.call"
        and block.tool_id in tools
        and block.call_id not in failed
    ]
    if not prompts or not calls:
        return None
    return Task(
        name=f"{name}-{turn}",
        kind="own",
        prompt=prompts[0].strip(),
        tools=tuple(tools.values()),
        calls=tuple(Expected(block.tool_id, input=params_of(block)) for block in calls),
        rounds=len(calls) + 2,
        source=name,
    )


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
        lines += [f"calls = {_value(calls)}", ""]
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

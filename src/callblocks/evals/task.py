"""Tasks: what a model is asked, which tools it has, and which calls are right.

    [[task]]
    name = "weather-oslo"
    class = "single"
    prompt = "What is the weather in Oslo right now?"
    tools = ["get_weather", "get_time"]
    calls = [{name = "get_weather", input = {city = "Oslo"}}]

A call is right if it has the expected name, each argument of `input` with that value, each of
`where` as its predicate says (predicate.py), and no others, but for defaults. Order is free unless
`ordered` is true; with `any_call` one call at least is right, whichever. `never` names tools whose
call is wrong at any time. `says` are texts of which one stands in the answer, and `asks` words of
which one stands in a sentence that asks for something. `results` are what the tools give: the first
that fits a call; a chain's second call needs the first one's.

A task that others wrote as a program has a `check` instead: the name of a function of a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec
from callblocks.core.toml_text import parse_toml
from callblocks.evals.predicate import example_of, fault_of_predicate, holds, same, short

__all__ = (
    "CLASSES",
    "Check",
    "Expected",
    "Made",
    "Task",
    "ToolResult",
    "builtin_tasks",
    "check_names",
    "distinct",
    "fault_of",
    "faulty_call",
    "read_tasks",
    "task_from",
)

CLASSES = (
    "single",
    "parallel",
    "chained",
    "none",
    "missing",
    "nested",
    "long-text",
    "many-tools",
    "near-duplicates",
    "misleading",
    "injection",
    "languages",
    "long-context",
)
"""The classes of the tasks that come with callblocks; tasks of others have any."""

_FOLDER = Path(__file__).with_name("tasks")


class Made(msgspec.Struct, frozen=True):
    """A call that a model made: its input as the tool takes it, and whether it could run."""

    name: str
    input: dict[str, Any]
    valid: bool = True


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is right. Of `inputs`, which are further arguments, one is enough."""

    name: str
    input: dict[str, Any] = {}
    inputs: tuple[dict[str, Any], ...] = ()
    where: dict[str, dict[str, Any]] = {}

    def example(self) -> dict[str, Any]:
        """Return arguments that are right."""
        given = {**self.input, **(self.inputs[0] if self.inputs else {})}
        found = {key: example_of(predicate) for key, predicate in self.where.items()}
        given |= {key: value for key, value in found.items() if value is not None}
        return given


class ToolResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tool gives: for all of its calls, or for those with these arguments."""

    tool: str
    output: str
    input: dict[str, Any] = {}


Check: TypeAlias = Callable[[Sequence[Made], str], str | bool]
"""A function of the calls and the answer: true, or "" for right; false, or why it is not."""


class Task(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One task. `rounds` is how often the model is asked; `source` says where it was read."""

    name: str
    kind: str
    prompt: str
    tools: tuple[ToolSpec, ...] = ()
    calls: tuple[Expected, ...] = ()
    ordered: bool = False
    any_call: bool = False
    never: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    results: tuple[ToolResult, ...] = ()
    rounds: int = 1
    system: str = ""
    check: str = ""
    source: str = ""

    def output_of(self, name: str, given: Mapping[str, Any]) -> str:
        """Return what a tool gives for a call."""
        for one in self.results:
            fits = all(same(given.get(key), value) for key, value in one.input.items())
            if one.tool == name and fits:
                return one.output
        return "done"


# --- The check of a task ---


def fault_of(task: Task, made: Sequence[Made], answer: str, check: Check | None = None) -> str:
    """Return why calls and answer are not right, in words; "" where they are."""
    if check is not None:
        return _fault_by(check, made, answer)
    refused = [f"{call.name} was called" for call in made if call.name in task.never]
    refused += [f"{call.name} could not run" for call in made if not call.valid]
    if refused:
        return refused[0]
    return _fault_of_calls(task, made) or _fault_of_answer(task, answer)


def _fault_of_calls(task: Task, made: Sequence[Made]) -> str:
    if task.any_call:
        return "" if made else "no call was made"
    if len(made) != len(task.calls):
        return f"{len(made)} calls, and not {len(task.calls)}"
    return _unmatched(task, made)


def _fault_by(check: Check, made: Sequence[Made], answer: str) -> str:
    found: Any = check(made, answer)
    if isinstance(found, bool):
        return "" if found else "the check says no"
    if not isinstance(found, str):
        raise TypeError(f"it returned {type(found).__name__}, and neither a truth value nor a text")
    return found


def _fault_of_answer(task: Task, answer: str) -> str:
    if task.says and not any(_is_said(words, answer) for words in task.says):
        return f"the answer has none of: {', '.join(task.says)}"
    if task.asks and not _is_asked(task.asks, answer):
        return f"the answer does not ask for any of: {', '.join(task.asks)}"
    return ""


def _is_said(words: str, answer: str) -> bool:
    """Return whether words stand in an answer; up to three letters stand as a word alone."""
    pattern = re.escape(words.casefold())
    if len(words) <= 3:
        pattern = rf"(?<![a-z0-9]){pattern}(?![a-z0-9])"
    return re.search(pattern, answer.casefold()) is not None


# A question, or a request in other words. "Done. Anything else?" asks for nothing that is missing,
# so that what is asked for has to stand in the same sentence.
_REQUEST = re.compile(
    r"[?？]|\b(?:please|need|tell me|let me know|provide|specify|share|give me|missing|unclear|"
    r"don't know|do not know|bitte|por favor)\b"
)
_SENTENCE = re.compile(r"(?<=[^\d][.!?])\s+|(?<=[。？])")


def _is_asked(words: Sequence[str], answer: str) -> bool:
    sentences = _SENTENCE.split(answer.casefold().replace("\u2019", "'"))
    asking = [sentence for sentence in sentences if _REQUEST.search(sentence)]
    return any(_is_said(word, sentence) for word in words for sentence in asking)


def _unmatched(task: Task, made: Sequence[Made]) -> str:
    """Match each expected call with one that was made; return why one has none, or ""."""
    if task.ordered:
        faults = [_misfit(want, call, task) for want, call in zip(task.calls, made, strict=True)]
        return next(filter(None, faults), "")
    return _match(task, list(task.calls), list(made))


def _match(task: Task, wanted: list[Expected], made: list[Made]) -> str:
    """Match calls in any order, with backtracking: predicates may overlap, and calls are few."""
    if not wanted:
        return ""
    faults: list[str] = []
    for at, call in enumerate(made):
        fault = _misfit(wanted[0], call, task)
        fault = fault or _match(task, wanted[1:], made[:at] + made[at + 1 :])
        if not fault:
            return ""
        faults.append(fault)
    named = [fault for fault in faults if fault.startswith(wanted[0].name)]
    return (named or faults)[0]


def _misfit(want: Expected, call: Made, task: Task) -> str:
    if call.name != want.name:
        return f"{want.name} was not called, but {call.name}"
    choices = [{**want.input, **more} for more in want.inputs] or [want.input]
    faults = [_against(want, wanted, call, task) for wanted in choices]
    return "" if "" in faults else faults[0]


def _against(want: Expected, wanted: Mapping[str, Any], call: Made, task: Task) -> str:
    spec = next((tool for tool in task.tools if tool.name == call.name), None)
    defaults = {} if spec is None else _defaults(spec)
    given = defaults | call.input
    for key, value in wanted.items():
        if not same(given.get(key), value):
            return f"{call.name}: {key} is {short(given.get(key))}, and not {short(value)}"
    for key, predicate in want.where.items():
        if not holds(predicate, given.get(key)):
            return f"{call.name}: {key} is {short(given.get(key))}, against {short(predicate)}"
    for key, value in call.input.items():
        known = key in wanted or key in want.where or value in (None, "", [], {})
        if not known and (key not in defaults or not same(value, defaults[key])):
            return f"{call.name}: {key} was not asked for"
    return ""


def faulty_call(task: Task, made: Sequence[Made]) -> int | None:
    """Return which call is wrong by itself: refused, not to be run, or none of those expected."""
    for at, call in enumerate(made):
        if call.name in task.never or not call.valid:
            return at
        if not task.any_call and all(_misfit(want, call, task) for want in task.calls):
            return at
    return None


def _defaults(spec: ToolSpec) -> dict[str, Any]:
    declared: dict[str, Any] = spec.properties  # a schema may also be true or false
    return {
        key: cast("dict[str, Any]", one)["default"]
        for key, one in declared.items()
        if isinstance(one, dict) and "default" in one
    }


# --- Tasks from files ---
#
# A file has tools and tasks. Tools are written short, or as a schema:
#
#     [tools.get_weather]
#     about = "Tell the weather of a city."
#     city = "string: the name of the city"
#     unit = "celsius | fahrenheit = celsius: the unit"
#     days = "integer = 1: how many days"
#     tags = "string[]? : words to look for"
#
#     [tools.book]
#     about = "Book a trip."
#     schema = '{"type": "object", …}'
#
# A Markdown file is one task: its front matter between `+++` lines is a task's table, and the text
# below is the prompt.

_SHORT = re.compile(
    r"\s*(?P<type>[^:=?]+?)\s*(?P<maybe>\?)?\s*(?:=\s*(?P<default>[^:]+?))?\s*:(?P<about>.*)"
)
_MOST = 100_000
"""So often the line of a context may stand."""
_TYPES = ("string", "integer", "number", "boolean")
_KEYS = {
    *("name", "class", "prompt", "tools", "calls", "ordered", "any_call", "never", "says", "asks"),
    *("results", "rounds", "system", "check", "context"),
}


@cache
def builtin_tasks() -> tuple[Task, ...]:
    """Return the tasks that come with callblocks, in the order of their classes."""
    tasks = read_tasks(_FOLDER)  # `*` stands for all tools of the folder
    return tuple(sorted(tasks, key=lambda task: CLASSES.index(task.kind)))


def read_tasks(path: str | Path) -> tuple[Task, ...]:
    """Read a file of tasks, or all of a folder; raise `CallerError` for what is no task."""
    top = Path(path)
    if not top.exists():
        raise CallerError(f"{path}: no such file")
    files = [top]
    if top.is_dir():
        files = sorted(file for file in top.rglob("*") if file.suffix in (".toml", ".md"))
    read = [(file, _table(file)) for file in files]
    shared: dict[str, ToolSpec] = {}
    for file, table in read:
        for name, written in table.get("tools", {}).items():
            shared[name] = _tool(name, written, file.name)
    tasks = [
        task_from(cast("dict[str, Any]", row), shared, file.name)
        for file, table in read
        for row in table.get("task", [])
    ]
    # With a README in Markdown beside them, a folder may hold files without any task.
    if not tasks:
        raise CallerError(f"{path}: there is no task in it")
    return tuple(tasks)


def check_names(tasks: Iterable[Task]) -> None:
    """Raise `CallerError` where two tasks have one name: a report could not tell them apart."""
    seen: dict[str, str] = {}
    for task in tasks:
        if task.name in seen:
            places = sorted({seen[task.name], task.source})
            raise CallerError(f"two tasks are named {task.name!r:.80} ({', '.join(places)})")
        seen[task.name] = task.source


def distinct(tasks: Iterable[Task]) -> tuple[list[Task], list[str]]:
    """Return tasks with a name each, and what was done for that, in words.

    Of equal tasks one is kept; another one of the same name gets a number behind it.
    """
    kept: dict[str, Task] = {}
    notes: list[str] = []
    for task in tasks:
        name, number = task.name, 1
        while name in kept and not _is_equal(kept[name], task):
            number += 1
            name = f"{task.name} ({number})"
        if name in kept:
            notes.append(f"{task.source}: {task.name} stands twice, and is run once")
        elif number > 1:
            notes.append(f"{task.source}: another {task.name} is run as {name!r:.80}")
        kept.setdefault(name, msgspec.structs.replace(task, name=name))
    return list(kept.values()), notes


def _is_equal(one: Task, other: Task) -> bool:
    return msgspec.structs.replace(one, name="", source="") == msgspec.structs.replace(
        other, name="", source=""
    )


def task_from(row: dict[str, Any], shared: Mapping[str, ToolSpec], source: str) -> Task:
    """Return the task of a table; `shared` are tools by name."""
    name = row.get("name")
    where = f"{source}: task {name!r:.60}"
    if unknown := row.keys() - _KEYS:
        raise CallerError(f"{where}: no task has the key {sorted(unknown)[0]!r:.60}")
    if not isinstance(name, str) or not name.strip() or not isinstance(row.get("prompt"), str):
        raise CallerError(f"{where}: it needs a name and a prompt")
    given: list[Any] = row.get("tools", [])
    given = list(shared) if given == ["*"] else given
    if absent := [tool for tool in given if tool not in shared]:
        raise CallerError(f"{where}: no tool {absent[0]!r:.60} is declared")
    try:
        task = Task(
            name=name,
            kind=str(row.get("class", "own")),
            prompt=_context(row, where) + str(row["prompt"]).strip(),
            tools=tuple(shared[tool] for tool in given),
            calls=msgspec.convert(row.get("calls", []), tuple[Expected, ...]),
            ordered=msgspec.convert(row.get("ordered", False), bool),
            any_call=msgspec.convert(row.get("any_call", False), bool),
            never=msgspec.convert(row.get("never", []), tuple[str, ...]),
            says=msgspec.convert(row.get("says", []), tuple[str, ...]),
            asks=msgspec.convert(row.get("asks", []), tuple[str, ...]),
            results=msgspec.convert(row.get("results", []), tuple[ToolResult, ...]),
            rounds=msgspec.convert(row.get("rounds", 1), int),
            system=str(row.get("system", "")),
            check=str(row.get("check", "")),
            source=source,
        )
    except msgspec.ValidationError as error:
        raise CallerError(f"{where}: {error}") from error
    _check_predicates(task, where)
    return task


def _context(row: Mapping[str, Any], where: str) -> str:
    """Return the long text before a prompt: `{line = "…{n}", times = 200}` repeats its line."""
    match row.get("context"):
        case None:
            return ""
        case {"line": str(line), "times": int(times), **rest} if not rest and 0 < times <= _MOST:
            try:
                return "".join(f"{line.format(n=n)}\n" for n in range(1, times + 1)) + "\n"
            except (LookupError, ValueError, AttributeError) as error:
                raise CallerError(
                    f"{where}: its line is not written as {{n}}: {error!r}"
                ) from error
        case _:
            raise CallerError(f"{where}: a context has a `line` and how many `times` it stands")


def _check_predicates(task: Task, where: str) -> None:
    names = {tool.name for tool in task.tools}
    for call in task.calls:
        if call.name not in names:
            raise CallerError(f"{where}: the call of {call.name!r:.60} has no tool of that name")
        for key, predicate in call.where.items():
            if fault := fault_of_predicate(predicate):
                raise CallerError(f"{where}: {key} {fault}")


def _table(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CallerError(f"{file}: {error}") from error
    if file.suffix == ".md":
        return _front_matter(text, file)
    return parse_toml(text, "file of tasks", str(file), lambda table: table)


def _front_matter(text: str, file: Path) -> dict[str, Any]:
    parts = re.split(r"^\+\+\+[ \t]*\r?\n", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 3:
        return {}
    table = parse_toml(parts[1], "task", str(file), lambda table: table)
    tools = table.pop("tool", {})
    row = {"name": file.stem, **table, "prompt": parts[2]}
    return {"tools": tools, "task": [row]}


def _tool(name: str, written: Any, source: str) -> ToolSpec:
    if not isinstance(written, dict):
        raise CallerError(f"{source}: tool {name!r:.60} is no table")
    known = dict(cast("dict[str, Any]", written))
    about, schema = str(known.pop("about", "")), known.pop("schema", None)
    if schema is not None:
        try:
            parameters: Any = json.loads(schema)
        except (TypeError, ValueError) as error:
            raise CallerError(f"{source}: the schema of {name} is no JSON: {error}") from error
        if not isinstance(parameters, dict):
            raise CallerError(f"{source}: the schema of {name} is no object")
        return ToolSpec(name, about, cast("dict[str, Any]", parameters))
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key, text in known.items():
        properties[key], is_needed = _parameter(str(text), f"{source}: tool {name}, {key}")
        if is_needed:
            required.append(key)
    return ToolSpec(name, about, {"type": "object", "properties": properties, "required": required})


def _parameter(text: str, where: str) -> tuple[dict[str, Any], bool]:
    found = _SHORT.fullmatch(text)
    if found is None:
        raise CallerError(f"{where}: {text!r:.60} is no parameter, as `string: what it is`")
    schema = _type(found["type"], where) | {"description": found["about"].strip()}
    if found["default"] is None:
        return schema, not found["maybe"]
    default: Any = found["default"]
    if schema.get("type") in ("integer", "number", "boolean"):
        default = json.loads(default)
    return schema | {"default": default}, False


def _type(text: str, where: str) -> dict[str, Any]:
    if text.endswith("[]"):
        return {"type": "array", "items": _type(text[:-2], where)}
    if "|" in text:
        return {"type": "string", "enum": [one.strip() for one in text.split("|")]}
    if text not in _TYPES:
        raise CallerError(f"{where}: no type {text!r:.60}; there are {', '.join(_TYPES)}")
    return {"type": text}

"""The prompt section that tells a model how to call tools, made from their specifications.

There are two forms: `prompt` describes each parameter on a line of its own, `compact_prompt` each
tool on one (`tool_signatures` has the notation). The compact one is for small models and short
contexts. Signatures and needed notes are always written; descriptions that only help fill the room
that is left up to `COMPACT_SIZE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from callblocks.model.calls import Call, Item
from callblocks.model.errors import BadSpec
from callblocks.model.specs import ToolSpec
from callblocks.parsing.parameter_notes import Note, parameter_notes, summary
from callblocks.parsing.tool_signatures import parameter_list, quoted

__all__ = ("COMPACT_SIZE", "compact_prompt", "example_items", "prompt", "sample")

# The size in bytes up to which a compact prompt is filled with optional descriptions.
COMPACT_SIZE = 4000

_SIGNS = (("?", "`?` optional"), ("=", "`=` default"), ("*", "`*` body"))


def prompt(rules: Sequence[str], tools: Sequence[ToolSpec], example: str) -> str:
    """Return a prompt: an example of a call, a few rules, and a description of each tool."""
    parts = [
        "# Tools",
        "You can call tools. A program reads what you write, so write a call exactly like this:",
        example.strip("\n"),
        "\n".join(f"- {rule}" for rule in rules),
        "These are the tools:",
        *map(_describe, tools),
    ]
    return "\n\n".join(parts) + "\n"


def compact_prompt(rules: Sequence[str], tools: Sequence[ToolSpec], example: str) -> str:
    """Return a shorter prompt with one line per tool."""
    lines = _lines(tools)
    parts = [
        "# Tools",
        "Call a tool exactly like this:",
        example.strip("\n"),
        "\n".join(f"- {rule}" for rule in rules),
        f"Tools ({_legend(tools, lines)}):",
        "",
    ]
    room = COMPACT_SIZE - len("\n\n".join(parts).encode())
    return "\n\n".join(parts) + "\n".join(_filled(lines, room)) + "\n"


# The optional descriptions that are kept: line, parameter, and which part of its note.
_Kept: TypeAlias = set[tuple[int, str, str]]


class _Line(NamedTuple):
    """The line of a tool: signature, first clause and sentence of its description, notes."""

    signature: str
    clause: str
    sentence: str
    notes: Sequence[Note]


def _lines(tools: Sequence[ToolSpec]) -> list[_Line]:
    """Describe each tool; one with the same parameters as an earlier one refers to that.

    A note that repeats the note of an earlier parameter of that name is optional.
    """
    lines: list[_Line] = []
    told: dict[str, str] = {}
    said: set[tuple[str, str]] = set()
    for tool in tools:
        name, parameters, notes = quoted(tool.name), parameter_list(tool), parameter_notes(tool)
        key = f"{parameters} {notes}"
        same = f"same as {told.setdefault(key, name)}"
        if told[key] != name and len(same) < len(parameters):
            parameters, notes = same, []
        notes = [_repeated(note) if note[:2] in said else note for note in notes]
        said.update((note.at, note.needed) for note in notes)
        lines.append(_Line(f"{name}({parameters})", *summary(tool.description), notes))
    return lines


def _repeated(note: Note) -> Note:
    helpful = "; ".join(filter(None, [note.needed, note.helpful]))
    return note._replace(needed="", helpful=helpful)


def _legend(tools: Sequence[ToolSpec], lines: Sequence[_Line]) -> str:
    """Explain the signs that occur; lists, objects and choices explain themselves."""
    used = "".join(line.signature for line in lines)
    signs = [text for sign, text in _SIGNS if sign in used]
    bodies = ["lists line by line"] * any(tool.body_is_lines for tool in tools)
    bodies += ["objects as JSON"] * any(tool.body_is_json for tool in tools)
    if bodies:
        signs[-1] += f" ({', '.join(bodies)})"
    cut = ["`…` more, left out here"] * ("…" in used)
    return ", ".join([*signs, *cut, "untyped: string or as the default"])


def _filled(lines: Sequence[_Line], room: int) -> list[str]:
    """Write the lines with all that is needed, and then with more of it while there is room.

    What helps comes first, then what required parameters are, whole first sentences, and what the
    others are. What does not fit is passed over: a long note does not keep a short one out.
    """
    notes = [(at, note) for at, line in enumerate(lines) for note in line.notes]
    order = [
        *((at, note.at, "helpful") for at, note in notes if note.helpful),
        *((at, note.at, "rest") for at, note in notes if note.rest and note.is_required),
        *((at, "", "sentence") for at, line in enumerate(lines) if line.sentence != line.clause),
        *((at, note.at, "rest") for at, note in notes if note.rest and not note.is_required),
    ]
    kept: _Kept = set()
    sizes = [_size(_written(line, at, kept)) for at, line in enumerate(lines)]
    for key in order:
        at, others = key[0], sum(sizes) - sizes[key[0]]
        size = _size(_written(lines[at], at, kept | {key}))
        if others + size <= room:
            sizes[at] = size
            kept.add(key)
    return [_written(line, at, kept) for at, line in enumerate(lines)]


def _written(line: _Line, at: int, kept: _Kept) -> str:
    about = [line.sentence if (at, "", "sentence") in kept else line.clause]
    for note in line.notes:
        rest = note.rest if (at, note.at, "rest") in kept else ""
        helpful = note.helpful if (at, note.at, "helpful") in kept else ""
        # The descriptive clause may already contain needed parts: these are not written twice.
        more = [part for part in f"{note.needed}; {helpful}".split("; ") if part not in rest]
        if text := "; ".join(filter(None, [rest, *more])):
            about.append(f"{note.at}: {text}")
    return ": ".join(filter(None, [line.signature, ". ".join(filter(None, about))]))


def _size(line: str) -> int:
    return len(line.encode()) + 1


def example_items(tools: Sequence[ToolSpec]) -> list[Item]:
    """Return a sentence, and a call of the first tool with a sample of its required input."""
    if not tools:
        raise BadSpec("an example needs at least one tool")
    tool = tools[0]
    value = {name: sample(tool.properties.get(name, {}), name) for name in _shown(tool)}
    if isinstance(value.get(tool.body or ""), str):
        value[str(tool.body)] += "\n"
    return ["I will use a tool.\n", Call(id="call-1", name=tool.name, input=value)]


def sample(schema: dict[str, Any], name: str = "text") -> Any:
    """Return a value that fits a schema: its example, default or first choice if it has one."""
    if not isinstance(schema, dict):  # pyright: ignore[reportUnnecessaryIsInstance] `true` is a schema
        return name
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    kind: Any = schema.get("type")
    return _sample_of(
        kind if isinstance(kind, str | None) else next(iter(kind), None), schema, name
    )


def _sample_of(kind: object, schema: dict[str, Any], name: str) -> Any:
    if kind == "array":
        return [sample(schema.get("items", {}), name)]
    if kind == "object":
        inner = schema.get("properties", {})
        return {key: sample(inner.get(key, {}), key) for key in schema.get("required", inner)}
    return {"integer": 1, "number": 1, "boolean": True, "null": None}.get(str(kind), name)


def _shown(tool: ToolSpec) -> list[str]:
    required = [name for name in tool.properties if name in tool.required]
    return required or list(tool.properties)[:1]


def _describe(tool: ToolSpec) -> str:
    head = f"## {tool.name}"
    about = [tool.description] if tool.description else []
    return "\n".join([head, *about, *(_parameter(tool, name) for name in tool.properties)])


def _parameter(tool: ToolSpec, name: str) -> str:
    schema = tool.properties[name]
    kind = schema.get("type", "any")
    notes = [kind if isinstance(kind, str) else " or ".join(kind)]
    form = ", one on each line" if tool.body_is_lines else ", as JSON" * tool.body_is_json
    notes += [] if name in tool.required else ["optional"]
    notes += [f"one of {', '.join(map(str, schema['enum']))}"] if "enum" in schema else []
    notes += [f"the body{form}"] if name == tool.body else []
    about = schema.get("description", "")
    return f"- {name} ({', '.join(notes)})" + (f": {about}" if about else "")

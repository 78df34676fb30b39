"""The prompt section that tells a model how to call tools, made from their specifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callblocks.model.calls import Call, Item
from callblocks.model.errors import BadSpec
from callblocks.model.specs import ToolSpec

__all__ = ("example_items", "prompt", "sample")


def prompt(rules: Sequence[str], tools: Sequence[ToolSpec], example: str) -> str:
    """Say how a call looks, by an example and a few rules, and what tools there are."""
    parts = [
        "# Tools",
        "You can call tools. A program reads what you write, so write a call exactly like this:",
        example.strip("\n"),
        "\n".join(f"- {rule}" for rule in rules),
        "These are the tools:",
        *map(_describe, tools),
    ]
    return "\n\n".join(parts) + "\n"


def example_items(tools: Sequence[ToolSpec]) -> list[Item]:
    """A sentence, and a call of the first tool with a sample of its required input."""
    if not tools:
        raise BadSpec("an example needs at least one tool")
    tool = tools[0]
    value = {name: sample(tool.properties.get(name, {}), name) for name in _shown(tool)}
    if isinstance(value.get(tool.body or ""), str):
        value[str(tool.body)] += "\n"
    return ["I will use a tool.\n", Call(id="call-1", name=tool.name, input=value)]


def sample(schema: dict[str, Any], name: str = "text") -> Any:
    """A value that fits a schema: its own example, default or first choice where it has one."""
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

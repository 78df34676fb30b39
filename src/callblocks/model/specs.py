"""What a dialect needs to know of a tool: its name, what it is for, what it takes.

A specification is the shape that OpenAI's `tools` list has, plus the parameter that takes
a block's body where a dialect has bodies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import msgspec

from callblocks.model.errors import BadSpec

__all__ = ("SpecBook", "ToolSpec", "ToolSpecs", "read_specs", "specs_by_name")


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model sees it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    body: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no dialect could read a call by."""
        if fault := _fault(self.parameters):
            raise BadSpec(f"tool {self.name!r:.60}: {fault}")

    @property
    def properties(self) -> dict[str, Any]:
        """The schema of each parameter, in order; one that says nothing of it is empty."""
        given: dict[str, Any] = self.parameters.get("properties", {})
        return {name: schema if isinstance(schema, dict) else {} for name, schema in given.items()}

    @property
    def required(self) -> tuple[str, ...]:
        """The parameters that a call must give."""
        return tuple(self.parameters.get("required", ()))

    @property
    def body_is_lines(self) -> bool:
        """Whether the body is for a list of strings, one on each line."""
        schema = self.properties.get(self.body or "", {})
        items = schema.get("items")
        of_strings = (
            isinstance(items, dict) and cast("dict[str, Any]", items).get("type") == "string"
        )
        return of_strings and schema.get("type") == "array"

    @property
    def body_is_json(self) -> bool:
        """Whether the body is for another list or an object, as JSON."""
        kind = self.properties.get(self.body or "", {}).get("type")
        return kind in ("array", "object") and not self.body_is_lines


def _fault(parameters: object) -> str:
    """Why a schema cannot be that of a tool's parameters, or ""; what it holds may be odd."""
    if not isinstance(parameters, Mapping):
        return f"its parameters are a JSON Schema, an object, not {parameters!r:.60}"
    schema = cast("Mapping[str, object]", parameters)
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        return f"`properties` is an object, a schema for each name, not {properties!r:.60}"
    if not isinstance(required, list | tuple):
        return f"`required` is a list of names, not {required!r:.60}"
    names = [*cast("Mapping[object, object]", properties), *cast("list[object]", required)]
    if odd := [name for name in names if not isinstance(name, str)]:
        return f"a parameter's name is text, not {odd[0]!r:.60}"
    try:
        json.dumps(parameters, skipkeys=True, default=repr)
    except (ValueError, RecursionError):
        return "its schema contains itself, or is nested too deep; use `$ref`"
    return ""


ToolSpecs: TypeAlias = Iterable[ToolSpec]


@runtime_checkable
class SpecBook(Protocol):
    """Knows specifications by name, and need not have them all made."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """Each by its name."""
        ...


def specs_by_name(tools: ToolSpecs) -> Mapping[str, ToolSpec]:
    """Index tools by name; a later one wins. What has an index already is not walked over."""
    # Looking for the protocol costs more than all else that a parser is made of.
    is_plain = isinstance(tools, tuple)
    if not is_plain and isinstance(tools, SpecBook):
        return tools.specs
    known: dict[str, ToolSpec] = {}
    if not (is_plain or isinstance(tools, Iterable)):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
        raise BadSpec(f"tools are a list of ToolSpec, not {tools!r:.60}")
    for tool in tools:
        if not isinstance(tool, ToolSpec):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
            raise BadSpec(
                f"a tool is a ToolSpec, not {tool!r:.60}; `read_specs` makes them of JSON"
            )
        known[tool.name] = tool
    return known


def read_specs(value: object) -> tuple[ToolSpec, ...]:
    """Read a list of tools in OpenAI's shape: `{"type": "function", "function": {…}}` or flat."""
    if not isinstance(value, list):
        raise BadSpec(f"tools are a list of objects, not {type(value).__name__}")
    return tuple(_read_spec(entry, at) for at, entry in enumerate(cast("list[object]", value)))


def _read_spec(entry: object, at: int) -> ToolSpec:
    if isinstance(entry, dict):
        entry = cast("dict[str, object]", entry).get("function", cast("object", entry))
    try:
        spec = msgspec.convert(entry, ToolSpec)
        msgspec.convert(spec.parameters, _Schema)
    except msgspec.ValidationError as error:
        raise BadSpec(f"tool {at}: {error}") from error
    return spec


class _Schema(msgspec.Struct):
    """The parts of a JSON Schema that we look into, as far as they have a fixed form."""

    type: str | list[str] = "object"
    properties: dict[str, _Schema | bool] = {}
    required: list[str] = []
    items: _Schema | bool | list[Any] = True
    anyOf: list[_Schema | bool] = []
    oneOf: list[_Schema | bool] = []
    enum: list[Any] = []

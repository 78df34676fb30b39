"""Specifications of tools: name, purpose and parameters, as a dialect needs them.

A specification has the shape of an entry in OpenAI's `tools` list, plus the parameter that takes a
block's body where a dialect has bodies. Tools come in other shapes too, and every function that
takes tools takes them all, mixed in one list, or one of them alone:

    ToolSpec(…)                                                 as it is
    @tool, an object with a `spec`                              its specification
    def ls(path: str) -> str, class Ls(pydantic.BaseModel)      declared by `callblocks.tools`
    {"type": "function", "function": {…}}                       OpenAI, chat
    {"type": "function", "name": …, "parameters": …}            OpenAI, responses
    {"name": …, "input_schema": …}                              Anthropic
    {"functionDeclarations": [{"name": …, "parameters": …}]}    Gemini
    {"name": …, "inputSchema": …}                               MCP
    {"toolSpec": {"name": …, "inputSchema": {"json": …}}}       Bedrock
    an object with `model_dump()`                               what it dumps: one of the dicts

A dict with none of these keys maps names to tools: `{"ls": …}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

import msgspec

from callblocks.core.errors import BadSpec, BadTool
from callblocks.core.text import brief

__all__ = (
    "CATALOGUE",
    "KNOWN_SHAPES",
    "SpecBook",
    "ToolLike",
    "ToolSpec",
    "ToolSpecs",
    "entries",
    "is_declared",
    "read_annotated",
    "read_entry",
    "read_specs",
    "specs_by_name",
    "to_json_schema",
)

# --- Conversion of schemas in other dialects of JSON Schema to plain JSON Schema ---
#
#     {"type": "STRING", "nullable": true}        {"type": ["string", "null"]}
#     {"type": "ARRAY", "minItems": "1"}          {"type": "array", "minItems": 1}
#     {"properties": null, "required": null}      {}
#
# Gemini writes types in capitals, integers as text, and OpenAPI's `nullable`; SDKs of typed
# languages write null for absent keywords. Plain JSON Schema has none of these, so it is unchanged.
# Only schema positions are converted: a default, or a property named `type`, is a value.

_TYPES = {
    name.upper(): name
    for name in ("string", "number", "integer", "boolean", "array", "object", "null")
}
_UNKNOWN_TYPE = "TYPE_UNSPECIFIED"
_VALUES = ("default", "const", "example", "examples", "enum")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_INNER = (
    *("anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties", "contains"),
    *("not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)


def to_json_schema(schema: object) -> Any:
    """Return the schema in plain JSON Schema; return anything else as it is."""
    if isinstance(schema, list | tuple):
        return [to_json_schema(one) for one in cast("list[object]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    given = cast("Mapping[str, Any]", schema)
    made = {
        key: _part(key, value)
        for key, value in given.items()
        if (value is not None or key in _VALUES) and value != _UNKNOWN_TYPE
    }
    return _with_null(made) if made.pop("nullable", None) is True else made


def _part(key: str, value: Any) -> Any:
    # The keys of these are names chosen by the author, so a property called `type` is not
    # converted.
    if key in _MAPS and isinstance(value, Mapping):
        named = cast("Mapping[str, object]", value)
        return {name: to_json_schema(one) for name, one in named.items()}
    if key in _INNER:
        return to_json_schema(value)
    if key == "type":
        several = isinstance(value, list | tuple)
        return [_type(one) for one in cast("list[object]", value)] if several else _type(value)
    if key in _COUNTS and isinstance(value, str) and value.isdecimal():
        return int(value)
    return value


def _type(name: object) -> object:
    return _TYPES.get(name, name) if isinstance(name, str) else name


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Let a schema accept null, where it restricts the accepted values."""
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    choices = schema.get("enum")
    if isinstance(choices, list) and None not in choices:
        schema["enum"] = [*cast("list[object]", choices), None]
    return schema


# --- Specifications of tools: name, purpose and parameters, as a dialect needs them ---

# The shapes of a tool, for messages.
KNOWN_SHAPES = (
    "a ToolSpec, a @tool, a typed function, a pydantic model, or a dict of OpenAI, Anthropic, "
    "Gemini or MCP"
)


class ToolSpec(msgspec.Struct, frozen=True, dict=True):
    """A tool as a model sees it. `parameters` is a JSON Schema of type object.

    An absent schema (`None`, `True`) is an empty one.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    body: str | None = None

    def __post_init__(self) -> None:
        """Refuse a specification by which no dialect could read a call."""
        schema = _object_schema(self.parameters)
        if schema is not self.parameters:
            msgspec.structs.force_setattr(self, "parameters", schema)
        if fault := _fault(self.parameters):
            raise BadSpec(f"tool {self.name!r:.60}: {fault}")

    @cached_property
    def properties(self) -> dict[str, Any]:
        """Return the schema of each parameter, in order; an absent one is empty."""
        given: dict[str, Any] = self.parameters.get("properties", {})
        return {name: schema if isinstance(schema, dict) else {} for name, schema in given.items()}

    @property
    def required(self) -> tuple[str, ...]:
        """Return the required parameters."""
        return tuple(self.parameters.get("required", ()))

    @property
    def body_is_lines(self) -> bool:
        """Return whether the body is for a list of strings, one on each line."""
        schema = self.properties.get(self.body or "", {})
        items = schema.get("items")
        of_strings = (
            isinstance(items, dict) and cast("dict[str, Any]", items).get("type") == "string"
        )
        return of_strings and schema.get("type") == "array"

    @property
    def body_is_json(self) -> bool:
        """Return whether the body is for another list or an object, as JSON."""
        kind = self.properties.get(self.body or "", {}).get("type")
        return kind in ("array", "object") and not self.body_is_lines


def _fault(parameters: object) -> str:
    """Return why a schema cannot be that of a tool's parameters, or ""."""
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
        # Only to find cycles and excessive depth before any recursive code walks the schema.
        import json

        json.dumps(parameters, skipkeys=True, default=repr)
    except (ValueError, RecursionError):
        return "its schema contains itself, or is nested too deep; use `$ref`"
    return ""


def _object_schema(schema: Any) -> Any:
    """Return the schema of an input: an absent one is empty, and null counts as absent."""
    if schema is None or schema is True:
        return {}
    if schema is False:
        return {"additionalProperties": False}
    if isinstance(schema, Mapping):
        given = cast("Mapping[object, object]", schema)
        empty = [key for key in ("properties", "required") if given.get(key, ()) is None]
        if empty or not isinstance(given, dict):
            return {key: value for key, value in given.items() if key not in empty}
        return given
    return schema


@runtime_checkable
class SpecBook(Protocol):
    """An index of specifications by name, which need not have them all made."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """Return each specification by its name."""
        ...


class HasSpec(Protocol):
    """A tool that knows its specification."""

    @property
    def spec(self) -> ToolSpec:
        """Return the specification that a model sees."""
        ...


# A tool in any of the shapes; a class is a callable, too.
ToolLike: TypeAlias = ToolSpec | HasSpec | Mapping[str, Any] | Callable[..., Any]
# Tools: a list of them in any shapes, mixed; a registry; one tool; or a dict of them by name.
ToolSpecs: TypeAlias = Iterable[ToolLike] | SpecBook | ToolLike


def specs_by_name(tools: ToolSpecs) -> Mapping[str, ToolSpec]:
    """Index tools by name; a later one wins. An existing index is not walked over."""
    # `isinstance` with a protocol costs more than everything else in making a parser.
    is_plain = isinstance(tools, tuple | list)
    if not is_plain and isinstance(tools, SpecBook):
        return tools.specs
    known: dict[str, ToolSpec] = {}
    listed = cast("Iterable[object]", tools) if is_plain else entries(tools)
    for at, entry in enumerate(listed):
        if isinstance(entry, ToolSpec):
            known[entry.name] = entry
        else:
            known.update((spec.name, spec) for spec in read_entry(entry, at))
    return known


def read_specs(tools: object) -> tuple[ToolSpec, ...]:
    """Read tools in any of the shapes, all of them, in their order."""
    return tuple(spec for at, entry in enumerate(entries(tools)) for spec in read_entry(entry, at))


def entries(tools: object) -> Iterable[object]:
    """Return the entries of a list of tools; one tool alone is a list of itself."""
    if isinstance(tools, list | tuple):
        return cast("Iterable[object]", tools)
    tools = _dumped(tools)
    if isinstance(tools, Mapping):
        return _mapped(cast("Mapping[object, object]", tools))
    if isinstance(tools, ToolSpec) or callable(tools) or _spec_of(tools):
        return (tools,)
    if isinstance(tools, Iterable) and not isinstance(tools, str | bytes | bytearray):
        return cast("Iterable[object]", tools)
    raise BadSpec(f"tools are a list, not {brief(tools)}; each is {KNOWN_SHAPES}")


def read_entry(entry: object, at: int) -> Iterator[ToolSpec]:
    """Read one entry, the `at`-th of its list; a Gemini tool may hold several."""
    return (spec for spec, _ in read_annotated(entry, at))


def read_annotated(entry: object, at: int) -> Iterator[tuple[ToolSpec, Mapping[str, Any]]]:
    """Read one entry: each specification, with the `annotations` that a dict has for it."""
    if isinstance(entry, ToolSpec):
        yield entry, {}
    elif is_declared(entry):
        yield _declared(entry, at), {}
    elif spec := _spec_of(entry):
        yield spec, {}
    elif isinstance(dumped := _dumped(entry), Mapping):
        for flat in _flat_entries(cast("Mapping[str, Any]", dumped), at):
            hints: Any = flat.get("annotations")
            yield _read_flat(flat, at), hints if isinstance(hints, Mapping) else {}
    else:
        raise BadSpec(f"tool {at} is {brief(entry)}; a tool is {KNOWN_SHAPES}")


def is_declared(entry: object) -> TypeGuard[Callable[..., Any]]:
    """Return whether only the signature or the fields of an entry define its parameters."""
    return callable(entry) and _spec_of(entry) is None and not isinstance(_dumped(entry), Mapping)


def _flat_entries(entry: Mapping[str, Any], at: int) -> Iterator[Mapping[str, Any]]:
    """Unwrap a dict: each result has a name and a schema itself."""
    for key in _SEVERAL:
        several = entry.get(key)
        if isinstance(several, list | tuple):
            for one in cast("Iterable[object]", several):
                if not isinstance(inner := _dumped(one), Mapping):
                    raise BadSpec(f"tool {at}: `{key}` has {brief(one)}, which is no declaration")
                yield from _flat_entries(cast("Mapping[str, Any]", inner), at)
            return
    for key in _WRAPPERS:
        if isinstance(inner := entry.get(key), Mapping):
            beside = {"annotations": entry["annotations"]} if "annotations" in entry else {}
            yield {**cast("Mapping[str, Any]", inner), **beside}
            return
    yield entry


_SEVERAL = ("functionDeclarations", "function_declarations")
_WRAPPERS = ("function", "toolSpec")
_TEXTS = ("name", "description", "body")
_SCHEMAS = (
    *("parameters", "input_schema", "inputSchema"),
    *("parametersJsonSchema", "parameters_json_schema"),
)


def _mapped(tools: Mapping[object, object]) -> Iterable[object]:
    """Return the entries of a dict: one tool, a list under `tools`, or tools by name."""
    listed = tools.get("tools")
    if isinstance(listed, list | tuple):
        return cast("Iterable[object]", listed)
    wraps = any(isinstance(tools.get(key), list | tuple) for key in _SEVERAL)
    wraps = wraps or any(isinstance(tools.get(key), Mapping) for key in _WRAPPERS)
    if wraps or any(isinstance(tools.get(key), str) for key in ("name", "type")):
        return (tools,)
    return (_named(name, entry, at) for at, (name, entry) in enumerate(tools.items()))


def _named(name: object, entry: object, at: int) -> object:
    """Return an entry with the name that it is filed under; a dict need not repeat it."""
    if isinstance(dumped := _dumped(entry), Mapping):
        entry = {"name": name, **cast("Mapping[str, Any]", dumped)}
    own = [spec.name for spec in read_entry(entry, at)]
    if own != [name]:
        raise BadSpec(f"tool {at} stands under {brief(name)}, but is named {', '.join(own)}")
    return entry


def _spec_of(entry: object) -> ToolSpec | None:
    spec = getattr(entry, "spec", None)
    return spec if isinstance(spec, ToolSpec) else None


def _dumped(entry: object) -> object:
    """Return the dump of an SDK's object; anything else as it is."""
    dump = None if isinstance(entry, type) else getattr(entry, "model_dump", None)
    return dump(by_alias=True, exclude_none=True) if callable(dump) else entry


def _declared(entry: Callable[..., Any], at: int) -> ToolSpec:
    # Functions and models are read by `tools`, a higher layer that needs more than msgspec. It is
    # imported by name, like a plug-in, when the first of them comes.
    declare = import_module("callblocks.tools.declare")
    try:
        return declare.spec_of(entry)
    except BadTool as error:
        raise BadTool(f"tool {at}: {error}") from error


def _read_flat(entry: Mapping[str, Any], at: int) -> ToolSpec:
    if entry and not entry.keys() & {*_TEXTS, *_SCHEMAS}:
        raise BadSpec(f"tool {at} is {brief(dict(entry))}; a tool is {KNOWN_SHAPES}")
    schema = next((entry[key] for key in _SCHEMAS if entry.get(key) is not None), None)
    said = {key: entry[key] for key in _TEXTS if entry.get(key) is not None}
    try:
        said["parameters"] = _object_schema(to_json_schema(_unwrapped(schema)))
        spec = msgspec.convert(said, ToolSpec)
        msgspec.convert(spec.parameters, _Schema)
    except msgspec.ValidationError as error:
        raise BadSpec(f"tool {at}: {error}") from error
    except RecursionError as error:
        raise BadSpec(f"tool {at}: its schema contains itself, or is nested too deep") from error
    return spec


def _unwrapped(schema: object) -> object:
    """Unwrap Bedrock's schemas, which stand in `json`."""
    if not isinstance(schema, Mapping):
        return schema
    known = cast("Mapping[str, object]", schema)
    return known["json"] if [*known] == ["json"] else known


class _Schema(msgspec.Struct):
    """The parts of a JSON Schema that are read here, as far as they have a fixed form."""

    type: str | list[str] = "object"
    properties: dict[str, _Schema | bool] = {}
    required: list[str] = []
    items: _Schema | bool | list[Any] = True
    anyOf: list[_Schema | bool] = []
    oneOf: list[_Schema | bool] = []
    enum: list[Any] = []


# --- Tool types that scissors-cat knows by itself, whatever else a caller has ---

CATALOGUE = (
    *("api_call", "file_ingest", "file_upload", "search", "web_search", "custom"),
    *("gmail_list", "gmail_read", "gmail_send", "gmail_search"),
    *("drive_list", "drive_read", "drive_create", "drive_update", "drive_delete", "drive_search"),
    *("calendar_list", "calendar_events", "calendar_create", "calendar_update", "calendar_delete"),
    *("docs_read", "docs_create", "docs_append", "docs_replace"),
    *("sheets_read", "sheets_write", "sheets_append", "sheets_create", "sheets_clear"),
    *("tasks_list", "tasks_get", "tasks_create", "tasks_update", "tasks_complete", "tasks_delete"),
    "terminal_execute",
)

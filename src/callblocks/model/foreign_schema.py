"""Conversion of schemas in other dialects of JSON Schema to plain JSON Schema.

    {"type": "STRING", "nullable": true}        {"type": ["string", "null"]}
    {"type": "ARRAY", "minItems": "1"}          {"type": "array", "minItems": 1}
    {"properties": null, "required": null}      {}

Gemini writes types in capitals, integers as text, and OpenAPI's `nullable`; SDKs of typed languages
write null for absent keywords. Plain JSON Schema has none of these, so it is unchanged. Only schema
positions are converted: a default, or a property named `type`, is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ("to_json_schema",)

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

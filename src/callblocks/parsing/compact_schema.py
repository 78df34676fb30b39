"""Short forms of tools: the schema that a call needs, and the first clause of each description.

A server that takes tools natively writes their whole schemas into the prompt, which a small model
reads for minutes. Names, types, choices, required parameters and the structure stay. Descriptions
are cut to their first clause. Examples, defaults, formats and bounds are dropped: a call that
violates one gets an error as its result.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from callblocks.model.specs import ToolSpec
from callblocks.parsing.parameter_notes import summary

__all__ = ("compact_spec",)

_KEPT = frozenset(
    (
        *("type", "properties", "required", "items", "enum", "const", "$ref", "$defs"),
        *("definitions", "anyOf", "oneOf", "allOf", "prefixItems", "description"),
    )
)
# Keywords whose members are names of the schema's author, and not keywords: a parameter may be
# called `default`.
_BY_NAME = frozenset(("properties", "$defs", "definitions"))


def compact_spec(spec: ToolSpec) -> ToolSpec:
    """Return the tool with a short description and schema."""
    clause, _ = summary(spec.description)
    return replace(spec, description=clause, parameters=_compact(spec.parameters))


def _compact(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_compact(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for keyword, value in cast("dict[str, Any]", schema).items():
        if keyword not in _KEPT:
            continue
        if keyword == "description":
            kept[keyword] = summary(str(value))[0]
        elif keyword in _BY_NAME and isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            kept[keyword] = {name: _compact(inner) for name, inner in named.items()}
        else:
            kept[keyword] = value if keyword in ("enum", "const") else _compact(value)
    return kept

"""Types of arguments that were written as text one by one, by the tool's schema.

    typed_argument("3", tool, "days").value      3

A tool's parameters may stand in `$ref`, `allOf` or a union. A key that is none of them has the type
that `additionalProperties` gives, or stays text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from callblocks.model.brief import brief
from callblocks.model.specs import ToolSpec
from callblocks.parsing.schema_shape import Schemas, members
from callblocks.parsing.typed import Typed, typed

_COMPOSED = {"$ref", "allOf", "anyOf", "oneOf"}

__all__ = (
    "may_have",
    "plain_values",
    "problems_of",
    "schema_of",
    "typed_argument",
)


def schema_of(tool: ToolSpec | None, key: str) -> object:
    """Return the schema of a parameter; True, which allows everything, if there is none."""
    if tool is None:
        return True
    given = tool.parameters.get("properties")
    if isinstance(given, dict) and key in given and _COMPOSED.isdisjoint(tool.parameters):
        return cast("dict[str, object]", given)[key]
    found: list[object] = []
    for plain in Schemas(tool.parameters).plain(tool.parameters):
        said = members(plain)
        schema = said.known.get(key, said.extra)
        found += [] if isinstance(schema, bool) else [schema]
    return {"anyOf": found} if len(found) > 1 else found[0] if found else True


def may_have(tool: ToolSpec | None, key: str) -> bool:
    """Return whether a call of the tool may have an argument of this name.

    It may if the schema names it, names no parameter at all, or allows others.
    """
    if tool is None or key in tool.properties:
        return True
    said = map(members, Schemas(tool.parameters).plain(tool.parameters))
    return any(key in one.known or not one.known or one.extra is not False for one in said)


def typed_argument(text: str, tool: ToolSpec | None, key: str) -> Typed:
    """Return a text as the type that the tool's schema gives this parameter."""
    return typed(text, schema_of(tool, key), tool.parameters if tool else True, repair=True)


def problems_of(values: Mapping[str, Typed]) -> list[tuple[str, str]]:
    """Return the problems of typed values, each a code and a detail."""
    return [
        (code, f"{key}: {brief(value.value)}")
        for key, value in values.items()
        for code in (*(() if value.fits else ("mistyped-argument",)), *value.repairs)
    ]


def plain_values(values: Mapping[str, Typed]) -> dict[str, Any]:
    """Return the values without their problems."""
    return {key: value.value for key, value in values.items()}

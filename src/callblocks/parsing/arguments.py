"""Arguments that were written as text, one by one, as the tool's schema types them.

    typed_arguments({"days": "3"}, tool)      ({"days": 3}, [])

A tool's parameters may stand in `$ref`, `allOf` or a union; a key that is none of them is of
the type that `additionalProperties` gives, or stays text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from callblocks.model.brief import brief
from callblocks.model.specs import ToolSpec
from callblocks.parsing.schema_shape import Schemas, elements, kind, members
from callblocks.parsing.typed import Typed, typed, types_of

_COMPOSED = {"$ref", "allOf", "anyOf", "oneOf"}

__all__ = (
    "may_have",
    "plain_values",
    "problems_of",
    "schema_of",
    "typed_argument",
    "typed_list",
)


def schema_of(tool: ToolSpec | None, key: str) -> object:
    """The schema of a parameter; True, which says nothing, where there is none."""
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
    """Whether a call of the tool may have an argument of this name.

    So it is where the schema names it, names no parameter at all, or lets others stand beside.
    """
    if tool is None or key in tool.properties:
        return True
    said = map(members, Schemas(tool.parameters).plain(tool.parameters))
    return any(key in one.known or not one.known or one.extra is not False for one in said)


def typed_list(texts: Sequence[str], tool: ToolSpec | None, key: str) -> Typed | None:
    """The list that an argument is which is given again and again; None if it can be no list."""
    schema, document = schema_of(tool, key), tool.parameters if tool else True
    choices = Schemas(document).plain(schema)
    items = [elements(plain).rest for plain in choices if kind(plain) == "array"]
    if not items and any(map(types_of, choices)):
        return None
    values = [typed(text, items[0] if items else True, document, repair=True) for text in texts]
    repairs = ("repaired-list", *(code for value in values for code in value.repairs))
    fit = all(value.fits for value in values)
    return Typed([value.value for value in values], fit, tuple(dict.fromkeys(repairs)))


def typed_argument(text: str, tool: ToolSpec | None, key: str) -> Typed:
    """A text as the type that the tool's schema says for this parameter."""
    return typed(text, schema_of(tool, key), tool.parameters if tool else True, repair=True)


def problems_of(values: Mapping[str, Typed]) -> list[tuple[str, str]]:
    """What is wrong with values that were typed: code and detail."""
    return [
        (code, f"{key}: {brief(value.value)}")
        for key, value in values.items()
        for code in (*(() if value.fits else ("mistyped-argument",)), *value.repairs)
    ]


def plain_values(values: Mapping[str, Typed]) -> dict[str, Any]:
    """The input that they are."""
    return {key: value.value for key, value in values.items()}

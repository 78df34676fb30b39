"""Conversion of a text that a model wrote for a parameter to the type in the tool's schema.

A string stays exactly as written. In a union, the types are tried in the schema's order and
`string` last: any text is a string, so `["string", "integer"]` would never give a number. Text that
does not fit its schema stays text, and `fits` is False.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.parsing.limits import USUAL
from callblocks.parsing.values.schema_shape import Plain, Schemas, fits, kind, members
from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.tolerant_json import Tolerant

__all__ = (
    "Typed",
    "may_have",
    "plain_values",
    "problems_of",
    "read_any",
    "read_untyped",
    "schema_of",
    "type_name",
    "typed",
    "typed_argument",
    "types_of",
)

_STRING = {"type": "string"}  # what most parameters are
# A JSON number; the groups are its fraction and its exponent, which an integer must not have.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MAX_DIGITS = 4000  # beyond this Python refuses to read an integer
# The beginning of JSON. Most text does not match; this is faster than a decoder that fails.
_may_be_json = re.compile(r"""[ \t\r\n]*(?:[\[{"0-9-]|(?:true|false|null)[ \t\r\n]*\Z)""").match
# Schemas written by hand name types as programming languages do.
_ALIASES = {
    **dict.fromkeys(("str", "text", "varchar", "char"), "string"),
    **dict.fromkeys(("int", "long", "short"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("list", "tuple", "arr"), "array"),
    **dict.fromkeys(("dict", "map", "mapping"), "object"),
}


class Typed(NamedTuple):
    """A value, True if it fits its schema, and the codes of repairs in it."""

    value: Any
    fits: bool
    repairs: tuple[str, ...] = ()


def typed(text: str, schema: object, document: object = None, *, repair: bool = False) -> Typed:
    """Return a text as a value of a schema; `$ref` points into `document` (default: the schema).

    With `repair`, a list or an object need not be quite JSON.
    """
    if schema is True or schema == _STRING:
        return Typed(text, True)
    whole = schema if document is None else document
    choices = Schemas(whole).plain(schema)
    if not any(map(types_of, choices)):
        return Typed(text, True)
    for one in _readings(text, choices, repair):
        if fits(one.value, schema, whole):
            return one
    return Typed(text, False)


def types_of(plain: Plain) -> set[str]:
    """Return the types that a plain schema allows; none if it does not restrict them."""
    chosen = [plain["const"]] if "const" in plain else plain.get("enum") or ()
    if chosen:
        return {type_name(value) for value in chosen} - {""}
    said = kind(plain)
    return {_ALIASES.get(said, said)} if said else set()


def type_name(value: object) -> str:
    """Return the JSON Schema name of a value's type, or `""` if it is no JSON."""
    return _NAMES.get(type(value), "")


def read_any(text: str) -> Any:
    """Return a text as JSON, or the text itself if it is none."""
    if _may_be_json(text) is None:
        return text
    try:
        return read_json(text, USUAL.depth)
    except ValueError:
        return text


def read_untyped(text: str) -> Typed:
    """Return a text without a schema as JSON, or the text itself if it is none.

    Of a duplicate key the last value counts; nothing else is repaired.
    """
    value = read_any(text)
    if value == text and text.lstrip()[:1] in ("[", "{"):
        value, repairs = _tolerant(text) or (text, ())
        if repairs == ("repaired-keys",):
            return Typed(value, True, repairs)
        value = text
    return Typed(value, True)


def _readings(text: str, choices: list[Plain], repair: bool) -> Iterator[Typed]:
    """Yield each value that the text can stand for, in the order of the choices, text last."""
    types = [name for plain in choices for name in sorted(types_of(plain))]
    for name in dict.fromkeys(types):
        read = _READERS.get(name)
        if read is not None and (value := read(text.strip())) is not None:
            yield Typed(value[0], True)
    if repair:
        yield from _repaired(text, [name for name in types if name in ("array", "object")])
    if "string" in types or not all(map(types_of, choices)):
        yield Typed(text, True)


def _repaired(text: str, types: list[str]) -> Iterator[Typed]:
    """Yield the list or object that text which is not quite JSON stands for."""
    # Models that write JSON into a tag escape it at times as if it stood in a string:
    # `[{\"a\": 1}]`. That is tried as the contents of a JSON string.
    if not types or text.strip()[:1] not in ("[", "{"):
        return
    inner = read_any(f'"{text}"') if '\\"' in text else None
    for written in (text, inner):
        if isinstance(written, str) and (found := _tolerant(written)):
            value, repairs = found
            codes = (*repairs, *(() if written is text else ("repaired-escapes",)))
            if type_name(value) in types:
                yield Typed(value, True, codes)


def _tolerant(text: str) -> tuple[Any, tuple[str, ...]] | None:
    tolerant = Tolerant(text, ended=True, max_depth=USUAL.depth)
    try:
        value, end = tolerant.read(tolerant.solid(0))
    except ValueError:
        return None
    return (value, tuple(tolerant.repairs)) if tolerant.solid(end) == len(text) else None


def _read_integer(text: str) -> tuple[int] | None:
    match = _NUMBER.fullmatch(text)
    if not match or match[1] or match[2] or len(text) > _MAX_DIGITS:
        return None
    return (int(text),)


def _read_number(text: str) -> tuple[float] | None:
    if (whole := _read_integer(text)) or not _NUMBER.fullmatch(text):
        return whole
    value = float(text)
    return (value,) if math.isfinite(value) else None


def _read_boolean(text: str) -> tuple[bool] | None:
    return {"true": (True,), "false": (False,)}.get(text.lower())


def _read_null(text: str) -> tuple[None] | None:
    return (None,) if text in ("null", "None") else None


def _read_json(kind: type, text: str) -> tuple[Any] | None:
    try:
        value = read_json(text, USUAL.depth)
    except ValueError:
        return None
    return (value,) if isinstance(value, kind) else None


def _read_array(text: str) -> tuple[Any] | None:
    return _read_json(list, text)


def _read_object(text: str) -> tuple[Any] | None:
    return _read_json(dict, text)


_NAMES: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    dict: "object",
}
_READERS = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "null": _read_null,
    "array": _read_array,
    "object": _read_object,
}


# --- Types of arguments that were written as text one by one, by the tool's schema ---
#
#     typed_argument("3", tool, "days").value      3
#
# A tool's parameters may stand in `$ref`, `allOf` or a union. A key that is none of them has the
# type that `additionalProperties` gives, or stays text.

_COMPOSED = {"$ref", "allOf", "anyOf", "oneOf"}


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
        if value.repairs or not value.fits
        for code in (*(() if value.fits else ("mistyped-argument",)), *value.repairs)
    ]


def plain_values(values: Mapping[str, Typed]) -> dict[str, Any]:
    """Return the values without their problems."""
    return {key: value.value for key, value in values.items()}

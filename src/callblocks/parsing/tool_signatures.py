"""A tool's parameters in one line of a prompt, with their types and defaults.

    file_upload(filename, content*, path?=., encoding?=utf-8|base64)

Notation
    name            A parameter. `*` marks the body of a call, `?` one that may be left out.
    name: type      Its type. Without one it has that of its default, or is a string.
    name=value      Its default. Defaults that stand for nothing (null, "", 0, false, [], {}) are
                    not written: they mean what leaving the parameter out means anyway.
    a|b             Choices, or types. After `=` the first choice is the default.
    [t]             A list of t; `(t, u)` is a list with fixed places.
    {k, k?: t}      An object with these keys, written as parameters are. `{any key: t}` is one
                    with keys of any name.
    scalar          A string, a number, a boolean or null.
    …               Something is left out: a type inside itself, deep nesting, many choices.

A name or a choice that could be taken for something else (it has a blank, a sign of the notation or
a control character, looks like a number, is the word for a type) is written as a JSON string. So a
line reads back in one way only, and nothing in a schema can end it.

Types are bounded: foreign schemas can be huge, and those of a few mutually recursive definitions
unfold exponentially. A parameter's type is written as deep as fits, from many levels down to one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from callblocks.model.specs import ToolSpec
from callblocks.parsing.schema_shape import Plain, Schemas, elements, kind, members

__all__ = ("parameter_list", "quoted")

_LEFT_OUT = "…"
_ANY_KEY = "any key"
_TYPES = {
    "string": "string",
    "integer": "int",
    "number": "number",
    "boolean": "bool",
    "null": "null",
}
_WORDS = frozenset((*_TYPES.values(), "any", "object", "scalar"))
_SCALARS = {"string", "number", "bool", "null"}
# A name or a word that needs no quotes: no blank and no sign of the notation.
_PLAIN = re.compile(r"[^\s(),;:?=*|{}\[\]\"'`…]+")
# A word that could be read as a number or a boolean.
_NUMBER = re.compile(r"[-+.]*[0-9].*|true|false")
# The depths to which a type is written, in the order in which they are tried: the first that fits
# `_LONGEST_TYPE` is used.
_LEVELS = (8, 4, 2)
# Bounds for one parameter: parts of its type, characters of its type, choices, characters of a
# default.
_MOST_PARTS = 200
_LONGEST_TYPE = 1000
_MOST_CHOICES = 40
_LONGEST_DEFAULT = 60


def parameter_list(tool: ToolSpec) -> str:
    """Write all parameters of a tool, as its signature has them between the parentheses."""
    types, body = _Types(Schemas(tool.parameters)), tool.body
    return ", ".join(
        f"{quoted(name)}{'*' * (name == body)}{types.tail(schema, name not in tool.required)}"
        for name, schema in tool.properties.items()
    )


def quoted(name: str) -> str:
    """Return a name as it is, or as a JSON string where it could be taken for something else."""
    return name if _PLAIN.fullmatch(name) and name.isprintable() else _json(name)


class _Types:
    """A writer of the types in one tool's schemas, with a budget of levels and of parts."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._levels = self._parts = 0

    def tail(self, schema: Mapping[str, Any], is_optional: bool) -> str:
        """Write the text behind a parameter's name, with as many levels as fit."""
        # The budget of parts bounds the work, not only the text: a few mutually recursive
        # definitions have exponentially many paths within eight levels.
        written = ""
        for self._levels in _LEVELS:
            self._parts = _MOST_PARTS
            written = self._tail(schema, is_optional, ())
            if self._parts > 0 and len(written) <= _LONGEST_TYPE:
                break
        return written

    def _tail(self, schema: object, is_optional: bool, inside: tuple[int, ...]) -> str:
        """Write `?` if optional, then the type and the default, each only if it carries meaning.

        `inside` has the identities of the schemas around this one: a type inside of itself is `…`.
        """
        mark, default = "?" * is_optional, _default(schema)
        # `null` of an optional parameter is not written: leaving the parameter out means the same.
        plain = self._plain(schema, without_null=is_optional and default is None)
        choices = [one for each in plain for one in _choices(each)]
        has_default = default is not None and any(_same(one, default) for one in choices)
        if has_default and all(map(_choices, plain)):
            others = [one for one in choices if not _same(one, default)]
            return f"{mark}={_alternatives([default, *others])}"
        given = "" if not default or len(_value(default)) > _LONGEST_DEFAULT else _value(default)
        type = self._union(plain, (*inside, id(schema)))
        tail = f"{mark}={given}" if given else mark
        if type == (_type_of(default) if given else "string"):
            return tail
        return f"{mark}: {type}" + (f"={given}" if given else "")

    def _plain(self, schema: object, *, without_null: bool = False) -> Sequence[Plain]:
        plain = self._schemas.plain(schema)
        if not without_null:
            return plain
        return [_without_null(one) for one in plain if kind(one) != "null"] or plain

    def _type(self, schema: object, inside: tuple[int, ...]) -> str:
        """Write the type of a schema that is nested in the schemas with these identities."""
        self._parts -= 1
        if id(schema) in inside or len(inside) >= self._levels or self._parts <= 0:
            return _LEFT_OUT
        return self._union(self._plain(schema), (*inside, id(schema)))

    def _union(self, plain: Sequence[Plain], inside: tuple[int, ...]) -> str:
        words = dict.fromkeys(self._word(one, inside) for one in plain)
        if "number" in words:
            words.pop("int", None)
        if words.keys() >= _SCALARS:
            words = {"scalar": None, **{word: None for word in words if word not in _SCALARS}}
        return "any" if "any" in words or not words else "|".join(words)

    def _word(self, plain: Plain, inside: tuple[int, ...]) -> str:
        """Write one alternative of a union."""
        if choices := _choices(plain):
            return _alternatives(choices)
        match kind(plain):
            case "array":
                return self._list(plain, inside)
            case "object":
                return self._object(plain, inside)
            case name:
                return _TYPES.get(str(name), "any")

    def _list(self, plain: Plain, inside: tuple[int, ...]) -> str:
        found = elements(plain)
        if found.first:
            return f"({', '.join(self._type(one, inside) for one in found.first)})"
        return f"[{self._type(found.rest, inside)}]"

    def _object(self, plain: Plain, inside: tuple[int, ...]) -> str:
        found = members(plain)
        keys = [
            self._key(name, schema, found.required, inside) for name, schema in found.known.items()
        ]
        if found.extra not in (True, False, {}):
            keys.append(f"{_ANY_KEY}: {self._type(found.extra, inside)}")
        return f"{{{', '.join(keys)}}}" if keys else "object"

    def _key(
        self, name: str, schema: object, required: Collection[str], inside: tuple[int, ...]
    ) -> str:
        self._parts -= 1
        is_optional = name not in required
        if id(schema) in inside or len(inside) >= self._levels or self._parts <= 0:
            return f"{quoted(name)}{'?' * is_optional}: {_LEFT_OUT}"
        return f"{quoted(name)}{self._tail(schema, is_optional, inside)}"


def _default(schema: object) -> Any:
    return cast("Plain", schema).get("default") if isinstance(schema, Mapping) else None


def _choices(plain: Plain) -> Sequence[Any]:
    """Return the values that a plain schema lists, or none where it lists no values."""
    return [plain["const"]] if "const" in plain else plain.get("enum", [])


def _without_null(plain: Plain) -> Plain:
    if "enum" not in plain:
        return plain
    return {**plain, "enum": [one for one in plain["enum"] if one is not None] or plain["enum"]}


def _alternatives(choices: Sequence[Any]) -> str:
    words = list(dict.fromkeys(map(_value, choices)))
    if len(words) > _MOST_CHOICES:
        words[_MOST_CHOICES:] = [_LEFT_OUT]
    return "|".join(words)


def _value(value: Any) -> str:
    """Write a choice or a default: words bare, all else as JSON."""
    if not isinstance(value, str):
        return _json(value)
    is_word = value not in _WORDS and not _NUMBER.fullmatch(value)
    return quoted(value) if is_word else _json(value)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)
    return text if text.isprintable() else json.dumps(value, default=repr, skipkeys=True)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _type_of(value: Any) -> str:
    """Return the type that a reader gives to a written default."""
    match value:
        case str():
            return "string"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "number"
        case _:
            return ""

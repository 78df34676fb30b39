"""The order of members in a schema, which its grammar expects, and a check that a value fits."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import Any, cast

from callblocks.parsing.schema_shape import Plain, Schemas, elements, kind, members

__all__ = ("fits", "in_schema_order")

# The Python types of each JSON type. A boolean is checked before: in Python it is an `int`.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}


_ANY: Plain = {}


def in_schema_order(value: Any, schema: object, document: object = None) -> Any:
    """Return the value with each object's members in the schema's order, unknown ones last.

    `$ref` points into `document`, by default the schema itself.
    """
    return _Order(schema if document is None else document, closed=True).ordered(value, schema)


def fits(value: Any, schema: object, document: object = None, *, closed: bool = False) -> bool:
    """Return whether a value has the shape of its schema, at all levels.

    Members that an object's schema does not name are allowed unless the schema forbids them; with
    `closed` they are forbidden unless the schema allows them.
    """
    return _Order(schema if document is None else document, closed=closed).fits(value, schema)


class _Order:
    """A comparison of values with schemas; `closed` objects have only named members.

    Each pair of a container and a schema is compared once and cached: through unions that refer to
    themselves, the number of paths to a pair doubles with each level.
    """

    def __init__(self, document: object, *, closed: bool) -> None:
        self._schemas = Schemas(document)
        self._closed = closed
        self._compared: dict[tuple[int, int], bool] = {}

    def ordered(self, value: Any, schema: object) -> Any:
        if not isinstance(value, dict | list):
            return value
        plain = self._chosen(value, self._schemas.plain(schema))
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), plain)
        return [self.ordered(*each) for each in _elements(cast("list[Any]", value), plain)]

    def _chosen(self, value: Any, choices: list[Plain]) -> Plain:
        """Return the first schema that the value fits, else the first of its type."""
        alike = [plain for plain in choices if _is(value, kind(plain))]
        return next((plain for plain in alike if self._fits_plain(value, plain)), (*alike, _ANY)[0])

    def _object(self, value: dict[str, Any], plain: Plain) -> dict[str, Any]:
        said = members(plain)
        names = dict.fromkeys([name for name in said.known if name in value] + list(value))
        return {name: self.ordered(value[name], said.known.get(name, said.extra)) for name in names}

    def fits(self, value: Any, schema: object) -> bool:
        # No generator expression here: it would cost a third stack frame per level, and a deep
        # value may be checked where the stack is deep already.
        pair = (id(value), id(schema))
        is_inner = isinstance(value, dict | list)
        if is_inner and pair in self._compared:
            return self._compared[pair]
        found = False
        for plain in self._schemas.plain(schema):
            if self._fits_plain(value, plain):
                found = True
                break
        if is_inner:
            self._compared[pair] = found
        return found

    def _fits_plain(self, value: Any, plain: Plain) -> bool:
        if "const" in plain:
            return _is_among(value, [plain["const"]])
        if plain.get("enum"):
            return _is_among(value, plain["enum"])
        parts = self._parts(value, plain) if _is(value, kind(plain)) else None
        return parts is not None and all(starmap(self.fits, parts))

    def _parts(self, value: Any, plain: Plain) -> list[tuple[Any, object]] | None:
        """Return the parts of a value with their schemas; None if there are too few or too many."""
        if isinstance(value, dict):
            return self._members(cast("dict[str, Any]", value), plain)
        if not isinstance(value, list):
            return []
        found, said = cast("list[Any]", value), elements(plain)
        most = len(found) if said.most is None else said.most
        return _elements(found, plain) if said.least <= len(found) <= most else None

    def _members(self, value: dict[str, Any], plain: Plain) -> list[tuple[Any, object]] | None:
        said = members(plain)
        if not said.required <= value.keys():
            return None
        is_open = not self._closed and "additionalProperties" not in plain
        extra = True if is_open else said.extra
        return [(inner, said.known.get(name, extra)) for name, inner in value.items()]


def _elements(value: list[Any], plain: Plain) -> list[tuple[Any, object]]:
    """Return each element with its schema."""
    said = elements(plain)
    rest = [said.rest] * (len(value) - len(said.first))
    return list(zip(value, [*said.first, *rest], strict=False))


def _is_among(value: Any, choices: list[Any]) -> bool:
    """Return whether a value is one of the choices; unlike Python, `True` is not `1`."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in choices)


def _is(value: Any, said: str | None) -> bool:
    """Return whether a value has a type; an unknown type allows any, and a boolean is no number."""
    if isinstance(value, bool):
        return said == "boolean" or said not in _TYPES
    if isinstance(value, float) and said == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES.get(said or "", object))

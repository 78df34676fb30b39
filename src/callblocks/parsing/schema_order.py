"""Puts a value's members in its schema's order, as the grammar of that schema expects them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from callblocks.parsing.schema_shape import Plain, Schemas, elements, kind, members

__all__ = ("fits", "in_schema_order")

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
    """The same value, each object's members in the order of its schema, unknown ones last.

    `document` is what `$ref` points into, where that is not the schema itself.
    """
    return _Order(schema if document is None else document).ordered(value, schema)


def fits(value: Any, schema: object, document: object = None) -> bool:
    """Whether a value has the shape that its schema says, all the way down."""
    return _Order(schema if document is None else document).fits(value, schema)


class _Order:
    def __init__(self, document: object) -> None:
        self._schemas = Schemas(document)

    def ordered(self, value: Any, schema: object) -> Any:
        if not isinstance(value, dict | list):
            return value
        plain = self._chosen(value, self._schemas.plain(schema))
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), plain)
        return [self.ordered(*each) for each in _elements(cast("list[Any]", value), plain)]

    def _chosen(self, value: Any, choices: list[Plain]) -> Plain:
        """The first that the value fits, or else the first of its type."""
        alike = [plain for plain in choices if _is(value, kind(plain))]
        return next((plain for plain in alike if self._fits_plain(value, plain)), (*alike, _ANY)[0])

    def _object(self, value: dict[str, Any], plain: Plain) -> dict[str, Any]:
        said = members(plain)
        names = dict.fromkeys([name for name in said.known if name in value] + list(value))
        return {name: self.ordered(value[name], said.known.get(name, said.extra)) for name in names}

    def fits(self, value: Any, schema: object) -> bool:
        return any(self._fits_plain(value, plain) for plain in self._schemas.plain(schema))

    def _fits_plain(self, value: Any, plain: Plain) -> bool:
        if "const" in plain:
            return value == plain["const"]
        if plain.get("enum"):
            return value in plain["enum"]
        if not _is(value, kind(plain)):
            return False
        inner: Mapping[type, Callable[[Any, Plain], bool]]
        inner = {dict: self._object_fits, list: self._array_fits}
        return type(value) not in inner or inner[type(value)](value, plain)

    def _object_fits(self, value: dict[str, Any], plain: Plain) -> bool:
        said = members(plain)
        return said.required <= value.keys() and all(
            self.fits(inner, said.known.get(name, said.extra)) for name, inner in value.items()
        )

    def _array_fits(self, value: list[Any], plain: Plain) -> bool:
        said = elements(plain)
        most = len(value) if said.most is None else said.most
        return said.least <= len(value) <= most and all(
            self.fits(*each) for each in _elements(value, plain)
        )


def _elements(value: list[Any], plain: Plain) -> list[tuple[Any, object]]:
    """Each element with its schema."""
    said = elements(plain)
    rest = [said.rest] * (len(value) - len(said.first))
    return list(zip(value, [*said.first, *rest], strict=False))


def _is(value: Any, said: str | None) -> bool:
    """Whether a value is of a type; an unknown type is any, and a boolean is no number."""
    if isinstance(value, bool):
        return said == "boolean" or said not in _TYPES
    return isinstance(value, _TYPES.get(said or "", object))

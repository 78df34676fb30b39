"""The shape of values that a JSON Schema allows, with references and unions resolved.

A *plain* schema has no `$ref`, `allOf`, `anyOf` or `oneOf` and at most one type; a schema is the
union of its plain schemas. `{}` allows any value.

Invariant: a plain schema allows at least the values that the schema allows. Keywords that are not
understood (patterns, ranges, formats, `not`, `if`) are left out. Objects are the exception: they
are closed unless they have `additionalProperties`, or no `properties` at all.

Schemas may come from strangers: references may form cycles, and unions may multiply. `_MOST_PARTS`,
`_MOST_LEVELS` and `_MOST_CHOICES` bound the work; beyond them a schema allows any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple, TypeAlias, cast

__all__ = (
    "Elements",
    "Members",
    "Plain",
    "Schemas",
    "elements",
    "fits",
    "in_schema_order",
    "kind",
    "members",
)

Plain: TypeAlias = Mapping[str, Any]

# The keywords that are understood, each with the type that its value must have. A keyword of the
# wrong type is ignored, as foreign schemas are not validated before.
_OF_OBJECTS = {
    "properties": Mapping,
    "required": list,
    "additionalProperties": object,
    "patternProperties": object,
}
_OF_ARRAYS = {"items": object, "prefixItems": list, "minItems": int, "maxItems": int}
_KNOWN = {"type": (str, list), "enum": list, "const": object, **_OF_OBJECTS, **_OF_ARRAYS}
_MOST_CHOICES = 64
_MOST_ELEMENTS = 64
# The bounds for one schema: how many subschemas are visited, and how deeply they may nest. A
# subschema beyond them counts as `{}`.
_MOST_PARTS = 1000
_MOST_LEVELS = 50


class Members(NamedTuple):
    """The members of an object: the known ones in order, the required ones, and the others."""

    known: Mapping[str, object]
    required: frozenset[str]
    # The schema of other members; `False` if there may be none.
    extra: object


class Elements(NamedTuple):
    """The elements of an array: schemas of the first ones and of the rest, and their number."""

    first: Sequence[object]
    rest: object
    least: int
    most: int | None


class Schemas:
    """A resolver for the schemas of one document; each is resolved once."""

    def __init__(self, document: object) -> None:
        self._document = document
        # The key is the identity of a schema. The schema itself is kept in the value, so that its
        # identity cannot be reused while the entry exists.
        self._resolved: dict[int, tuple[object, list[Plain]]] = {}
        self._parts_left = 0

    def plain(self, schema: object) -> list[Plain]:
        """Return the plain schemas whose union this schema is; none if it allows no value."""
        known = self._resolved.get(id(schema))
        if known is None:
            self._parts_left = _MOST_PARTS
            known = self._resolved[id(schema)] = (schema, self._plain(schema, (), 0))
        return known[1]

    def _plain(self, schema: object, seen: tuple[str, ...], level: int) -> list[Plain]:
        """Resolve a nested schema; `seen` are the references that led to it."""
        if schema is False:
            return []
        self._parts_left -= 1
        if not isinstance(schema, Mapping) or self._parts_left < 0 or level > _MOST_LEVELS:
            return [{}]
        found = cast("Plain", schema)
        if isinstance(pointer := found.get("$ref"), str):
            # A reference that only leads back to itself adds no alternative to the union.
            if pointer in seen:
                return []
            return self._plain(self._target(pointer), (*seen, pointer), level + 1)
        plain = [_understood(found)]
        for part in _parts(found, "allOf"):
            plain = _combined(plain, self._plain(part, seen, level + 1))
        for union in ("anyOf", "oneOf"):
            if parts := _parts(found, union):
                choices: list[Plain] = []
                for part in parts:
                    choices += self._plain(part, seen, level + 1)
                plain = _combined(plain, choices)
        return [one for each in plain for one in _by_type(each)]

    def _target(self, pointer: str) -> object:
        """Return the target of a reference; `True` for one to nowhere or to another document."""
        if not pointer.startswith("#"):
            return True
        target: object = self._document
        for step in pointer.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or name not in target:
                return True
            target = cast("Plain", target)[name]
        return target


def kind(plain: Plain) -> str | None:
    """Return the type of a plain schema, stated or implied by its keywords."""
    if isinstance(said := plain.get("type"), str):
        return said
    if any(name in plain for name in _OF_OBJECTS):
        return "object"
    return "array" if any(name in plain for name in _OF_ARRAYS) else None


def members(plain: Plain) -> Members:
    """Return the members of the objects that a plain schema allows."""
    extra: object = plain.get("additionalProperties", "properties" not in plain)
    if "patternProperties" in plain:
        extra = True
    known: Plain = plain.get("properties", {})
    required = [name for name in _parts(plain, "required") if isinstance(name, str)]
    others: object = True if extra is False else extra
    wanted = {**known, **{name: others for name in required if name not in known}}
    allowed = {name: schema for name, schema in wanted.items() if schema is not False}
    return Members(allowed, frozenset(required) & allowed.keys(), extra)


def elements(plain: Plain) -> Elements:
    """Return the elements of the arrays that a plain schema allows; large bounds are widened."""
    rest: object = plain.get("items", True)
    first = _parts(plain, "prefixItems")
    if isinstance(rest, list):  # `prefixItems` in drafts before 2020-12
        first, rest = cast("list[object]", rest), True
    least, most = max(plain.get("minItems", 0), 0), plain.get("maxItems")
    most = None if most is None or not 0 <= most <= _MOST_ELEMENTS else most
    return Elements(first[:most], rest, min(least, _MOST_ELEMENTS), most)


def _parts(schema: Plain, name: str) -> list[object]:
    parts = schema.get(name)
    return cast("list[object]", parts) if isinstance(parts, list) else []


def _understood(schema: Plain) -> Plain:
    """Return the keywords of a schema that are understood and well-formed."""
    return {
        name: schema[name]
        for name, form in _KNOWN.items()
        if name in schema and isinstance(schema[name], form)
    }


def _combined(some: list[Plain], others: list[Plain]) -> list[Plain]:
    """Return the intersection of two unions; the second is ignored if there are too many pairs."""
    if len(some) * len(others) > _MOST_CHOICES:
        return some
    return [_merged(one, other) for one in some for other in others]


def _merged(one: Plain, other: Plain) -> Plain:
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        both["properties"] = {**one["properties"], **other["properties"]}
    if required := [*_parts(one, "required"), *_parts(other, "required")]:
        both["required"] = required
    return both


def _by_type(plain: Plain) -> Iterator[Plain]:
    types = _parts(plain, "type")
    if not types or "enum" in plain or "const" in plain:
        yield plain
        return
    for name in types:
        yield {**plain, "type": name}


# --- The order of members that a schema's grammar expects, and a check that a value fits ---

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
_TYPE_AND_WORDS = {"type", "title", "description", "default", "examples"}


def in_schema_order(value: Any, schema: object, document: object = None) -> Any:
    """Return the value with each object's members in the schema's order, unknown ones last.

    `$ref` points into `document`, by default the schema itself.
    """
    if schema == {}:
        return value
    return _Order(schema if document is None else document, closed=True).ordered(value, schema)


def fits(value: Any, schema: object, document: object = None, *, closed: bool = False) -> bool:
    """Return whether a value has the shape of its schema, at all levels.

    Members that an object's schema does not name are allowed unless the schema forbids them; with
    `closed` they are forbidden unless the schema allows them.
    """
    if not isinstance(value, dict | list) and (said := _sole_type(schema)):
        return _is(value, said)
    return _Order(schema if document is None else document, closed=closed).fits(value, schema)


def _sole_type(schema: object) -> str | None:
    """Return the type of a schema that says nothing else about a value, as most do; else None."""
    if not isinstance(schema, dict):
        return None
    plain = cast("Plain", schema)
    said = plain.get("type")
    return said if isinstance(said, str) and plain.keys() <= _TYPE_AND_WORDS else None


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
        if len(alike) == 1:
            return alike[0]
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

"""Places in a schema and an input: the schemas of a place, and the values of a format.

    {"properties": {"rows": {"items": {"properties": {"file": {"format": "path"}}}}}}

    schemas_at(schema, ("rows", 2, "file"))             {"format": "path"}
    values_of_format(schema, input, ("path",))          every `file` of every row

A schema may come from anyone, so nothing in it is trusted to have its form. Where it is open which
of its branches describes a value, all do: a policy rather judges one path too many. A schema author
could otherwise hide a path from the policy in an `anyOf`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

from callblocks.tools.schema import schemas_within

__all__ = (
    "Schema",
    "branches",
    "first_items",
    "formats_of",
    "holds_format",
    "schemas_at",
    "schemas_of_part",
    "values_of_format",
)

Schema: TypeAlias = dict[str, Any]

_MAX_BRANCHES = 200
_BRANCH_LISTS = ("anyOf", "oneOf", "allOf")
_BRANCHES = ("then", "else")
_ANY_BRANCH = frozenset(("$ref", *_BRANCH_LISTS, *_BRANCHES, "dependentSchemas"))
_OTHER_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")
_OTHER_FIELDS = ("additionalProperties", "unevaluatedProperties")


def branches(schemas: Iterable[object], root: Schema) -> tuple[Schema, ...]:
    """Return the schemas, the targets of their `$ref`, and the branches of `anyOf` and the like."""
    # Breadth-first with a set of seen ids: schemas may refer to themselves, and `anyOf` may fan out
    # exponentially.
    waiting = list(schemas)
    found: dict[int, Schema] = {}
    while waiting and len(found) < _MAX_BRANCHES:
        one = waiting.pop(0)
        if isinstance(one, dict) and id(cast("object", one)) not in found:
            known = cast("Schema", one)
            found[id(known)] = known
            waiting.extend(_branches(known, root))
    return tuple(found.values())


def _branches(schema: Schema, root: Schema) -> Iterator[object]:
    if _ANY_BRANCH.isdisjoint(schema):
        return
    if isinstance(schema.get("$ref"), str):
        yield _pointed(schema["$ref"], root)
    for key in _BRANCH_LISTS:
        yield from _list(schema.get(key))
    for key in _BRANCHES:
        yield schema.get(key)
    yield from _values(schema.get("dependentSchemas"))


def schemas_of_part(schemas: Iterable[Schema], part: str | int, root: Schema) -> tuple[Schema, ...]:
    """Return the schemas of one item or one field of the value that these schemas describe."""
    inner = [one for schema in schemas for one in _parts(schema, part)]
    return branches(inner, root)


def first_items(schema: Schema) -> list[Any]:
    """Return the schemas that a list's first items have of their own."""
    return _list(schema.get("prefixItems")) or _list(schema.get("items"))


def schemas_at(root: Schema, place: Iterable[str | int]) -> tuple[Schema, ...]:
    """Return every schema that describes a place: a union has several."""
    schemas = branches((root,), root)
    for part in place:
        schemas = schemas_of_part(schemas, part, root)
    return schemas


def values_of_format(root: Schema, given: Any, formats: Iterable[str]) -> tuple[Any, ...]:
    """Return every value of an input whose schema has one of these formats, at any depth;
    keys too.
    """
    wanted = frozenset(formats)
    found: list[Any] = []
    # An explicit stack: an input may be nested deeper than Python's recursion limit.
    waiting = [(given, branches((root,), root))]
    while waiting:
        value, schemas = waiting.pop()
        if not isinstance(value, dict | list) and _have_format(schemas, wanted):
            found.append(value)
        # Keys count as values: a tool may take a mapping from paths to contents.
        keys = branches([one["propertyNames"] for one in schemas if "propertyNames" in one], root)
        if isinstance(value, dict) and _have_format(keys, wanted):
            found.extend(cast("dict[Any, Any]", value))
        if schemas:
            inside = _inside(cast("object", value))
            waiting.extend((part, schemas_of_part(schemas, name, root)) for name, part in inside)
    return tuple(found)


def formats_of(schema: object, root: Schema) -> frozenset[str]:
    """Return the formats of all values that a schema describes, at any depth."""
    waiting = list(branches((schema,), root))
    # By identity: equal schemas at two places are cheap to visit twice, and a recursive one must
    # end.
    seen: set[int] = set()
    found: set[str] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one.get("format"), str):
            found.add(one["format"])
        waiting.extend(branches(schemas_within(one), root))
    return frozenset(found)


def holds_format(schema: object, root: Schema, formats: Iterable[str]) -> bool:
    """Return whether a schema describes a value of one of these formats, at any depth."""
    return not formats_of(schema, root).isdisjoint(formats)


def _have_format(schemas: Iterable[Schema], wanted: frozenset[str]) -> bool:
    return any(one.get("format") in wanted for one in schemas if isinstance(one.get("format"), str))


def _inside(value: object) -> list[tuple[Any, Any]]:
    """Return the parts of a value, last first, so that a stack yields them in order."""
    if isinstance(value, dict):
        return list(reversed(cast("dict[Any, Any]", value).items()))
    return list(reversed(list(enumerate(_list(value)))))


def _parts(schema: Schema, part: str | int) -> Iterator[object]:
    if isinstance(part, int):
        yield from first_items(schema)[part : part + 1] or (schema.get(key) for key in _OTHER_ITEMS)
        return
    named = schema.get("properties")
    if isinstance(named, dict) and part in named:
        yield cast("Schema", named)[part]
        return
    yield from (schema.get(key) for key in _OTHER_FIELDS)
    yield from _values(schema.get("patternProperties"))


# Only pointers within the same schema: nothing outside is ever fetched.
def _pointed(reference: str, root: Schema) -> object:
    if not reference.startswith("#"):
        return None
    found: object = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = _field(found, key)
    return found


def _field(value: object, key: str) -> object:
    return cast("Schema", value).get(key) if isinstance(value, dict) else None


def _values(value: object) -> list[Any]:
    return list(cast("Schema", value).values()) if isinstance(value, dict) else []


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []

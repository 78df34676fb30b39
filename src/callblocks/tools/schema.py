"""The JSON Schema of a function's input, tidied for a model.

    def move(path: Path, by: Literal["copy", "link"] = "copy") -> None: …

    {"type": "object",
     "properties": {"path": {"type": "string", "format": "path"},
                    "by": {"type": "string", "enum": ["copy", "link"], "default": "copy"}},
     "required": ["path"],
     "additionalProperties": false}

There are no titles. Definitions are inlined where they are used; only a recursive type stays a
`$ref`, because inlining it would never end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast
from urllib.parse import unquote

__all__ = (
    "MOST_LOOKS",
    "Schema",
    "branches",
    "count_looks",
    "field_formats",
    "first_items",
    "formats_of",
    "holds_format",
    "schemas_at",
    "schemas_of_part",
    "schemas_within",
    "tidy",
    "values_of_format",
)

_PREFIX = "#/$defs/"
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES = (
    *("items", "additionalProperties", "contains", "not", "if", "then", "else"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems"),
)
# `discriminator` is OpenAPI: it points at definitions that may no longer exist after inlining.
_DROPPED = ("title", "discriminator")
_ORDER = ("type", "format", "description", "properties", "required", "additionalProperties")
_MAX_INLINED = 200


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an equivalent schema without titles and with definitions inlined."""
    inliner = _Inliner(schema.get("$defs", {}))
    inlined = inliner.schema(schema)
    inlined.pop("$defs", None)
    if inliner.inlined > _MAX_INLINED:
        return _Inliner({}).schema(schema)
    kept = inliner.kept()
    return {**inlined, "$defs": kept} if kept else inlined


def schemas_within(schema: object) -> Iterator[dict[str, Any]]:
    """Yield every schema directly inside this one, whatever keyword holds it."""
    if not isinstance(schema, dict):
        return
    known = cast("dict[str, Any]", schema)
    for key, value in known.items():
        if key in _MAPS and isinstance(value, dict):
            yield from _objects(cast("dict[str, Any]", value).values())
        elif isinstance(value, list) and (key in _LISTS or key == "items"):
            yield from _objects(cast("list[Any]", value))
        elif key in _ONES:
            yield from _objects([cast("Any", value)])


def _objects(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


class _Inliner:
    """Inlines definitions where they are used, as long as that ends."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions: dict[str, Any] = {
            name: schema if isinstance(schema, dict) else {"allOf": [schema]}
            for name, schema in definitions.items()
        }
        self.recursive = {name for name in definitions if _reaches(name, name, self.definitions)}
        self.inlined = 0

    def kept(self) -> dict[str, Any]:
        return {name: self.schema(self.definitions[name]) for name in sorted(self.recursive)}

    def schema(self, schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        schema = self._resolved(cast("dict[str, Any]", schema))
        parts = {key: self._part(key, schema[key]) for key in schema if key not in _DROPPED}
        first = {key: parts.pop(key) for key in _ORDER if key in parts}
        return {**first, **parts}

    # Keywords beside a `$ref` override its target, as in JSON Schema 2020-12; older drafts ignored
    # them, and pydantic relies on the newer rule for descriptions.
    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Follow a `$ref` that ends; keywords beside it override those of its target."""
        while self.inlined <= _MAX_INLINED:
            name = _definition(schema)
            if name not in self.definitions or name in self.recursive:
                break
            self.inlined += 1
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self.definitions[name], **beside}
        return schema

    def _part(self, key: str, value: Any) -> Any:
        if key in _MAPS and isinstance(value, dict):
            parts = cast("dict[str, Any]", value)
            return {name: self.schema(part) for name, part in parts.items()}
        if isinstance(value, list) and (key in _LISTS or key == "items"):
            return [self.schema(part) for part in cast("list[Any]", value)]
        return self.schema(cast("Any", value)) if key in _ONES else cast("Any", value)


def _definition(schema: dict[str, Any]) -> str:
    reference = schema.get("$ref")
    return reference.removeprefix(_PREFIX) if isinstance(reference, str) else ""


def _reaches(start: str, goal: str, definitions: dict[str, Any]) -> bool:
    """Return whether the definition refers to the goal, directly or through others."""
    # Reachability decides what stays a `$ref`: a definition that reaches itself cannot be inlined.
    waiting: list[Any] = [definitions[start]]
    seen: set[str] = set()
    while waiting:
        schema = waiting.pop()
        name = _definition(schema)
        if name == goal:
            return True
        if name in definitions and name not in seen:
            seen.add(name)
            waiting.append(definitions[name])
        waiting.extend(schemas_within(schema))
    return False


# --- Places in a schema and an input: the schemas of a place, and the values of a format ---
#
#     {"properties": {"rows": {"items": {"properties": {"file": {"format": "path"}}}}}}
#
#     schemas_at(schema, ("rows", 2, "file"))             {"format": "path"}
#     values_of_format(schema, input, ("path",))          every `file` of every row
#
# A schema may come from anyone, so nothing in it is trusted to have its form. Where it is open
# which of its branches describes a value, all do: a policy rather judges one path too many. A
# schema author could otherwise hide a path from the policy in an `anyOf`.

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


def field_formats(root: Schema) -> dict[str, str] | None:
    """Return the formats of the fields of an object, by name; `None` where formats stand deeper.

    `values_of_format` then gives the fields of a format that are neither object nor list.
    """
    named = root.get("properties")
    fields = cast("Schema", named) if isinstance(named, dict) else {}
    others = {name: root[name] for name in root if name not in ("properties", "format")}
    if formats_of(others, root) or not _ANY_BRANCH.isdisjoint(root):
        return None
    found: dict[str, str] = {}
    for name, schema in fields.items():
        formats = formats_of(schema, root)
        if not formats:
            continue
        if not _ANY_BRANCH.isdisjoint(schema) or any(True for _ in schemas_within(schema)):
            return None
        found[name] = schema["format"]
    return found


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
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        items = _list(found)
        found = _item(items, key) if items else _field(found, key)
    return found


def _item(items: list[Any], key: str) -> object:
    return items[int(key)] if key.isascii() and key.isdigit() and int(key) < len(items) else None


def _field(value: object, key: str) -> object:
    return cast("Schema", value).get(key) if isinstance(value, dict) else None


def _values(value: object) -> list[Any]:
    return list(cast("Schema", value).values()) if isinstance(value, dict) else []


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


# --- How often a schema may look at one value ---
#
#     {"$ref": "#/$defs/a0"}     a0: {"anyOf": [a1, a1]}, a1: {"anyOf": [a2, a2]}, …
#
# A validator follows each branch anew, so a schema of some lines may cost 2^30 steps, and one that
# refers to itself twice doubles with each level of the value. The count is an upper bound: branches
# that exclude each other are added up. It is memoised by schema and level, so that counting stays
# linear where validating would not be.

MOST_LOOKS = 10_000_000_000
_ALL_OF = ("not", "if", "then", "else", "propertyNames")


def count_looks(root: Schema, levels: int) -> int:
    """Return how many schemas are tried at most on a value of that many levels, and its parts.

    A part that stands beside others counts as the costliest of them. A reference that leads
    elsewhere, or a schema nested past Python's limit, counts as too much.
    """
    try:
        return _Looks(root).count(root, levels)
    except RecursionError:
        return MOST_LOOKS


class _Looks:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchors = {
            f"#{one[key]}": one
            for one in _all_within(root)
            for key in ("$anchor", "$dynamicAnchor")
            if key in one
        }
        self._known: dict[tuple[int, int], int] = {}

    def count(self, schema: object, levels: int) -> int:
        if not isinstance(schema, dict):
            return 1
        place = (id(cast("object", schema)), levels)
        if place not in self._known:
            # A schema that refers to itself without a part between them ends there.
            self._known[place] = 0
            self._known[place] = min(self._of(cast("Schema", schema), levels), MOST_LOOKS)
        return self._known[place]

    def _of(self, schema: Schema, levels: int) -> int:
        here = [one for key in _BRANCH_LISTS for one in _list(schema.get(key))]
        here += [schema[key] for key in _ALL_OF if key in schema]
        here += _values(schema.get("dependentSchemas"))
        total = 1 + sum(self.count(one, levels) for one in here)
        total += sum(self._of_reference(schema[key], levels) for key in _REFERENCES & schema.keys())
        return total + (self._of_parts(schema, levels - 1) if levels else 0)

    def _of_reference(self, reference: object, levels: int) -> int:
        text = str(reference)
        own = str(self._root.get("$id", "")).rstrip("#")
        text = text.removeprefix(own) or "#" if own else text
        target = self._anchors.get(text) or (
            _pointed(text, self._root) if text.startswith("#/") or text == "#" else None
        )
        if target is None:
            return _METASCHEMA if _DRAFTS in text else MOST_LOOKS
        return self.count(target, levels)

    def _of_parts(self, schema: Schema, levels: int) -> int:
        fields = [self.count(one, levels) for one in _values(schema.get("properties"))]
        others = [schema.get(key) for key in _OTHER_FIELDS]
        others += _values(schema.get("patternProperties"))
        first = [self.count(one, levels) for one in first_items(schema)]
        items = [schema.get(key) for key in _OTHER_ITEMS]
        return max(
            max(fields, default=0) + sum(self.count(one, levels) for one in others),
            max(first, default=0) + sum(self.count(one, levels) for one in items),
        )


_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
# A draft of JSON Schema itself, which the validator knows.
_DRAFTS = "://json-schema.org/"
_METASCHEMA = 1_000


def _all_within(schema: Schema) -> Iterator[Schema]:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(schemas_within(one))

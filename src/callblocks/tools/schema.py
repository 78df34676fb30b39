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
from typing import Any, cast

__all__ = ("schemas_within", "tidy")

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

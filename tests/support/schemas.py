"""A small family of JSON Schemas, values that fit them, and a checker that knows nothing else.

`cases()` gives a schema and a value of it. `fits(value, schema)` reads the schema word by
word, as the specification does, except that an object with `properties` is closed unless it
says otherwise.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ("cases", "fits")

NAMES = st.sampled_from(["a", "ab", "b", "path", "größe", 'q"k', "🛠️"])
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | TEXT
ENUM = ["x", 'y"', "é", 7, None, {"a": [1]}]
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXT, inner, max_size=3),
    max_leaves=5,
)
Case = tuple[Any, st.SearchStrategy[Any]]

LEAVES: st.SearchStrategy[Case] = st.sampled_from(
    [
        ({"type": "string"}, TEXT),
        ({"type": "integer"}, st.integers()),
        ({"type": "number"}, st.integers() | FLOATS),
        ({"type": "boolean"}, st.booleans()),
        ({"type": "null"}, st.none()),
        ({"type": ["string", "null"]}, TEXT | st.none()),
        ({"enum": ENUM}, st.sampled_from(ENUM)),
        ({"const": "only"}, st.just("only")),
        ({"const": []}, st.just([])),
        ({}, JSON),
        (True, JSON),
        ({"type": "object"}, st.dictionaries(NAMES | TEXT, JSON, max_size=3)),
        ({"type": "array"}, st.lists(JSON, max_size=3)),
    ]
)


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    schema, values = draw(inner)
    least = draw(st.integers(0, 2))
    most = draw(st.none() | st.integers(least, 4))
    said: dict[str, Any] = {"type": "array", "items": schema}
    said |= {"minItems": least} if least else {}
    said |= {} if most is None else {"maxItems": most}
    return said, st.lists(values, min_size=least, max_size=4 if most is None else most)


@st.composite
def _tuples(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    first = draw(st.lists(inner, min_size=1, max_size=3))
    least = draw(st.integers(0, len(first)))
    rest = draw(st.sampled_from([False, {"type": "integer"}]))
    said: dict[str, Any] = {"type": "array", "minItems": least, "items": rest}
    said["prefixItems"] = [one for one, _ in first]
    if draw(st.booleans()):
        said["maxItems"] = len(first)
    sizes = st.integers(least, len(first))
    values = [each for _, each in first]
    return said, sizes.flatmap(lambda size: st.tuples(*values[:size]).map(list))


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    known = draw(st.dictionaries(NAMES, inner, max_size=4))
    required = [name for name in known if draw(st.booleans())]
    extra = draw(st.sampled_from([None, False, True, {"type": "integer"}]))
    said: dict[str, Any] = {"type": "object", "required": required}
    said["properties"] = {name: schema for name, (schema, _) in known.items()}
    said |= {} if extra is None else {"additionalProperties": extra}
    others = JSON if extra is True else st.integers()
    names = (NAMES | TEXT).filter(lambda name: name not in known)
    return said, st.builds(
        lambda mine, more: {**mine, **more},
        st.fixed_dictionaries(
            {name: known[name][1] for name in required},
            optional={name: values for name, (_, values) in known.items() if name not in required},
        ),
        st.dictionaries(names, others, max_size=2) if extra else st.just({}),
    )


@st.composite
def _unions(draw: st.DrawFn, inner: st.SearchStrategy[Case]) -> Case:
    parts = draw(st.lists(inner, min_size=1, max_size=3))
    word = draw(st.sampled_from(["anyOf", "oneOf"])) if len(parts) > 1 else "allOf"
    return {word: [schema for schema, _ in parts]}, st.one_of([values for _, values in parts])


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: _arrays(inner) | _tuples(inner) | _objects(inner) | _unions(inner),
    max_leaves=6,
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Any]:
    """A schema, and a value that fits it."""
    schema, values = draw(SCHEMAS)
    return schema, draw(values)


def fits(value: Any, schema: Any) -> bool:
    """Whether a value is what the schema says."""
    if isinstance(schema, bool):
        return schema
    said = (word for word in CHECKS if word in schema)
    return all(CHECKS[word](value, schema[word], schema) for word in said)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _typed(value: Any, types: Any, schema: Any) -> bool:
    return any(
        isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
        for name in ([types] if isinstance(types, str) else types)
    )


def _properties(value: Any, known: Any, schema: Any) -> bool:
    others = schema.get("additionalProperties", False)
    return not isinstance(value, dict) or all(
        fits(inner, known.get(name, others)) for name, inner in value.items()
    )


def _items(value: Any, rest: Any, schema: Any) -> bool:
    first = schema.get("prefixItems", [])
    return not isinstance(value, list) or all(
        fits(inner, first[at] if at < len(first) else rest) for at, inner in enumerate(value)
    )


TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}
CHECKS: dict[str, Any] = {
    "type": _typed,
    "enum": lambda value, choices, _: any(_same(value, one) for one in choices),
    "const": lambda value, only, _: _same(value, only),
    "required": lambda value, names, _: not isinstance(value, dict) or value.keys() >= set(names),
    "properties": _properties,
    "items": _items,
    "minItems": lambda value, least, _: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda value, most, _: not isinstance(value, list) or len(value) <= most,
    "anyOf": lambda value, parts, _: any(fits(value, part) for part in parts),
    "oneOf": lambda value, parts, _: any(fits(value, part) for part in parts),
    "allOf": lambda value, parts, _: all(fits(value, part) for part in parts),
}

from __future__ import annotations

from typing import Any

import pytest

from callblocks.parsing.values.schema_shape import in_schema_order

AB = {"type": "object", "properties": {"a": {}, "b": {}}}
CIRCLE = {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["r"]}
BOX = {"properties": {"h": {"type": "integer"}, "kind": {"enum": ["box"]}}, "required": ["kind"]}


def order(value: Any) -> Any:
    """The value with every object as the list of its members."""
    if isinstance(value, dict):
        return [(name, order(inner)) for name, inner in value.items()]
    return [order(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ({"z": 1, "b": 2, "a": 3}, AB, {"a": 3, "b": 2, "z": 1}),
        ({"b": 2, "a": 3}, {**AB, "additionalProperties": True}, {"a": 3, "b": 2}),
        ({"b": 1, "z": 2, "a": 3}, {**AB, "additionalProperties": True}, {"a": 3, "b": 1, "z": 2}),
        ([{"b": 1, "a": 2}], {"items": AB}, [{"a": 2, "b": 1}]),
        ([{"b": 1, "a": 2}, {"b": 1}], {"prefixItems": [AB]}, [{"a": 2, "b": 1}, {"b": 1}]),
        ({"x": {"b": 1, "a": 2}}, {"additionalProperties": AB}, {"x": {"a": 2, "b": 1}}),
        ({"b": 1, "a": 2}, {"$defs": {"ab": AB}, "$ref": "#/$defs/ab"}, {"a": 2, "b": 1}),
        ({"r": 1, "kind": "circle"}, {"anyOf": [BOX, CIRCLE]}, {"kind": "circle", "r": 1}),
        ({"kind": "box", "h": 2}, {"anyOf": [CIRCLE, BOX]}, {"h": 2, "kind": "box"}),
        ({"b": 1, "a": 2}, {}, {"b": 1, "a": 2}),
        ({"b": 1, "a": 2}, {"type": "frob"}, {"b": 1, "a": 2}),
        ([{"b": 1, "a": 2}], {"anyOf": [{"maxItems": 0}, {"items": AB}]}, [{"a": 2, "b": 1}]),
        (
            {"b": True, "a": 1},
            {"properties": {"a": {}, "b": {"type": "boolean"}}},
            {"a": 1, "b": True},
        ),
        ("text", AB, "text"),
    ],
)
def test_members_follow_the_schema_and_unknown_ones_come_last(
    value: Any, schema: Any, expected: Any
) -> None:
    assert order(in_schema_order(value, schema)) == order(expected)


def test_a_part_may_point_into_the_whole_schema() -> None:
    whole = {"$defs": {"ab": AB}}
    assert list(in_schema_order({"b": 1, "a": 2}, {"$ref": "#/$defs/ab"}, whole)) == ["a", "b"]


def test_a_value_that_fits_nothing_follows_the_first_of_its_type() -> None:
    schema = {"properties": {"a": {}, "n": {"type": "integer"}}}
    assert list(in_schema_order({"n": True, "a": 1}, schema)) == ["a", "n"]
    assert list(in_schema_order({"n": True, "a": 1}, {"type": "array"})) == ["n", "a"]

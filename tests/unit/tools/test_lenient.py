from __future__ import annotations

from typing import Any

import pytest

from callblocks.tools.lenient import lenient


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        ("integer", "3", 3),
        ("integer", " -12 ", -12),
        ("integer", "3.0", 3),
        ("integer", 3.0, 3),
        ("integer", -0.0, 0),
        ("integer", 2.0**60, 2**60),
        ("number", "2.5", 2.5),
        ("number", "-1e3", -1000.0),
        ("number", "7", 7),
        ("boolean", "true", True),
        ("boolean", "False", False),
        (["integer", "null"], "3", 3),
    ],
)
def test_quoted_values_are_read(kind: Any, given: object, taken: object) -> None:
    found = lenient({"x": given}, {"properties": {"x": {"type": kind}}})["x"]
    assert found == taken
    assert type(found) is type(taken)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("integer", True),
        ("integer", "three"),
        ("integer", "3.5"),
        ("integer", "1e3"),
        ("integer", "007"),
        ("integer", "1_000"),
        ("integer", "٣"),
        ("integer", ""),
        ("integer", "9" * 4001),
        ("integer", 2.5),
        ("integer", None),
        ("number", "nan"),
        ("number", "Infinity"),
        ("number", "1e999"),
        ("number", 3.0),
        ("boolean", "yes"),
        ("boolean", 1),
        ("string", "3"),
        ("string", 3),
        (["string", "integer"], "3"),
        ("null", "null"),
        ("array", "[1]"),
        ("no such type", "3"),
        ([7], "3"),
    ],
)
def test_everything_else_stays_as_it_is(kind: Any, given: object) -> None:
    found = lenient({"x": given}, {"properties": {"x": {"type": kind}}})["x"]
    assert found == given
    assert type(found) is type(given)


def test_values_inside_lists_and_objects_are_read() -> None:
    row = {"properties": {"n": {"type": "integer"}}}
    schema = {
        "properties": {
            "rows": {"items": {"$ref": "#/$defs/row"}},
            "pair": {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            "more": {"additionalProperties": {"anyOf": [{"type": "null"}, {"type": "integer"}]}},
        },
        "$defs": {"row": row},
    }
    given = {"rows": [{"n": "1"}, {"m": "2"}], "pair": ["3", "4", "5"], "more": {"x": "6"}}
    assert lenient(given, schema) == {
        "rows": [{"n": 1}, {"m": "2"}],
        "pair": ["3", 4, 5],
        "more": {"x": 6},
    }


def test_text_stays_text_where_one_of_two_objects_takes_it() -> None:
    schema = {
        "anyOf": [
            {"properties": {"x": {"type": "integer"}}},
            {"properties": {"x": {"type": "string"}}},
        ]
    }
    assert lenient({"x": "3"}, schema) == {"x": "3"}

from __future__ import annotations

from typing import Any

import pytest

from callblocks.tools.check import lenient


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
        ("string", 2026, "2026"),
        ("string", 2.5, "2.5"),
        (["string", "null"], -1, "-1"),
        ("array", " [[1, 2], [3]]", [[1, 2], [3]]),
        ("object", '{"a": "b"}', {"a": "b"}),
        (["array", "object"], "{}", {}),
        (["array", "null"], "[]", []),
    ],
)
def test_what_can_mean_one_thing_only_is_read(kind: Any, given: object, taken: object) -> None:
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
        ("string", True),
        ("string", None),
        ("string", [3]),
        (["string", "integer"], "3"),
        (["string", "integer"], 3),
        (["string", "number"], 2.5),
        ("null", "null"),
        ("array", "[1"),
        ("array", "x"),
        ("array", '{"a": 1}'),
        ("array", "[1e999]"),
        ("array", "[" * 900 + "]" * 900),
        ("array", "[" * 9000 + "]" * 9000),
        ("object", "[1]"),
        ("object", '{"a": 1, "a": 2}'),
        ("object", "a"),
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


STRINGS = {"type": "array", "items": {"type": "string"}}
METHOD = {"type": "string", "enum": ["GET", "Post", "POST"]}


@pytest.mark.parametrize(
    ("schema", "given", "taken"),
    [
        (STRINGS, "UNREAD", ["UNREAD"]),
        (STRINGS, "a label", ["a label"]),
        (STRINGS, '["a", "b"]', ["a", "b"]),
        (STRINGS, "[1]", ["1"]),
        ({"anyOf": [STRINGS, {"type": "null"}]}, "a", ["a"]),
        (STRINGS, "a, b", "a, b"),
        (STRINGS, "a\nb", "a\nb"),
        (STRINGS, "[a", "[a"),
        (STRINGS, " ", " "),
        (STRINGS, "null", "null"),
        ({"type": "array", "items": STRINGS}, "a", "a"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "a", "a"),
        ({"anyOf": [STRINGS, {"type": "string"}]}, '["a"]', '["a"]'),
        (METHOD, "get", "GET"),
        (METHOD, "post", "post"),
        (METHOD, "POST", "POST"),
        (METHOD, "PUT", "PUT"),
        ({"anyOf": [METHOD, {"type": "null"}]}, "Get", "GET"),
        ({"anyOf": [METHOD, {"type": "string"}]}, "get", "get"),
        ({"type": "string", "enum": ["1", "2"]}, 1, "1"),
        ({"type": "string", "format": "path"}, 2026, "2026"),
        ({"type": "string", "format": "date"}, 2026, 2026),
    ],
)
def test_lists_of_strings_choices_and_times(schema: Any, given: object, taken: object) -> None:
    assert lenient({"x": given}, {"properties": {"x": schema}}) == {"x": taken}


def test_json_in_text_is_read_as_its_own_schema_means_it() -> None:
    schema = {"properties": {"x": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    assert lenient({"x": '{"n": "3"}'}, schema) == {"x": {"n": 3}}

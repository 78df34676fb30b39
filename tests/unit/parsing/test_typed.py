"""Text becomes what its schema says, or stays the text it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from callblocks import ToolSpec
from callblocks.core.json_values import same
from callblocks.parsing.values.schema_shape import Schemas
from callblocks.parsing.values.typed import typed, typed_argument, types_of
from support.schemas import cases
from support.work_counter import work

NEGATED = "<tool_call>\n<function=f>\n<parameter=x>\n{}\n</parameter>\n</function>\n</tool_call>"


def operation(name: str) -> dict[str, Any]:
    members = {"op": {"const": name}, "arg": {"$ref": "#/$defs/e"}}
    return {"type": "object", "properties": members, "required": ["op", "arg"]}


LOGIC = ToolSpec(
    "f",
    parameters={
        "properties": {"x": {"$ref": "#/$defs/e"}},
        "$defs": {"e": {"oneOf": [operation("not"), operation("neg"), {"type": "string"}]}},
    },
)


def nested(times: int) -> str:
    return '{"arg":' * times + "1" + ',"op":"not"}' * times


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("7", {"type": "integer"}, 7),
        (" 7 ", {"type": "integer"}, 7),
        ("-0", {"type": "integer"}, 0),
        ("7", {"type": "number"}, 7),
        ("7.5", {"type": "number"}, 7.5),
        ("1e3", {"type": "number"}, 1000.0),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("null", {"type": "null"}, None),
        ("None", {"type": "null"}, None),
        ("[1, {}]", {"type": "array"}, [1, {}]),
        ('{"a": []}', {"type": "object"}, {"a": []}),
        ("7", {"type": "string"}, "7"),
        (" 7 ", {"type": "string"}, " 7 "),
        ("7", {"type": ["string", "integer"]}, 7),
        ("x", {"type": ["string", "integer"]}, "x"),
        ("null", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ("7", {"oneOf": [{"type": "boolean"}, {"type": "integer"}]}, 7),
        ("02134", {"type": ["string", "integer"]}, "02134"),
        ("false", {"type": ["boolean", "string"]}, False),
        ("None", {"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ("7", {"allOf": [{"type": "integer"}, {"minimum": 1}]}, 7),
        ("7", {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 7),
        ("7", {"$ref": "#/$defs/gone"}, "7"),
        ("7", {"enum": ["a", 7]}, 7),
        ("a", {"enum": ["a", 7]}, "a"),
        ("7", {"enum": ["7"]}, "7"),
        ("true", {"const": True}, True),
        ("[1]", {"properties": {"a": {}}, "type": ["object", "array"]}, [1]),
        ('{"a": 1}', {"properties": {"a": {}}}, {"a": 1}),
        (
            '["a"]',
            {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
            '["a"]',
        ),
        ("[1.0]", {"type": "array", "items": {"type": "integer"}}, [1.0]),
        ('{"b": 1}', {"type": "object", "properties": {"a": {}}}, {"b": 1}),
        ("7", {"type": "int"}, 7),
        ("[]", {"type": "list"}, []),
        ("7", {}, "7"),
        ("7", True, "7"),
        ("7", False, "7"),
    ],
)
def test_text_that_fits_is_the_value_it_says(text: str, schema: Any, value: Any) -> None:
    found, fits, _ = typed(text, schema)
    assert same(found, value)
    assert fits


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("7.0", "integer"),
        ("1e3", "integer"),
        ("07", "integer"),
        ("+7", "integer"),
        ("٣", "integer"),
        ("9" * 5000, "integer"),
        ("1e999", "number"),
        ("nan", "number"),
        ("", "number"),
        ("yes", "boolean"),
        ("1", "boolean"),
        ("nil", "null"),
        ("{}", "array"),
        ("[1", "array"),
        ("[]", "object"),
        ("[" * 100_000, "array"),
        ("7", "unheard-of"),
    ],
)
def test_text_that_does_not_fit_stays_text(text: str, kind: str) -> None:
    assert typed(text, {"type": kind}) == (text, False, ())


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("7", {"enum": [1, 2]}),
        ("7", {"type": "integer", "enum": [1, 2]}),
        ("4", {"const": 3}),
        ("z", {"enum": ["x", "y"]}),
        ("z", {"type": "string", "enum": ["x", "y"]}),
        ("[1, 2]", {"type": "array", "items": {"type": "string"}}),
        ("[true]", {"type": "array", "items": {"enum": [1]}}),
        ("[1]", {"type": "array", "minItems": 2}),
        ('{"k": "no"}', {"type": "object", "properties": {"k": {"type": "integer"}}}),
        ('{"j": 1}', {"type": "object", "properties": {"k": {}}, "required": ["k"]}),
        ('{"j": 1}', {"properties": {"k": {}}, "additionalProperties": False}),
        ("{'k': 'no'}", {"type": "object", "properties": {"k": {"type": "integer"}}}),
    ],
)
def test_a_value_of_the_right_type_that_does_not_fit_stays_text(text: str, schema: Any) -> None:
    assert typed(text, schema, repair=True) == (text, False, ())


@settings(max_examples=60)
@given(cases())
def test_a_value_that_its_schema_allows_never_stays_text(case: tuple[Any, Any]) -> None:
    schema, value = case
    assume(not isinstance(value, str) and any(map(types_of, Schemas(schema).plain(schema))))
    assert typed(json.dumps(value), schema).fits


def test_comparing_with_a_union_that_refers_to_itself_is_linear_work() -> None:
    once, twice = (
        work("qwen3_coder", [NEGATED.format(nested(times))], tools=[LOGIC]) for times in (20, 40)
    )
    assert twice <= 2.2 * once


def test_definitions_that_double_at_each_step_are_linear_work() -> None:
    def counted(count: int) -> int:
        more = [{"anyOf": [{"$ref": f"#/$defs/{at}"}] * 2} for at in range(1, count + 1)]
        defs = {str(at): one for at, one in enumerate([*more, {"type": "integer"}])}
        schema = {"$defs": defs, "properties": {"x": {"$ref": "#/$defs/0"}}}
        return work("qwen3_coder", [NEGATED.format("1")], tools=[ToolSpec("f", "", schema)])

    assert counted(40) <= 2.2 * counted(20)


def test_a_schema_that_contains_itself_or_is_too_deep_says_nothing_more() -> None:
    circle: dict[str, Any] = {"type": "integer"}
    circle["allOf"] = [circle]
    assert typed("7", circle) == (7, True, ())
    tower: dict[str, Any] = {"type": "integer"}
    for _ in range(100):
        tower = {"anyOf": [tower]}
    assert typed("7", tower) == ("7", True, ())


@given(st.text())
def test_a_string_stays_exactly_as_written(text: str) -> None:
    assert typed(text, {"type": "string"}) == (text, True, ())
    assert typed(text, {}) == (text, True, ())


@given(st.text(), st.sampled_from(["integer", "number", "boolean", "null", "array", "object"]))
def test_any_text_is_taken_for_any_type(text: str, kind: str) -> None:
    value, fits, _ = typed(text, {"type": kind})
    assert fits or value == text


@pytest.mark.parametrize(
    ("text", "kind", "value", "repairs"),
    [
        ("{'a': True}", "object", {"a": True}, {"repaired-quotes", "repaired-literals"}),
        ("[1, 2,]", "array", [1, 2], {"repaired-commas"}),
        ('[\\"a\\"]', "array", ["a"], {"repaired-escapes"}),
    ],
)
def test_a_list_or_an_object_may_be_repaired_and_says_so(
    text: str, kind: str, value: Any, repairs: set[str]
) -> None:
    found = typed(text, {"type": kind}, repair=True)
    assert (found.value, found.fits) == (value, True)
    assert repairs <= set(found.repairs)
    assert typed(text, {"type": kind}) == (text, False, ())


@pytest.mark.parametrize("text", ["{'a': 1}", "[x", "{'a'", "one", '\\"'])
def test_what_cannot_be_repaired_stays_text(text: str) -> None:
    assert typed(text, {"type": "array"}, repair=True) == (text, False, ())


@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        ({"properties": {"n": {"type": "integer"}}}, 7),
        ({"allOf": [{"properties": {"n": {"type": "integer"}}}]}, 7),
        ({"additionalProperties": {"type": "integer"}}, 7),
        (
            {
                "anyOf": [
                    {"properties": {"n": {"type": "null"}}},
                    {"properties": {"n": {"$ref": "#/$defs/n"}}},
                ],
                "$defs": {"n": {"type": "integer"}},
            },
            7,
        ),
        ({"properties": {"n": True}}, "7"),
        ({"properties": {"m": {"type": "integer"}}}, "7"),
    ],
)
def test_a_parameter_has_the_type_that_its_tool_says_somewhere(parameters: Any, value: Any) -> None:
    assert typed_argument("7", ToolSpec("f", parameters=parameters), "n").value == value


def test_without_a_tool_a_parameter_is_text() -> None:
    assert typed_argument("7", None, "n") == ("7", True, ())

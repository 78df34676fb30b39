from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callblocks.core.specs import ToolSpec
from callblocks.parsing.grammar.argument_rules import input_rule, json_rule
from callblocks.parsing.grammar.expressions import lit, seq
from callblocks.parsing.grammar.grammar import Grammar, Kind
from callblocks.parsing.values.schema_shape import in_schema_order
from support.guidance import accepts
from support.schemas import cases, fits

KINDS: tuple[Kind, ...] = ("gbnf", "lark")
FORMS: tuple[dict[str, Any], ...] = (
    {"ensure_ascii": False},
    {"ensure_ascii": False, "indent": 2},
    {"ensure_ascii": False, "separators": (",", ":")},
    {"indent": 4},
)
NODE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name"],
        }
    },
    "$ref": "#/$defs/node",
}
FLAT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}},
    "required": ["b"],
}


def taken(schema: Any, text: str) -> bool:
    """Whether the grammar of a schema takes the text; both kinds must agree."""
    grammar = Grammar()
    grammar.rule("root", json_rule(grammar, schema))
    said = {accepts(grammar.to(kind), kind, text) for kind in KINDS}
    assert len(said) == 1, f"the kinds do not agree on {text!r}"
    return said.pop()


# Every case builds two grammars and their matchers, which is what takes the time.
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
@pytest.mark.no_cover  # other tests walk the same ways
def test_whatever_json_prints_for_a_fitting_value_is_taken(case: tuple[Any, Any]) -> None:
    schema, value = case
    assert fits(value, schema)
    ordered = in_schema_order(value, schema)
    assert ordered == value
    for form in FORMS:
        assert taken(schema, json.dumps(ordered, **form))


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.data())
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_corrupted_text_that_is_taken_fits_all_the_same(
    case: tuple[Any, Any], data: st.DataObject
) -> None:
    schema, value = case
    text = json.dumps(in_schema_order(value, schema), ensure_ascii=False)
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 3))
    put = data.draw(st.sampled_from(["", *'",:[]{}0-\\\nxa']))
    corrupted = text[:at] + put + text[at + cut :]
    if taken(schema, corrupted):
        assert fits(json.loads(corrupted), schema)


@given(cases(), cases())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_a_value_of_another_schema_is_taken_only_if_it_fits(
    case: tuple[Any, Any], other: tuple[Any, Any]
) -> None:
    schema, value = case[0], in_schema_order(other[1], case[0])
    assert taken(schema, json.dumps(value, ensure_ascii=False)) == fits(value, schema)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b": "x"}', True),
        ('{"a": 1, "b": "x"}', True),
        ('{"b": "x", "c": null}', True),
        ('{ "a" : -10 , "b" : "\\u00e9\\n" , "c" : null }', True),
        ('{\n\t"b": ""\r\n}', True),
        ("{}", False),
        ('{"a": 1}', False),
        ('{"b": "x", "a": 1}', False),
        ('{"b": "x", "b": "y"}', False),
        ('{"b": "x", "d": 1}', False),
        ('{"b": "x",}', False),
        ('{"a": 1.5, "b": "x"}', False),
        ('{"a": 01, "b": "x"}', False),
        ('{"b": "line\nbreak"}', False),
        ('{"b": "\\x"}', False),
        ('{"b": "\\u12"}', False),
        ('{  "b": "x"}', False),
        ('{"b": "x"', False),
        ("null", False),
    ],
)
def test_members_come_in_order_and_required_ones_always(text: str, expected: bool) -> None:
    assert taken(FLAT, text) == expected


def test_blanks_reach_the_indentation_of_deep_values_and_end_there() -> None:
    deep: Any = 1
    for _ in range(8):
        deep = [{"k": deep}]
    assert taken({}, json.dumps(deep, indent=2))
    assert not taken({}, "[" + " " * 100 + "1]")
    assert not taken({}, "[\n\n1]")


def test_a_recursive_schema_is_followed_to_any_depth() -> None:
    value: Any = {"name": "leaf"}
    for _ in range(6):
        value = {"name": "n", "kids": [value, {"name": "other"}]}
    assert taken(NODE, json.dumps(value))
    value["kids"][0]["kids"][0]["nmae"] = 1
    assert not taken(NODE, json.dumps(value))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$ref": "#"}, ["1", "[{}]"], ["x"]),
        ({"$ref": "#/missing"}, ["1"], ["x"]),
        ({"$ref": "other.json"}, ["1"], ["x"]),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, ["null"], ["1"]),
        ({"$defs": {"a/b": {"type": "null"}}, "$ref": "#/$defs/a~1b"}, ["null"], ["1"]),
        ({"allOf": [{"type": "null"}], "description": "x"}, ["null"], ["1"]),
        ({"allOf": [FLAT, {"required": ["a"]}]}, ['{"a": 1, "b": ""}'], ['{"b": ""}']),
        (
            {"properties": {"a": {}}, "allOf": [{"properties": {"b": {"type": "null"}}}]},
            ['{"a": 1, "b": null}', "{}"],
            ['{"b": 1}', '{"c": 1}'],
        ),
        (
            {**FLAT, "anyOf": [{"required": ["a"]}, {"required": ["c"]}]},
            ['{"a": 1, "b": ""}', '{"b": "", "c": null}'],
            ['{"b": ""}'],
        ),
        ({"type": "object", "required": ["x"]}, ['{"x": 1, "y": 2}'], ['{"y": 2}', "{}"]),
        (
            {"required": ["x"], "additionalProperties": {"type": "null"}},
            ['{"x": null, "y": null}'],
            ['{"x": 1}', "{}"],
        ),
        ({"properties": {}}, ["{}"], ['{"a": 1}', "[]"]),
        ({"properties": {"a": False, "b": {}}}, ['{"b": 1}'], ['{"a": 1}']),
        ({"patternProperties": {"x": {}}, "properties": {}}, ['{"x": 1}'], ["1"]),
        ({"items": [{"type": "null"}, {}]}, ["[]", "[null]", "[null, 1, 2]"], ["[1]", "{}"]),
        ({"items": False}, ["[]"], ["[1]"]),
        ({"type": "array", "maxItems": 0}, ["[]", "[ ]"], ["[1]"]),
        ({"minItems": 2, "maxItems": 1000}, ["[1, 2]", "[1, 2, 3]"], ["[1]"]),
        ({"prefixItems": [{}, {"type": "null"}], "maxItems": 1}, ["[]", "[1]"], ["[1, null]"]),
        ({"enum": []}, ["1"], ["x"]),
        ({"type": ["integer", "null"], "enum": [1, None]}, ["1", "null"], ["2"]),
        ({"type": "frob"}, ["1", '"x"'], ["x"]),
        ({"type": 3, "properties": 3, "anyOf": 3}, ["1", "{}"], ["x"]),
        (False, ["1"], ["x"]),
        ({"const": {"a": 1, "b": [True, 0.5]}}, ['{"a":1,"b":[true,0.5]}'], ['{"a": 1}']),
        ({"type": "integer"}, ["0", "-0", "12345678901234567890"], ["1.0", "1e3", "+1", "-"]),
        ({"type": "number"}, ["0", "-1.5e-07", "1E+16"], [".5", "1.", "NaN", "1e"]),
    ],
)
def test_schemas_mean_what_they_say(schema: Any, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not taken(schema, text)] == []
    assert [text for text in bad if taken(schema, text)] == []


def test_other_members_are_not_the_known_ones() -> None:
    schema = {"properties": {"ab": {"type": "null"}}, "additionalProperties": True}
    good = ('{"ab": null, "abc": 1, "a": 2, "": 3, "x\\u00e9\\n": 4}', '{"b": 1}', "{}")
    assert all(taken(schema, text) for text in good)
    assert not taken(schema, '{"ab": 1}')
    assert not taken(schema, '{"x": 1, "ab": 1}')


def test_more_combinations_than_are_worth_it_are_left_open() -> None:
    many = [{"properties": {f"k{at}": {"type": "null"}}} for at in range(9)]
    schema = {"allOf": [{"anyOf": many}, {"anyOf": many}]}
    assert taken(schema, '{"k3": null}')


def test_equal_schemas_share_one_rule() -> None:
    grammar = Grammar()
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": FLAT, "b": FLAT}}}
    grammar.rule("root", json_rule(grammar, schema))
    assert grammar.to("gbnf").count('"\\"c\\""') == 1


def test_a_parameter_may_point_into_the_whole_schema() -> None:
    grammar = Grammar()
    kids = NODE["$defs"]["node"]["properties"]["kids"]
    grammar.rule("root", seq(lit("<"), json_rule(grammar, kids, "kids", NODE), lit(">")))
    for kind in KINDS:
        assert accepts(grammar.to(kind), kind, '<[{"name": "x"}]>')
        assert not accepts(grammar.to(kind), kind, "<[{}]>")


def test_the_input_of_a_tool_is_always_an_object() -> None:
    for tool in (ToolSpec("ls"), ToolSpec("ls", parameters={"properties": {"path": {}}})):
        grammar = Grammar()
        grammar.rule("root", input_rule(grammar, tool))
        for kind in KINDS:
            assert accepts(grammar.to(kind), kind, '{"path": 1}')
            assert not accepts(grammar.to(kind), kind, '"path"')

"""An example shows a call with values that its tool would take."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks import Call, ToolSpec
from callblocks.core.errors import BadSpec
from callblocks.parsing.teaching import example_items, prompt, sample


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"examples": ["cats", "dogs"]}, "cats"),
        ({"enum": ["x", "y"]}, "x"),
        ({"default": 0}, 0),
        ({"const": None}, None),
        ({"examples": [], "enum": [], "type": "integer"}, 1),
        ({"type": "integer"}, 1),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "string"}, "query"),
        ({}, "query"),
        ({"type": ["string", "null"]}, "query"),
        ({"type": []}, "query"),
        ({"type": "array"}, ["query"]),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, {"a": True}),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, {"b": "b"}),
    ],
)
def test_a_sample_is_what_the_schema_offers_or_its_plainest_value(
    schema: dict[str, Any], value: Any
) -> None:
    assert sample(schema, "query") == value


def test_an_example_gives_what_is_required_or_else_the_first_parameter() -> None:
    properties = {"a": {"type": "integer"}, "b": {"type": "string"}}
    required = ToolSpec("t", parameters={"properties": properties, "required": ["b"]})
    optional = ToolSpec("t", parameters={"properties": properties})
    assert input_of(required) == {"b": "b"}
    assert input_of(optional) == {"a": 1}
    assert input_of(ToolSpec("t")) == {}


def test_the_body_of_an_example_ends_its_line() -> None:
    tool = ToolSpec("t", parameters={"properties": {"b": {"type": "string"}}}, body="b")
    assert input_of(tool) == {"b": "b\n"}


def test_an_example_needs_a_tool() -> None:
    with pytest.raises(BadSpec, match="at least one tool"):
        example_items([])


def test_a_prompt_says_what_each_parameter_is() -> None:
    properties = {
        "q": {"type": "string", "description": "What to find."},
        "n": {"type": ["integer", "null"]},
        "kind": {"enum": ["web", 7]},
        "text": {"type": "string"},
    }
    schema = {"properties": properties, "required": ["q"]}
    tool = ToolSpec("find", "Find things.", schema, body="text")
    told = prompt(["One rule."], [tool], "\nEXAMPLE\n")
    assert "\n\nEXAMPLE\n\n- One rule.\n\n" in told
    assert told.endswith(
        "## find\n"
        "Find things.\n"
        "- q (string): What to find.\n"
        "- n (integer or null, optional)\n"
        "- kind (any, optional, one of web, 7)\n"
        "- text (string, optional, the body)\n"
    )


def input_of(tool: ToolSpec) -> dict[str, Any]:
    _, call = example_items([tool])
    assert isinstance(call, Call)
    return call.input


def test_a_prompt_says_that_a_body_has_one_on_each_line() -> None:
    schema = {"properties": {"paths": {"type": "array", "items": {"type": "string"}}}}
    told = prompt([], [ToolSpec("read", "", schema, body="paths")], "EXAMPLE")
    assert told.endswith("- paths (array, optional, the body, one on each line)\n")


def test_a_prompt_says_that_a_body_is_json() -> None:
    schema = {"properties": {"rows": {"type": "array", "items": {"type": "array"}}}}
    told = prompt([], [ToolSpec("put", "", schema, body="rows")], "EXAMPLE")
    assert told.endswith("- rows (array, optional, the body, as JSON)\n")

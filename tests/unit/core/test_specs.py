"""Tools are read in the shape that every framework writes them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from callblocks import ToolSpec
from callblocks.core.errors import BadSpec
from callblocks.core.specs import read_specs, specs_by_name

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}


def test_a_tool_may_stand_in_a_function_or_alone() -> None:
    flat = {"name": "find", "description": "Find.", "parameters": SCHEMA}
    nested = {"type": "function", "function": flat}
    assert read_specs([flat, nested]) == (ToolSpec("find", "Find.", SCHEMA),) * 2
    assert read_specs([]) == ()


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "tools are a list, not None"),
        ("ls", "tools are a list, not 'ls'"),
        (["a"], "tool 0 is 'a'; a tool is a ToolSpec, "),
        ([{"name": "a"}, 5], "tool 1 is 5; a tool is a ToolSpec, "),
        ([{"name": "a"}, {"type": "web_search"}], "tool 1 is {"),
        ([{"functionDeclarations": [{"name": "a"}, 5]}], "tool 0: `functionDeclarations` has 5"),
        ({"a": {}, "b": {"name": "c"}}, "tool 1 stands under 'b', but is named c"),
        ([{"name": "a"}, {"name": 5}], "tool 1: "),
        ([{"name": "a"}, {"description": "no name"}], "tool 1: "),
        ([{"function": {"name": "a", "parameters": []}}], "tool 0: "),
    ],
)
def test_what_is_no_list_of_tools_is_refused_with_its_place(value: Any, fault: str) -> None:
    with pytest.raises(BadSpec, match=fault):
        read_specs(value)


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        (5, "its parameters are a JSON Schema, an object, not 5"),
        ([], "its parameters are a JSON Schema"),
        *(({"properties": odd}, "`properties` is an object") for odd in ([], "x", 5)),
        *(({"required": odd}, "`required` is a list of names") for odd in ("x", 5, {})),
        ({"properties": {5: {}}}, "name is text, not 5"),
        ({"required": [None]}, "name is text, not None"),
    ],
)
def test_a_tool_that_no_call_could_be_read_by_is_refused_with_its_name(
    parameters: Any, fault: str
) -> None:
    with pytest.raises(BadSpec, match=f"tool 'find': .*{fault}"):
        ToolSpec("find", parameters=parameters)


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"properties": {}}
    schema["properties"]["inner"] = {"anyOf": [schema]}
    with pytest.raises(BadSpec, match="contains itself"):
        ToolSpec("find", parameters=schema)


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"enum": 5}, {"items": None}, {"properties": []}, {"required": 5}, 5]
)
def test_what_is_odd_inside_a_parameter_says_nothing(schema: Any) -> None:
    tool = ToolSpec("find", parameters={"properties": {"q": schema}})
    assert list(tool.properties) == ["q"]


def test_of_two_tools_with_one_name_the_later_wins() -> None:
    assert specs_by_name([ToolSpec("a", "old"), ToolSpec("a", "new")]) == {
        "a": ToolSpec("a", "new")
    }


def test_what_has_an_index_already_is_not_walked_over() -> None:
    class Book:
        specs: ClassVar = {"a": ToolSpec("a")}

        def __iter__(self) -> Iterator[ToolSpec]:
            raise AssertionError("it is not walked over")

    assert specs_by_name(Book()) is Book.specs


@pytest.mark.parametrize(
    ("schema", "lines", "as_json"),
    [
        ({"type": "string"}, False, False),
        ({"type": "array", "items": {"type": "string"}}, True, False),
        ({"type": "array", "items": {"type": "array"}}, False, True),
        ({"type": "array"}, False, True),
        ({"type": "object"}, False, True),
        ({}, False, False),
    ],
)
def test_a_body_is_text_lines_or_json(schema: dict[str, Any], lines: bool, as_json: bool) -> None:
    tool = ToolSpec("write", parameters={"properties": {"b": schema}}, body="b")
    assert (tool.body_is_lines, tool.body_is_json) == (lines, as_json)
    assert not ToolSpec("write", parameters=tool.parameters).body_is_json


def test_a_tool_tells_its_parameters_and_which_are_required() -> None:
    tool = ToolSpec("find", parameters=SCHEMA | {"required": ["q"]})
    assert list(tool.properties) == ["q", "n"]
    assert tool.required == ("q",)
    assert ToolSpec("none").properties == {}
    assert ToolSpec("none").required == ()


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": {"x": {"type": 7}}},
        {"properties": {"x": {"type": ["integer", 5]}}},
        {"properties": {"x": {"anyOf": 5}}},
        {"properties": []},
        {"required": "x"},
    ],
)
def test_a_schema_of_no_known_form_is_refused_when_it_is_read(parameters: object) -> None:
    with pytest.raises(BadSpec, match="tool 0"):
        read_specs([{"name": "a", "parameters": parameters}])

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from callblocks.tools.declare import tool
from callblocks.tools.schema import (
    branches,
    field_formats,
    holds_format,
    schemas_at,
    values_of_format,
)

PATH = {"type": "string", "format": "path"}
TREE = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "$defs": {
        "node": {
            "properties": {"file": PATH, "kids": {"items": {"$ref": "#/$defs/node"}}, "to": {}}
        }
    },
}


class Attachment(BaseModel):
    file: Path
    name: str = ""


def deliver(
    one: Path,
    maybe: Path | None,
    many: list[Path],
    named: dict[str, Path],
    by_path: dict[Path, str],
    pair: tuple[str, Path],
    inside: list[Attachment],
    text: str = "",
) -> None: ...


def test_a_path_is_found_however_deep_it_stands() -> None:
    made = tool(deliver)
    names = ("one", "maybe", "many", "named", "by_path", "pair", "inside")
    assert made.parameters_of_format("path") == names
    assert made.parameters_of_format("uri") == ()
    given = {
        "one": "a",
        "maybe": "b",
        "many": ["c", "d"],
        "named": {"x": "e"},
        "by_path": {"f": "x"},
        "pair": ["x", "g"],
        "inside": [{"file": "h", "name": "x"}, {"file": "i"}],
        "text": "x",
    }
    assert made.values_of_format(given, "path", "file-path") == tuple("abcdefghi")


def test_references_that_lead_back_are_followed() -> None:
    given = {"kids": [{"file": "a", "kids": [{"file": "b", "to": {"file": "x"}}]}]}
    assert values_of_format(TREE, given, ["path"]) == ("a", "b")
    assert holds_format(TREE["properties"]["kids"], TREE, ["path"])
    assert not holds_format(TREE["properties"]["kids"], TREE, ["uri"])


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a~1b"},
        {"$ref": "#/$defs/plain", "format": "path"},
        {"allOf": [{"$ref": "#/$defs/a~1b"}]},
        {"oneOf": [{"type": "null"}, PATH]},
        {"if": {"minLength": 1}, "then": PATH},
        {"else": PATH},
        {"dependentSchemas": {"x": PATH}},
    ],
)
def test_every_part_that_may_speak_of_a_value_counts(schema: dict[str, Any]) -> None:
    root = {"properties": {"x": schema}, "$defs": {"a/b": PATH, "plain": {"type": "string"}}}
    assert values_of_format(root, {"x": "v"}, ["path"]) == ("v",)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": PATH}, ["v"]),
        ({"items": [{}, PATH]}, ["", "v"]),
        ({"items": [{}], "additionalItems": PATH}, ["", "v"]),
        ({"prefixItems": [{}], "items": PATH}, ["", "v"]),
        ({"contains": PATH}, ["v"]),
        ({"unevaluatedItems": PATH}, ["v"]),
        ({"patternProperties": {"^x": PATH}}, {"x": "v"}),
        ({"additionalProperties": PATH}, {"x": "v"}),
        ({"unevaluatedProperties": PATH}, {"x": "v"}),
        ({"propertyNames": PATH}, {"v": ""}),
    ],
)
def test_every_keyword_of_lists_and_objects_counts(schema: dict[str, Any], value: object) -> None:
    assert values_of_format({"properties": {"x": schema}}, {"x": value}, ["path"]) == ("v",)


def test_the_schemas_of_a_place_are_those_of_every_branch() -> None:
    root = {"properties": {"x": {"anyOf": [{"items": {"a": 1}}, {"items": {"b": 2}}]}}}
    assert schemas_at(root, ("x", 3)) == ({"a": 1}, {"b": 2})
    assert schemas_at(root, ("y",)) == ()


def test_a_reference_to_itself_or_to_nothing_ends() -> None:
    loop: dict[str, Any] = {"$ref": "#"}
    assert branches((loop,), loop) == (loop,)
    for nowhere in ("#/no/where", "http://example.org/x", "#anchor", ""):
        schema = {"properties": {"x": {"$ref": nowhere}}}
        assert values_of_format(schema, {"x": "v"}, ["path"]) == ()


keywords = st.sampled_from(
    ["$ref", "anyOf", "items", "properties", "format", "prefixItems", "then", "propertyNames", "x"]
)
schemas = st.recursive(
    st.sampled_from(["#", "path", "#/x", None, True, 3]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=4),
    max_leaves=15,
)
values = st.recursive(
    st.none() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(keywords, schemas, max_size=4), st.dictionaries(keywords, values))
def test_a_schema_of_any_form_is_walked(schema: dict[str, Any], value: dict[str, Any]) -> None:
    found = values_of_format(schema, value, ["path"])
    if found:
        assert holds_format(schema, schema, ["path"])


flat_fields = st.sampled_from(
    [
        *({}, {"type": "string"}, {"format": "path"}, {"format": "uri"}, {"format": 3}, None),
        *({"items": {"format": "path"}}, {"anyOf": [{"format": "path"}]}, {"$ref": "#"}),
    ]
)
flat_schemas = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(keywords, flat_fields, max_size=4) | st.none(),
        "format": st.sampled_from(["path", "x"]),
        "additionalProperties": st.sampled_from([False, True, {"format": "path"}, {}]),
        "patternProperties": st.sampled_from([{"^x": {"format": "path"}}, {"^x": {}}]),
        "propertyNames": st.sampled_from([{"format": "path"}, {}]),
        "then": st.sampled_from([{"properties": {"format": {"format": "path"}}}, {}]),
    },
)


@given(
    flat_schemas | st.dictionaries(keywords, schemas, max_size=4), st.dictionaries(keywords, values)
)
def test_a_schema_without_depth_is_read_at_once_with_the_same_values(
    schema: dict[str, Any], value: dict[str, Any]
) -> None:
    fields = field_formats(schema)
    if fields is None:
        return
    read = [value[name] for name in value if fields.get(name) == "path"]
    at_once = tuple(one for one in read if not isinstance(one, dict | list))
    assert at_once == values_of_format(schema, value, ["path"])


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        ({"properties": {"to": PATH, "text": {"type": "string"}}}, {"to": "path"}),
        ({"format": "path"}, {}),
        ({"properties": {"to": {"items": PATH}}}, None),
        ({"properties": {"to": {"anyOf": [PATH, {}]}}}, None),
        ({"properties": {"to": PATH}, "additionalProperties": PATH}, None),
        ({"properties": {"to": PATH}, "anyOf": [{}]}, None),
    ],
)
def test_only_formats_of_the_fields_themselves_are_known(
    schema: dict[str, Any], fields: dict[str, str] | None
) -> None:
    assert field_formats(schema) == fields

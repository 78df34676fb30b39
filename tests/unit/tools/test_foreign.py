from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import BadSpec, BadTool
from callblocks.tools.check import faults_text
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Traits

SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "self": {"type": "integer"}},
            "required": ["query"],
        },
    },
}
HINTS = {"readOnlyHint": True, "idempotentHint": False, "openWorldHint": False}


def test_a_foreign_tool_is_assumed_to_do_its_worst() -> None:
    search = Registry.from_json([SEARCH])["search"]
    assert search.traits == Traits(destructive=True, open_world=True)
    assert (search.origin, search.function, search.spec.description) == (
        "external",
        None,
        "Search.",
    )


def test_the_caller_runs_it() -> None:
    def run(name: str, given: dict[str, Any]) -> Any:
        return name, given

    search = Registry.from_json([SEARCH], run)["search"]
    values = search.check({"query": "x", "self": "3"}).values
    assert search(**values) == ("search", {"query": "x", "self": 3})


class Later:
    async def __call__(self, name: str, given: dict[str, Any]) -> Any:
        return name, given


async def run_later(name: str, given: dict[str, Any]) -> Any:
    return name, given


@pytest.mark.parametrize("run", [run_later, Later()], ids=["function", "object"])
def test_the_caller_may_run_it_later(run: Any) -> None:
    search = Registry.from_json([SEARCH], run)["search"]
    assert inspect.iscoroutinefunction(search.function)
    assert asyncio.run(search(query="x")) == ("search", {"query": "x"})


@pytest.mark.parametrize("place", ["beside", "inside", "flat"])
def test_hints_count_only_where_they_are_trusted(place: str) -> None:
    entry = {
        "beside": {**SEARCH, "annotations": HINTS},
        "inside": {"function": {**SEARCH["function"], "annotations": HINTS}},
        "flat": {**SEARCH["function"], "annotations": HINTS},
    }[place]
    worst = Traits(destructive=True, open_world=True)
    assert Registry.from_json([entry])["search"].traits == worst
    trusted = Registry.from_json([entry], trust_hints=True)["search"].traits
    assert trusted == Traits(read_only=True, destructive=False)


@pytest.mark.parametrize(
    ("hints", "traits"),
    [
        ({}, Traits(open_world=True)),
        (None, Traits(open_world=True)),
        ({"readOnlyHint": "true", "destructiveHint": 0}, Traits(open_world=True)),
        ({"destructiveHint": False}, Traits(destructive=False, open_world=True)),
        (
            {"readOnlyHint": True, "destructiveHint": True},
            Traits(read_only=True, destructive=False, idempotent=True, open_world=True),
        ),
    ],
)
def test_a_hint_that_is_not_said_is_assumed_for_the_worse(hints: Any, traits: Traits) -> None:
    entry = {**SEARCH, "annotations": hints}
    assert Registry.from_json([entry], trust_hints=True)["search"].traits == traits


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"properties": {"x": {"type": "text"}}}, "tool search: its parameters are no JSON Schema"),
        ({"properties": {"x": {"pattern": "("}}}, "is not a"),
        ({"$ref": "http://127.0.0.1:1/x.json"}, "http://127.0.0.1:1/x.json is not fetched"),
        ({"properties": {"x": {"$ref": "file:///etc/hostname"}}}, "is not fetched"),
        ({"$ref": "#/$defs/gone"}, "no JSON Schema"),
        ({"$schema": "http://example.org/none"}, "no JSON Schema"),
        ({"type": "string"}, "tool search: its parameters are an object, not 'string'"),
        ({"type": ["string", "null"]}, "are an object, not ['string', 'null']"),
        ({"properties": []}, "tool 'search': `properties` is an object"),
    ],
)
def test_a_schema_that_is_none_is_refused_naming_the_tool(
    parameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadSpec) as caught:
        Registry.from_json([{"name": "search", "parameters": parameters}])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "a b"}, "'a b' is no name for a tool"),
        ({"name": "a\x1b[2J"}, "is no name"),
        ({"name": "a", "body": "text"}, "tool a: its body 'text' is no parameter"),
        ({}, "missing required field `name`"),
        (5, "tool 0"),
    ],
)
def test_an_entry_that_is_no_tool_is_refused(entry: Any, words: str) -> None:
    with pytest.raises(BadSpec) as caught:
        Registry.from_json([entry])
    assert words in str(caught.value)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(BadTool, match="two tools are named search"):
        Registry.from_json([SEARCH, SEARCH])


def test_a_tool_without_a_schema_takes_any_object() -> None:
    assert Registry([{"name": "any"}]).tools[0].check({"x": [1]}).values == {"x": [1]}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"x": {"$dynamicRef": "#"}}},
    ],
)
def test_a_schema_that_leads_to_itself_ends(schema: dict[str, Any]) -> None:
    assert Registry([{"name": "any", "parameters": schema}]).tools[0].check({"x": {"x": 1}})


def _doubled(levels: int) -> dict[str, Any]:
    """A schema that its references double with each definition."""
    chain = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(levels)}
    return {
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {**chain, f"d{levels}": {"type": "integer"}},
    }


_ANCHORED = {
    "properties": {"a": {"$ref": "#tree"}},
    "$defs": {
        "tree": {
            "$anchor": "tree",
            "properties": {"x": {"anyOf": [{"$ref": "#tree"}, {"$ref": "#tree"}]}},
            "required": ["y"],
        }
    },
}


@pytest.mark.parametrize("levels", [30, 3_000])
def test_a_schema_that_branches_without_end_is_refused(levels: int) -> None:
    with pytest.raises(BadSpec, match=r"branch too often|no JSON Schema"):
        Registry.from_json([{"name": "say", "parameters": _doubled(levels)}])


def test_a_reference_that_nobody_follows_is_refused() -> None:
    inner = {"$id": "http://a.example/b", "type": "integer"}
    schema = {"properties": {"a": {"$ref": "http://a.example/b"}, "b": inner}}
    with pytest.raises(BadSpec, match="branch too often"):
        Registry.from_json([{"name": "say", "parameters": schema}])


@pytest.mark.parametrize(
    ("schema", "depth", "words"),
    [
        (_doubled(18), 0, "does not fit the schema of this tool"),
        (_ANCHORED, 16, "does not fit the schema of this tool"),
        (_ANCHORED, 60, "a: nested"),
    ],
)
def test_a_value_is_not_tried_on_countless_branches(
    schema: dict[str, Any], depth: int, words: str
) -> None:
    say = Registry.from_json([{"name": "say", "parameters": schema}])["say"]
    value: Any = "text"
    for _ in range(depth):
        value = {"x": value}
    checked = say.check({"a": value})
    assert words.removeprefix("a: ") in faults_text(checked.faults)


@pytest.mark.parametrize("own", ["", "http://a.example/s"])
def test_an_ordinary_tree_is_checked_and_explained(own: str) -> None:
    tree = {
        "$id": own or "http://a.example/other",
        "properties": {"node": {"$ref": f"{own}#/$defs/node"}},
        "$defs": {
            "node": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"$ref": "#/$defs/node/anyOf/0"}},
                    {"type": "object", "additionalProperties": {"$ref": "#/%24defs/node"}},
                ]
            }
        },
    }
    say = Registry.from_json([{"name": "say", "parameters": tree}])["say"]
    assert say.check({"node": {"a": {"b": ["c"]}}}).faults == ()
    assert "node.a" in faults_text(say.check({"node": {"a": True}}).faults)


def test_a_pattern_that_would_take_forever_gives_up() -> None:
    schema = {"properties": {"x": {"type": "string", "pattern": r"^(?=(a+)+$)(a|a)*\1b$"}}}
    made = Registry([{"name": "any", "parameters": schema}]).tools[0]
    assert made.check({"x": "a" * 5000 + "c"}).faults


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"enum": list(range(40))}, "x", " 29 and 10 more, got"),
        ({"const": 3}, 4, "x: must be 3, got 4"),
        ({"maximum": 3}, 4, "x: must be 3 or less, got 4"),
        ({"minimum": 3}, 2, "x: must be 3 or more, got 2"),
        ({"exclusiveMinimum": 3}, 3, "x: must be more than 3, got 3"),
        ({"minProperties": 1}, {}, "x: must be 1 fields or more, got an empty object"),
        ({"maxProperties": 0}, {"a": 1}, "x: must be 0 fields or fewer, got an object"),
        (
            {"uniqueItems": True},
            [1, 1],
            "x: must be a list without repeated items, got a list of 2",
        ),
        (False, 1, "x: must be left out, got 1"),
        ({"not": {}}, 1, "x: does not fit: "),
        ({"oneOf": [{}, {}]}, 1, "x: does not fit: it is valid under more than one"),
        (
            {"oneOf": [{"type": "null"}, {"type": "string"}]},
            True,
            "x: must be null or a string, got true",
        ),
        ({"anyOf": [{"type": "null"}, {"minimum": 3}]}, 1, "x: must be 3 or more, got 1"),
        (
            {"properties": {"a": {}}, "unevaluatedProperties": False},
            {"b": 1},
            "x.b: not a field of",
        ),
    ],
)
def test_every_keyword_has_words(schema: Any, value: object, words: str) -> None:
    made = Registry([{"name": "any", "parameters": {"properties": {"x": schema}}}]).tools[0]
    assert words in faults_text(made.check({"x": value}).faults)


keywords = st.sampled_from(
    ["type", "properties", "items", "enum", "anyOf", "required", "$ref", "x"]
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "object", "#", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=3),
    max_leaves=8,
)


@given(junk, st.dictionaries(keywords, junk, max_size=3))
def test_a_list_of_any_form_gives_tools_or_a_bad_spec(parameters: Any, value: Any) -> None:
    try:
        made = Registry([{"name": "any", "parameters": parameters}]).tools[0]
    except BadSpec:
        return
    assert made.check(value) is not None
    assert made.parameters_of_format("path") == ()


class Dumps:
    """An object of an SDK."""

    def __init__(self, **said: Any) -> None:
        self._said = said

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self._said


def test_an_object_of_an_sdk_gives_all_its_tools_and_what_it_says_of_them() -> None:
    two: Any = Dumps(functionDeclarations=[{"name": "one", "annotations": HINTS}, {"name": "two"}])
    listed = Registry.from_json([two], trust_hints=True)
    assert listed.names == Registry([two]).names == ("one", "two")
    assert [tool.traits.read_only for tool in listed.tools] == [True, False]
    flat: Any = Dumps(name="search", inputSchema={"type": "object"}, annotations=HINTS)
    assert Registry([flat], trust_hints=True)["search"].traits.read_only
    assert not Registry([flat])["search"].traits.read_only


def test_a_registry_and_its_kits_are_run_by_the_caller_where_they_cannot_run() -> None:
    def run(name: str, given: dict[str, Any]) -> Any:
        return name, given

    def ls() -> str:
        return "files"

    known = Registry([SEARCH, ls])
    made: list[str] = []

    def make() -> Any:
        made.append("kit")
        return Registry([{"name": "far"}, {"name": "near"}]).tools

    known.add_later(["far", "near"], make)
    ran = Registry(known, run=run)
    assert not made
    assert ran["far"](x=1) == ("far", {"x": 1})
    assert ran["near"]() == ("near", {})
    assert made == ["kit"]
    assert ran["search"](query="x") == ("search", {"query": "x"})
    assert ran["ls"]() == "files"
    assert known["search"].function is None
    assert Registry([known["search"]], run=run)["search"]() == ("search", {})

"""The same tool is the same, in whatever shape it comes, wherever tools are taken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from callblocks import Call, Parser, Registry, ToolSpec, convert, dialects, parse, tool
from callblocks.core.errors import BadSpec, BadTool
from callblocks.core.specs import read_specs, specs_by_name
from callblocks.tools.declare import spec_of
from support.example_counts import LEADERS

TEXT = "Find notes."
PROPERTIES: dict[str, Any] = {
    "q": {"type": "string", "description": "what"},
    "most": {"type": "integer", "default": 5},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["q"]}
GEMINI = {
    "type": "OBJECT",
    "properties": {
        "q": {"type": "STRING", "description": "what"},
        "most": {"type": "INTEGER", "default": 5},
    },
    "required": ["q"],
}


def find(q: str, most: int = 5) -> str:
    """Find notes.

    Args:
        q: what
    """
    return q * most


def _model() -> type[BaseModel]:
    class find(BaseModel):
        """Find notes."""

        q: str = Field(description="what")
        most: int = 5

    return find


class Dumped:
    """An object of somebody's SDK."""

    def model_dump(self, *, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
        return {"name": "find", "description": TEXT, "inputSchema": SCHEMA}


NAMED = {"name": "find", "description": TEXT}
SHAPES: dict[str, Any] = {
    "spec": ToolSpec("find", TEXT, SCHEMA),
    "tool": tool(find),
    "function": find,
    "model": _model(),
    "openai-chat": {"type": "function", "function": {**NAMED, "parameters": SCHEMA}},
    "openai-flat": {"type": "function", **NAMED, "parameters": SCHEMA, "strict": True},
    "anthropic": {**NAMED, "input_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{**NAMED, "parameters": GEMINI}]},
    "gemini-snake": {"function_declarations": [{**NAMED, "parametersJsonSchema": SCHEMA}]},
    "gemini-declaration": {**NAMED, "parameters": GEMINI},
    "mcp": {**NAMED, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    "bedrock": {"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}},
    "sdk": Dumped(),
}
OTHER = ToolSpec("now")


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> Any:
    return SHAPES[request.param]


def test_every_shape_gives_the_same_specification(shape: Any) -> None:
    (spec,) = read_specs([shape])
    assert (spec.name, spec.description, spec.required) == ("find", TEXT, ("q",))
    assert spec.properties == PROPERTIES


@given(st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=4))
@settings(max_examples=30)
def test_shapes_may_be_mixed(names: list[str]) -> None:
    mixed = [SHAPES[name] for name in names]
    assert [spec.name for spec in read_specs(mixed)] == ["find"] * len(names)
    # The most of it is typed by the schema.
    (call,) = parse("🛠️[find 7 8]\n🛠️[/end]", "emoji-bracket", tools=[*mixed, OTHER]).calls
    assert call.input == {"q": "7", "most": 8}


def test_one_tool_needs_no_list(shape: Any) -> None:
    for alone in (shape, [shape], (shape,), iter([shape]), {"find": shape}, {"tools": [shape]}):
        assert [*specs_by_name(alone)] == ["find"]


def test_whatever_takes_tools_takes_every_shape(shape: Any) -> None:
    text, spec = "🛠️[find 7]\n🛠️[/end]", SHAPES["spec"]
    dialect, other = dialects["emoji-bracket"], "hermes"
    (call,) = parse(text, "emoji-bracket", tools=[shape]).calls
    assert call.input == {"q": "7"}
    parser = Parser("emoji-bracket", tools=shape)
    assert [*parser.feed(text), *parser.close()] == parse(text, "emoji-bracket", tools=spec).events
    assert convert(text, target=other, source="emoji-bracket", tools=[shape]) == convert(
        text, target=other, source="emoji-bracket", tools=[spec]
    )
    assert dialect.write([Call(id="a", name="find", input={"q": "7"})], [shape]) == text
    assert dialect.grammar([shape], "gbnf") == dialect.grammar([spec], "gbnf")
    assert dialect.teach([shape]) == dialect.teach([spec])
    assert dialect.example([shape]) == dialect.example([spec])
    registry = Registry([shape, OTHER])
    assert registry.names == ("find", "now")
    assert not registry["find"].check({"q": "x"}).faults
    assert [fault.field for fault in registry["find"].check({}).faults] == ["q"]


def test_what_has_a_schema_only_cannot_run_unless_it_is_told_how() -> None:
    can = {name for name in SHAPES if Registry([SHAPES[name]])["find"].function}
    assert can == {"tool", "function"}
    for shape in SHAPES.values():
        found = Registry([shape], run=lambda name, given: f"{name} {given['q']}")["find"]
        assert found.function
        assert found.function(q="x", most=1) in ("find x", "x")


def test_a_registry_of_a_registry_is_the_same_tools() -> None:
    registry = Registry([find])
    assert Registry(registry)["find"] is registry["find"]


def test_one_tool_is_added_at_a_time() -> None:
    registry = Registry()
    assert registry.add(SHAPES["mcp"]).name == "find"
    with pytest.raises(BadTool, match="is 2 tools"):
        registry.add({"functionDeclarations": [{"name": "a"}, {"name": "b"}]})


def test_a_gemini_tool_may_hold_several_or_none() -> None:
    several = {"functionDeclarations": [{"name": "a"}, {"name": "b", "parameters": GEMINI}]}
    assert [*specs_by_name([several, OTHER])] == ["a", "b", "now"]
    assert [*specs_by_name([{"function_declarations": []}, OTHER])] == ["now"]


@pytest.mark.parametrize(
    ("foreign", "plain"),
    [
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "STRING", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"enum": ["a", None], "nullable": True}, {"enum": ["a", None]}),
        ({"type": "STRING", "nullable": False}, {"type": "string"}),
        ({"type": "NULL", "nullable": True}, {"type": "null"}),
        ({"type": "TYPE_UNSPECIFIED", "title": None}, {}),
        ({"type": ["STRING", "NULL"]}, {"type": ["string", "null"]}),
        (
            {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "1"},
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
        ),
        ({"anyOf": [{"type": "STRING"}, True]}, {"anyOf": [{"type": "string"}, True]}),
        (
            {"properties": {"type": {"type": "STRING"}}},
            {"properties": {"type": {"type": "string"}}},
        ),
        ({"default": None, "enum": None}, {"default": None, "enum": None}),
        ({"default": {"type": "STRING"}}, {"default": {"type": "STRING"}}),
        ({"minLength": "x"}, {"minLength": "x"}),
    ],
)
def test_a_schema_in_capitals_means_the_same(foreign: Any, plain: Any) -> None:
    from callblocks.core.specs import to_json_schema

    assert to_json_schema(foreign) == plain


SILENT: list[dict[str, Any]] = [
    {},
    *({"parameters": silent} for silent in (None, True, False, {}, {"type": "object"})),
    {"parameters": {"type": "object", "properties": None, "required": None}},
    {"input_schema": None},
    {"inputSchema": {"type": "object", "properties": {}}},
]


@pytest.mark.parametrize("said", SILENT)
def test_a_schema_that_says_nothing_is_a_tool_that_takes_nothing(said: dict[str, Any]) -> None:
    (spec,) = read_specs([{"name": "now", "description": None, **said}])
    assert (spec.description, spec.properties, spec.required) == ("", {}, ())


@pytest.mark.parametrize("parameters", [None, False])
def test_a_schema_that_says_nothing_is_fine_everywhere(parameters: bool | None) -> None:
    entry = {"name": "now", "parameters": parameters}
    for dialect in dialects.values():
        if dialect.rules:
            (call,) = parse(dialect.example(entry), dialect, tools=entry).calls
            assert (call.name, call.input) == ("now", {})
            assert "now" in dialect.teach(entry)
            assert dialect.grammar(entry, "gbnf")
    assert not Registry([entry])["now"].check({}).faults


@pytest.mark.parametrize("parameters", [None, True, False, {"properties": None, "required": None}])
def test_a_specification_may_say_nothing_too(parameters: Any) -> None:
    spec = ToolSpec("now", parameters=parameters)
    assert (spec.properties, spec.required) == ({}, ())


BOOLEAN: list[dict[str, Any]] = [
    {"properties": {"x": True}},
    {"properties": {"x": False}},
    {"properties": {"x": True}, "required": ["x"]},
    {"properties": {"x": {"type": "array", "items": True}}, "required": ["x"]},
    {"properties": {"x": {"anyOf": [True, {"type": "string"}]}}, "required": ["x"]},
    {"properties": {"x": {"oneOf": [{"type": "string"}, False]}}, "required": ["x"]},
    {"properties": {"x": {"type": "object", "additionalProperties": True}}, "required": ["x"]},
    {"properties": {"x": {"not": False}}, "required": ["x"]},
    {"properties": {"x": {"$ref": "#/$defs/any"}}, "required": ["x"], "$defs": {"any": True}},
]


UNFIT = [BOOLEAN[1], BOOLEAN[5], BOOLEAN[6]]  # an empty list is nothing, text or an object there


@pytest.mark.parametrize("schema", BOOLEAN)
def test_a_schema_that_is_true_or_false_is_fine_everywhere(schema: dict[str, Any]) -> None:
    # A dialect that has bodies writes lists and objects there.
    entry = {"name": "put", "parameters": schema, "body": "x"}
    registry = Registry([entry])
    for dialect in (dialects[name] for name in dialects if name in LEADERS):
        if dialect.rules:
            (call,) = parse(dialect.example(entry), dialect, tools=entry).calls
            assert call.name == "put"
            assert dialect.teach(entry)
            assert dialect.grammar(entry, "gbnf")
    assert not registry["put"].check({"x": []}).faults or schema in UNFIT


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (5, "tool 1 is 5; a tool is a ToolSpec, a @tool, a typed function, a pydantic model"),
        ("find", "tool 1 is 'find'; a tool is"),
        ({"googleSearch": {}}, "tool 1 is .*googleSearch.*; a tool is"),
        ({"description": "no name"}, "tool 1: .*name"),
        ({"name": "a", "parameters": "x"}, "tool 1: "),
        (SimpleNamespace(spec=5), "tool 1 is .*; a tool is"),
    ],
)
def test_an_entry_that_is_none_of_these_is_named(entry: Any, words: str) -> None:
    takers: list[Callable[[Any], object]] = [
        read_specs,
        specs_by_name,
        Registry,
        lambda tools: parse("", tools=tools),
        dialects["hermes"].teach,
    ]
    for take in takers:
        with pytest.raises(BadSpec, match=words):
            take([OTHER, entry])


def test_a_function_that_is_no_tool_says_what_it_lacks() -> None:
    def untyped(x):
        return x

    with pytest.raises(BadTool, match=r"tool 1: .*untyped is no tool yet: it has no type for `x`"):
        parse("", tools=[OTHER, untyped])
    with pytest.raises(BadTool, match=r"tool 0: .* is no function"):
        parse("", tools=[len])


def test_a_model_that_has_no_schema_is_refused() -> None:
    class Odd(BaseModel, arbitrary_types_allowed=True):
        x: Event

    with pytest.raises(BadTool, match=r"tool 0: .*Odd has no JSON Schema"):
        parse("", tools=[Odd])


def test_a_schema_that_contains_itself_is_refused_in_a_dict_too() -> None:
    schema: dict[str, Any] = {"properties": {}}
    schema["properties"]["inner"] = schema
    with pytest.raises(BadSpec, match="tool 0: its schema contains itself"):
        read_specs([{"name": "a", "parameters": schema}])


def test_a_function_is_read_once_for_many_parsers() -> None:
    assert spec_of(find) is spec_of(find)
    model = _model()
    assert spec_of(model) is spec_of(model)


def test_tools_may_stand_under_their_names() -> None:
    by_name = {"find": find, "now": {"description": "The time."}, "tools": OTHER}
    with pytest.raises(BadSpec, match="tool 2 stands under 'tools', but is named now"):
        read_specs(by_name)
    by_name["tools"] = {"parameters": SCHEMA}
    assert [spec.name for spec in read_specs(by_name)] == ["find", "now", "tools"]
    assert Registry(by_name)["find"].function is find


class Search:
    spec = ToolSpec("search", "Search.", {"properties": {"query": {"type": "string"}}})

    def __call__(self, query: str) -> str:
        return f"found {query}"


class LateSearch(Search):
    async def __call__(self, query: str) -> str:
        return f"found {query}"


@pytest.mark.parametrize("kind", [Search, LateSearch])
def test_a_callable_with_a_spec_is_the_same_tool_for_a_registry_as_for_a_parser(
    kind: type[Search],
) -> None:
    assert read_specs([kind()]) == (Search.spec,)
    found = Registry([kind()])["search"]
    assert (found.spec, found.origin) == (Search.spec, "function")
    said: Any = found(query="x")
    assert (asyncio.run(said) if kind is LateSearch else said) == "found x"
    assert Registry([kind])["search"].function is None


@pytest.mark.parametrize("entry", [Search(), Search, Search.spec, len, {"name": "x"}, 5, None, "x"])
def test_a_registry_takes_and_names_what_a_parser_does(entry: Any) -> None:
    def names(read: Any) -> Any:
        try:
            return [one.name for one in read([entry])]
        except (BadSpec, BadTool) as error:
            return type(error)

    assert names(Registry) == names(read_specs)

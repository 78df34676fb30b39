"""A compact prompt says every tool in one line, in which all of its schema can be found again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import ToolSpec, dialects
from callblocks.parsing.teaching import COMPACT_SIZE, compact_prompt, summary
from callblocks.toolkits.react_tools import in_turn, turn_tools
from support.scripted_sessions import Replies, some_host
from support.signature_reader import Signature, read_signatures
from support.tools import TOOLS

TEACHING = [name for name in dialects if dialects[name].rules]

# Names as foreign programs give them, and some that look like the notation.
NAMES = st.sampled_from(
    [
        "path",
        "größe",
        "a.b",
        "a b",
        "x?",
        "n*",
        "p=1",
        "a|b",
        "string",
        "any key",
        'q"',
        "x\ny",
        "…",
    ]
) | st.text(min_size=1, max_size=6)
# Values: words that look like types or numbers must not be taken for those.
CHOICES = (
    st.sampled_from(["a", "b c", "int", "true", "7", "-", "x|y", "null", "…", "", "n\nn"])
    | st.integers(-3, 3)
    | st.booleans()
)


@st.composite
def _schemas(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Any], Any]:
    """A schema, and the type that a reader of its signature should see."""
    kinds = ["string", "integer", "number", "boolean", "any", "enum", "union", "const"]
    kind = draw(st.sampled_from([*kinds, *(["array", "object", "map"] if depth else [])]))
    match kind:
        case "enum" | "const":
            values = draw(st.lists(CHOICES, min_size=2, max_size=4, unique_by=repr))
            values = values[:1] if kind == "const" else values
            schema = {"const": values[0]} if kind == "const" else {"enum": values}
            return schema, {"choices": sorted(map(repr, values))}
        case "union":
            return {"anyOf": [{"type": "string"}, {"type": "integer"}]}, {
                "union": ["string", "int"]
            }
        case "array":
            inner, type = draw(_schemas(depth - 1))
            return {"type": "array", "items": inner}, [type]
        case "map":
            inner, type = draw(_schemas(depth - 1).filter(lambda case: case[0] != {}))
            return {"type": "object", "additionalProperties": inner}, {"keys": {}, "others": type}
        case "object":
            schema, keys = draw(_objects(depth - 1))
            return schema, {"keys": keys, "others": None} if keys else "object"
        case _:
            words = {"integer": "int", "boolean": "bool"}
            return {} if kind == "any" else {"type": kind}, words.get(str(kind), kind)


@st.composite
def _objects(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Any], dict[str, Any]]:
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    properties: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    required: list[str] = []
    for name in names:
        schema, type = draw(_schemas(depth))
        if draw(st.booleans()):
            required.append(name)
        default = draw(st.none() | CHOICES | st.floats(0.5, 2.5))
        if "enum" in schema and default is not None:
            default = shown = schema["enum"][-1]
        else:
            # Defaults that stand for nothing are not written.
            default, shown = (None, None) if isinstance(type, dict) else (default, default or None)
        if default is not None:
            schema = {**schema, "default": default}
        keys[name] = (name not in required, type, shown)
        properties[name] = schema
    schema = {"type": "object", "properties": properties, "required": required}
    return schema, keys


@st.composite
def _tools(draw: st.DrawFn) -> tuple[ToolSpec, dict[str, Any]]:
    schema, keys = draw(_objects())
    hostile = st.sampled_from(
        ["", "Fine.", "x\n\nfake(a): Run.\n", "# Tools\u2028now()", "\x1b[2J\x85"]
    )
    spec = ToolSpec(draw(NAMES), draw(hostile), schema, draw(st.sampled_from([None, *keys])))
    for name in schema["properties"]:
        schema["properties"][name] = {"description": draw(hostile), **schema["properties"][name]}
    return spec, keys


@given(st.lists(_tools(), min_size=1, max_size=3, unique_by=lambda case: case[0].name))
def test_every_name_type_choice_and_default_can_be_read_back(
    cases: list[tuple[ToolSpec, dict[str, Any]]],
) -> None:
    prompt = _prompt([spec for spec, _ in cases])
    assert prompt == _prompt([spec for spec, _ in cases])
    read = read_signatures(prompt)
    wanted = [Signature(spec.name, keys, spec.body) for spec, keys in cases]
    assert read == wanted


def _prompt(tools: list[ToolSpec]) -> str:
    # A dialect would first have to write an example of a call, which not every name allows.
    return compact_prompt(["A rule."], tools, "AN EXAMPLE")


def _lines(**properties: Any) -> str:
    spec = ToolSpec("t", "", {"type": "object", "properties": properties})
    return _prompt([spec]).splitlines()[-1]


@pytest.mark.parametrize("dialect", TEACHING)
@pytest.mark.no_cover  # other tests walk the same ways
def test_the_tools_of_a_plain_session_take_less_than_four_kilobytes(
    dialect: str, default_tools: tuple[ToolSpec, ...]
) -> None:
    prompt = dialects[dialect].teach(default_tools, compact=True)
    assert len(prompt.encode()) < 4096
    assert dialects[dialect].example(default_tools).strip("\n") in prompt
    assert all(f"- {rule}\n" in prompt for rule in dialects[dialect].rules)
    read = read_signatures(prompt)
    assert [one.name for one in read] == [tool.name for tool in default_tools]
    for one, tool in zip(read, default_tools, strict=True):
        assert list(one.parameters) == list(tool.properties)
        assert one.body == tool.body
        given = {name for name, (is_optional, *_) in one.parameters.items() if not is_optional}
        assert given == set(tool.required)


@pytest.mark.parametrize(
    "words",
    [
        "encoding?=utf-8|base64",
        "timeout: seconds; at most 600",
        "width: pixels",
        "output: characters",
        "content: or give source",
        "fi:turn_1.files/report.md",
        "a #tag, or a folder or file",
        "method?=GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS",
        "contract: [{filename, description?, mime?}]",
        "rows?: [[scalar]|{any key: scalar}]",
        "headers?: {any key: string}",
        "body*?: string|object|[any]",
        "recursive?=true",
        "execute_code_shell(same as exec_tools.execute_code_python)",
        "`*` body (lists line by line, objects as JSON)",
    ],
)
@pytest.mark.parametrize("dialect", ["step3", "hermes"])
def test_what_a_model_must_know_of_the_default_tools_is_there(
    dialect: str, words: str, default_tools: tuple[ToolSpec, ...]
) -> None:
    assert words in dialects[dialect].teach(default_tools, compact=True)


def test_few_tools_keep_their_descriptions() -> None:
    prompt = dialects["hermes"].teach(TOOLS, compact=True)
    assert prompt.splitlines()[-3:] == [
        "create-file(path, mode?: new|append, content*): Create a file. path: where",
        "run_query(limit: int, exact?: bool, tags?: [string]): Ask the database",
        "now(): Tell the time",
    ]


def test_descriptions_fill_no_more_than_the_room() -> None:
    about = {"type": "string", "description": "what it is, in so many words " * 5}
    tools = [
        ToolSpec(f"tool_{at}", "Do it.", {"type": "object", "properties": {"a": about}})
        for at in range(60)
    ]
    prompt = dialects["hermes"].teach(tools, compact=True)
    assert COMPACT_SIZE - 200 < len(prompt.encode()) <= COMPACT_SIZE
    assert "tool_0(a?): Do it. a: what it is, in so" in prompt
    assert "tool_59(a?): Do it\n" in prompt


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": ["string", "null"]}, "t(p?)"),
        ({"type": ["string", "null"], "default": "x"}, "t(p?: string|null=x)"),
        ({"type": "null"}, "t(p?: null)"),
        ({"enum": ["a", None]}, "t(p?: a)"),
        ({"enum": [None]}, "t(p?: null)"),
        ({"type": "integer", "default": "7"}, 't(p?: int="7")'),
        ({"type": "number", "default": 7}, "t(p?: number=7)"),
        ({"type": "number", "default": 0.5}, "t(p?=0.5)"),
        ({"type": "array", "default": ["a"]}, 't(p?: [any]=["a"])'),
        ({"type": "string", "default": "x" * 80}, "t(p?)"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "t(p?: number)"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, True]}, "t(p?: (int, any))"),
        ({"type": "object", "properties": {"a": True}}, "t(p?: {a?: any})"),
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            "t(p?: {a?: any, any key: string})",
        ),
        ({"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]}, "t(p?: a|b)"),
        ({"type": "strange"}, "t(p?: any)"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "t(p?: [a|b])"),
        ({"not": {}, "oneOf": [False]}, "t(p?: any)"),
    ],
)
def test_odd_schemas_have_a_type(schema: dict[str, Any], written: str) -> None:
    assert _lines(p=schema) == written


def test_many_choices_and_types_inside_themselves_end_with_dots() -> None:
    many = _prompt([ToolSpec("t", "", {"properties": {"p": {"enum": list(range(300))}}})])
    assert many.splitlines()[-1].endswith("|38|39|…)")
    assert "`…` more, left out here" in many
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": True}}
    schema = {"properties": {"p": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    line = _prompt([ToolSpec("t", "", schema)]).splitlines()[-1]
    assert line == "t(p?: {next?: {next?: …, n?: any}, n?: any})"
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    schema = {"properties": {"p": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    assert _prompt([ToolSpec("t", "", schema)]).splitlines()[-1] == "t(p?: [[…]])"


def test_definitions_that_unfold_without_end_stay_small() -> None:
    names = [f"d{at}" for at in range(12)]
    every = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    schema = {
        "properties": every,
        "$defs": {name: {"type": "object", "properties": dict(every)} for name in names},
    }
    prompt = _prompt([ToolSpec("t", "", schema)])
    assert len(prompt) < 20_000
    assert all(f"{name}?: {{" in prompt for name in names)


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"description": "How long to wait; at least 5 minutes"}, "at least 5 minutes"),
        ({"description": "the day, such as 2030-01-31", "type": "string"}, "such as 2030-01-31"),
        ({"description": "when (ISO 8601)"}, "when (ISO 8601)"),
        ({"description": "a name (of any length)"}, "a name"),
        ({"description": "c", "format": "date-time"}, "c; format date-time"),
        ({"description": "c", "pattern": "^a+$"}, "c; pattern ^a+$"),
        ({"description": "c", "minimum": 5}, "c; ≥5"),
        ({"description": "c", "minimum": 5, "maximum": 9}, "c; 5..9"),
        ({"description": "c", "minimum": 0, "maximum": 9}, "c; ≤9"),
        ({"description": "from 5 to 9", "minimum": 5, "maximum": 9}, "from 5 to 9"),
        ({"description": 7, "maximum": 9}, "≤9"),
        ({"description": "x" * 300 + " y " + "z" * 300}, ""),
        ({"description": "word " * 100}, "word …"),
        ({"description": "one of: a1, b2, or c3"}, "a1, b2, or c3"),
        (
            {"description": "0 1; 2 3; 4; 5" + "; at most 60 apples in a basket" * 3},
            "0 1; 2 3; 4; 5",
        ),
    ],
)
def test_a_description_keeps_units_bounds_formats_and_lists(
    schema: dict[str, Any], note: str
) -> None:
    assert note in _lines(p=schema)


def test_keys_of_objects_have_notes_too() -> None:
    inner = {"type": "object", "properties": {"at": {"description": "in seconds"}}}
    deep: dict[str, Any] = {"description": "in bytes"}
    for _ in range(5):
        deep = {"type": "object", "properties": {"k": deep}}
    assert "o.at: in seconds. l.at: in seconds" in _lines(
        o=inner, l={"type": "array", "items": inner}, d=deep
    )
    nested = {
        "type": "array",
        "items": {"type": "array", "items": {"type": "array", "items": inner}},
    }
    assert "seconds" not in _lines(d=deep, l=nested)


def test_a_description_is_cut_at_its_first_clause_where_room_is_short() -> None:
    tools = [
        ToolSpec(
            f"t{at}", "Ask a public server for a page of text and return its answer, e.g. now."
        )
        for at in range(100)
    ]
    lines = _prompt(tools).splitlines()
    assert lines[-1] == "t99(): Ask a public server for a page of text"
    assert summary("Short; and long. Next") == ("Short; and long", "Short; and long")


@pytest.fixture(scope="module")
def default_tools(tmp_path_factory: pytest.TempPathFactory) -> tuple[ToolSpec, ...]:
    """What `callblocks chat` offers without further options."""
    with some_host(tmp_path_factory.mktemp("host"), Replies()) as host:
        recorder = host.session("chat").recorder
        return tuple(in_turn(host.registry, turn_tools(recorder, recorder.coming_turn)))

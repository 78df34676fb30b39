"""What a dialect cannot say is refused, with the value and the reason."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from callblocks import Call, Result, ToolSpec, dialects, parse
from callblocks.core.calls import Item
from callblocks.core.errors import Unwritable
from callblocks.parser import AUTO
from support.example_counts import LEADERS

FIRST = "tool-call-1"  # what a dialect without ids gives the first call
EMOJI = ("emoji-bracket", "emoji-bracket+")
each = pytest.mark.parametrize("dialect", dialects)


def call(**given: Any) -> Call:
    return Call(**{"id": "a", "name": "search", "input": {"args": "", "body": ""}} | given)


# Making it and letting go of it takes longer than all that is done with it.
@cache
def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@each
def test_nothing_but_what_is_given_is_written(dialect: str) -> None:
    assert parse(dialects[dialect].write([]), dialect).events in ([], parse("[]\n\n✂️🐱\n\n").events)
    assert parse(dialects[dialect].write(["prose"]), dialect).text == "prose"


@pytest.mark.parametrize("dialect", [*EMOJI, "tool-fence", "chat-blocks"])
@pytest.mark.parametrize(
    "result",
    [Result(id=FIRST, output="three"), Result(id=FIRST, output=""), Result(id=FIRST, error="none")],
    ids=["text", "nothing", "error"],
)
def test_a_result_is_written_and_read_again(dialect: str, result: Result) -> None:
    written = dialects[dialect].write(["Look. ", call(id=FIRST), result])
    assert parse(written, dialect).results == [result]


@pytest.mark.parametrize("dialect", [*EMOJI, "tool-fence"])
def test_a_result_that_is_no_text_keeps_its_type(dialect: str) -> None:
    result = Result(id=FIRST, output={"rows": [1, None, "two"]})
    assert parse(dialects[dialect].write([call(id=FIRST), result]), dialect).results == [result]


def test_a_name_that_is_no_word_stands_in_the_body_of_a_fence() -> None:
    written = dialects["tool-fence"].write([call(name="look up", id="a b")])
    assert "toolName: look up\ntoolCallId: a b" in written
    assert parse(written, "tool-fence").calls[0].id == "a b"


def test_the_table_of_dialects_says_what_is_in_it() -> None:
    assert repr(dialects) == f"dialects({', '.join(dialects)})"


@each
def test_the_result_of_a_call_that_is_not_here_is_refused(dialect: str) -> None:
    with pytest.raises(Unwritable, match="result"):
        dialects[dialect].write([call(), Result(id="b", output="x")])


@pytest.mark.parametrize("dialect", [name for name in dialects if name != "chat-blocks"])
@pytest.mark.parametrize(
    "value",
    [object(), {1}, b"x", deep(2000), 10**5000],
    ids=["object", "set", "bytes", "deep", "long"],
)
def test_an_input_that_is_not_json_like_is_refused(dialect: str, value: Any) -> None:
    given: dict[str, Any] = {"args": "", "body": value} if dialect in EMOJI else {"x": value}
    with pytest.raises(Unwritable) as caught:
        dialects[dialect].write([call(input=given)])
    assert caught.value.dialect == dialect
    assert len(caught.value.what) < 400


@pytest.mark.parametrize("dialect", [*EMOJI, "tool-fence"])
@pytest.mark.parametrize("value", [object(), {None: 3}, deep(2000)], ids=["object", "key", "deep"])
def test_a_result_that_is_not_json_like_is_refused(dialect: str, value: Any) -> None:
    with pytest.raises(Unwritable):
        dialects[dialect].write([call(), Result(id="a", output=value)])


@pytest.mark.parametrize("dialect", [*EMOJI, "scissors-cat"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_say_is_refused(dialect: str, value: float) -> None:
    items: list[Item] = [call(), Result(id="a", output=[value])]
    with pytest.raises(Unwritable):
        dialects[dialect].write([call(input={"x": value})] if dialect == "scissors-cat" else items)


def test_yaml_can_say_every_number() -> None:
    text = dialects["tool-fence"].write([call(input={"x": [math.nan, math.inf, -math.inf]})])
    (nan, *infinities) = parse(text, "tool-fence").calls[0].input["x"]
    assert math.isnan(nan)
    assert infinities == [math.inf, -math.inf]


@pytest.mark.parametrize("dialect", EMOJI)
@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"name": "a]b"}, "`]` or a line end in the head"),
        ({"name": "a\nb"}, "`]` or a line end in the head"),
        ({"name": "a b"}, "it would be read as a"),
        ({"name": ""}, "it would"),
        ({"name": "/end"}, "it would"),
        ({"input": {"args": "a]", "body": ""}}, "`]` or a line end in the head"),
        ({"input": {"q": 1}}, "`tools` must name it, so that its parameters have an order"),
        ({"input": {"args": 1, "body": ""}}, "the input"),
        ({"extra": {"priority": 1}}, "it would be read without its 'priority'"),
    ],
)
def test_a_head_that_says_something_else_is_refused(
    dialect: str, given: dict[str, Any], what: str
) -> None:
    with pytest.raises(Unwritable, match=what):
        dialects[dialect].write([call(**given)])


def test_an_input_that_does_not_fit_the_tool_is_refused_without_that_hint() -> None:
    tool = ToolSpec("search", parameters={"properties": {"q": {"type": "string"}}})
    with pytest.raises(Unwritable) as caught:
        dialects["emoji-bracket"].write([call(input={"r": 1})], [tool])
    assert "give `tools`" not in str(caught.value)


def test_a_type_outside_the_catalogue_needs_its_tool() -> None:
    weigh = call(name="weigh", input={})
    with pytest.raises(Unwritable, match="'weigh': it is not in the catalogue nor in `tools`"):
        dialects["scissors-cat"].write([weigh])
    assert dialects["scissors-cat"].write([weigh], [ToolSpec("weigh")])


def test_scissors_cat_has_no_form_for_results() -> None:
    with pytest.raises(Unwritable, match="results: it has no form for that of 'a'"):
        dialects["scissors-cat"].write([call(input={}), Result(id="a", output=1)])


@pytest.mark.parametrize("dialect", ["tool-fence", "scissors-cat"])
def test_a_call_that_did_not_end_cannot_be_said_where_each_has_its_end(dialect: str) -> None:
    with pytest.raises(Unwritable, match="the call 'a' of 'search'"):
        dialects[dialect].write([call(ended=False)])


@pytest.mark.parametrize("dialect", EMOJI)
def test_a_call_that_did_not_end_is_written_without_its_end_where_nothing_follows(
    dialect: str,
) -> None:
    text = dialects[dialect].write(["prose", call(ended=False)])
    assert [call.ended for call in parse(text, dialect).calls] == [False]
    with pytest.raises(Unwritable):
        dialects[dialect].write([call(ended=False), "prose"])


def written(dialect: str, items: list[Item]) -> str | None:
    try:
        return dialects[dialect].write(items)
    except Unwritable:
        return None


@pytest.mark.parametrize("dialect", sorted(LEADERS - {AUTO}))
@pytest.mark.parametrize("levels", [100, 200, 600, 900, 2000, 100_000])
def test_no_depth_is_too_deep_to_be_refused(dialect: str, levels: int) -> None:
    said = [
        written(dialect, [call(input={"x": deep(levels)})]),
        written(dialect, [call(), Result(id="a", output=deep(levels))]),
    ]
    assert all(text is None or parse(text, dialect).events for text in said)


@pytest.mark.parametrize(
    ("dialect", "prose"),
    [
        ("tool-fence", "```tool ls a\n```\n"),
        ("tool-fence", "```\nopen "),
        *((name, "🛠️[ls]🛠️[/end]") for name in EMOJI),
        *((name, "🛠️[") for name in EMOJI),
    ],
)
def test_prose_that_would_be_read_as_something_else_is_refused(dialect: str, prose: str) -> None:
    with pytest.raises(Unwritable):
        dialects[dialect].write([prose, call()])


@pytest.mark.parametrize("dialect", ["lfm2", "pythonic", "olmo3"])
def test_a_name_that_is_none_in_python_is_refused(dialect: str) -> None:
    with pytest.raises(Unwritable, match="the name 'a b!'"):
        dialects[dialect].write([call(name="a b!", input={})])


def test_objects_in_objects_are_elements_in_elements() -> None:
    schema = {"properties": {"a": {"type": "object"}}}
    tool, given = ToolSpec("search", parameters=schema), {"a": {"b": {"c": "x"}, "d": ["y"]}}
    text = dialects["minimax_m3"].write([call(input=given)], [tool])
    assert parse(text, "minimax_m3", tools=[tool]).calls[0].input == given


RUN = ToolSpec(
    "run",
    parameters={
        "properties": {
            "path": {"type": "string"},
            "rows": {"type": "array", "items": {"type": "array"}},
            "code": {"type": "string"},
        },
        "required": ["path", "code"],
    },
    body="code",
)


@pytest.mark.parametrize("dialect", EMOJI)
@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"path": "a", "rows": []}, "🛠️[run a '']\nx🛠️[/end]"),
        ({"path": "a]"}, '🛠️[run]\n{"path": "a]", "code": "x"}\n🛠️[/end]'),
        ({"path": "a\nb"}, '🛠️[run]\n{"path": "a\\nb", "code": "x"}\n🛠️[/end]'),
        (
            {"path": "a", "rows": [[1]]},
            '🛠️[run]\n{"path": "a", "rows": [[1]], "code": "x"}\n🛠️[/end]',
        ),
    ],
)
def test_what_a_head_cannot_hold_is_written_as_the_whole_input_in_the_body(
    dialect: str, given: dict[str, Any], written: str
) -> None:
    made = call(id=FIRST, name="run", input={**given, "code": "x"})
    assert dialects[dialect].write([made], [RUN]) == written
    assert parse(written, dialect, tools=[RUN]).calls[0].input == made.input

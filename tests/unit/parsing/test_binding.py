"""Words and a body become parameters, and parameters become words and a body again."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import ToolSpec
from callblocks.core.json_values import same
from callblocks.parsing.values.binding import (
    Bound,
    bind,
    may_be_whole,
    split_words,
    unbind,
    unbind_whole,
)
from support.items import TYPES

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
WRITE = ToolSpec("write", parameters={"properties": {"path": STRING, "text": STRING}}, body="text")
SAY = ToolSpec("say", parameters={"properties": {"times": INTEGER, "text": STRING}})
READ = ToolSpec(
    "read",
    parameters={
        "properties": {"depth": INTEGER, "paths": {"type": "array", "items": STRING}},
        "required": ["paths"],
    },
    body="paths",
)
PUT = ToolSpec(
    "put",
    parameters={
        "properties": {"range": STRING, "values": {"type": "array", "items": {"type": "array"}}},
        "required": ["values"],
    },
    body="values",
)
FILE = {"type": "object", "properties": {"name": STRING, "mime": STRING}, "required": ["name"]}
RUN = ToolSpec(
    "run",
    parameters={
        "properties": {"code": STRING, "files": {"type": "array", "items": {"$ref": "#/$defs/F"}}},
        "required": ["code", "files"],
        "$defs": {"F": FILE},
    },
    body="code",
)
TAG = ToolSpec(
    "tag",
    parameters={
        "properties": {
            "path": STRING,
            "labels": {"type": "array", "items": STRING},
            "more": {"type": "object"},
        },
        "required": ["path"],
    },
)
COUNT = ToolSpec("count", parameters={"properties": {"from": INTEGER, "to": INTEGER}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("'a b' c", ["a b", "c"]),
        ('"a\\"b" \\ c', ['a"b', " c"]),
        ("it's a", ["it's", "a"]),
        ("a\xa0b", ["a\xa0b"]),
        ("", []),
        (" \t", []),
        ("''", [""]),
    ],
)
def test_words_are_split_as_a_shell_would_and_an_open_quote_is_a_letter(
    text: str, words: list[str]
) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_long_word_in_quotes_is_taken_at_once(quote: str) -> None:
    def calls(size: int) -> int:
        seen: list[str] = []
        sys.setprofile(lambda _frame, event, _argument: seen.append(event))
        try:
            split_words(quote + "a" * size + quote)
        finally:
            sys.setprofile(None)
        return len(seen)

    assert calls(1000) == calls(10)


@given(st.text(st.sampled_from("ab'\"\\ \t\r\n=#;\v\xa0\u2028"), max_size=12))
def test_words_are_those_of_shlex(text: str) -> None:
    try:
        words = shlex.split(text)
    except ValueError:
        words = re.findall(r"[^ \t\r\n]+", text)
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("tool", "args", "body", "value"),
    [
        (WRITE, "a.txt", "x\n", {"path": "a.txt", "text": "x\n"}),
        (WRITE, "a.txt", "", {"path": "a.txt"}),
        (SAY, "2", "hi", {"times": 2, "text": "hi"}),
        (SAY, "2 hi", "", {"times": 2, "text": "hi"}),
        (SAY, "2 hi", " \n", {"times": 2, "text": "hi"}),
        (SAY, "2 hi", "there", None),
        (SAY, "2 hi there", "", None),
        (
            PUT,
            "A1:B2",
            '[[1, "]"],\n [null, true]]\n',
            {"range": "A1:B2", "values": [[1, "]"], [None, True]]},
        ),
        (PUT, "", "[]", {"values": []}),
        (PUT, "A1 B1", "[]", None),
        (COUNT, "1 2", "", {"from": 1, "to": 2}),
        (COUNT, "1 2", "body", None),
        (COUNT, "", "", {}),
    ],
)
def test_words_go_to_parameters_in_order_and_the_body_to_its_own(
    tool: ToolSpec, args: str, body: str, value: dict[str, Any] | None
) -> None:
    assert bind(args, body, tool) == Bound(value)


def test_a_required_body_may_be_empty_where_it_is_marked() -> None:
    schema = {"properties": {"text": STRING}, "required": ["text"]}
    assert bind("", "", ToolSpec("w", parameters=schema, body="text")) == Bound({"text": ""})
    assert bind("", "", ToolSpec("w", parameters=schema)) == Bound({})


def test_a_word_that_does_not_fit_its_parameter_stays_text_and_is_told() -> None:
    assert bind("one 2", "", COUNT) == Bound({"from": "one", "to": 2}, ("from",))


def test_a_schema_may_be_true_or_false() -> None:
    tool = ToolSpec("t", parameters={"properties": {"a": True, "b": False}})
    assert bind("x y", "", tool) == Bound({"a": "x", "b": "y"})
    assert bind("x", "body", tool) == Bound(None)


@pytest.mark.parametrize(
    "value",
    [
        {"unknown": 1},
        {"from": 1, "to": 2, "step": 3},
    ],
)
def test_an_input_that_no_words_would_give_is_not_unbound(value: dict[str, Any]) -> None:
    assert unbind(value, COUNT) is None


@pytest.mark.parametrize(
    ("tool", "args", "body", "bound"),
    [
        (WRITE, "path=a.txt", "x", Bound({"path": "a.txt", "text": "x"}, (), ("path",))),
        (WRITE, "text='a b' c.txt", "", Bound({"path": "c.txt", "text": "a b"}, (), ("text",))),
        (WRITE, "text='' c.txt", "", Bound({"path": "c.txt", "text": ""}, (), ("text",))),
        (WRITE, "text=a", "b", Bound(None)),
        (SAY, "times=2", "hi", Bound({"times": 2, "text": "hi"}, (), ("times",))),
        (SAY, "hi times=2", "", Bound({"times": 2, "text": "hi"}, (), ("times",))),
        (SAY, "text=hi times=2", "", Bound({"times": 2, "text": "hi"}, (), ("text", "times"))),
        (SAY, "times=two", "", Bound({"times": "two"}, ("times",), ("times",))),
        (SAY, "times=1 times=2", "", Bound(None)),
        (SAY, "1 volume=2", "", Bound({"times": 1, "text": "volume=2"})),
        (SAY, "1 =2", "", Bound({"times": 1, "text": "=2"})),
        (SAY, "text=text=2", "", Bound({"text": "text=2"}, (), ("text",))),
        (COUNT, "to=2", "", Bound({"to": 2}, (), ("to",))),
        (COUNT, "2 from=1 3", "", Bound(None)),
        (READ, "paths=a 1 b", "c", Bound({"depth": 1, "paths": ["a", "b", "c"]}, (), ("paths",))),
        (READ, "paths=", "", Bound({"paths": []}, (), ("paths",))),
        (PUT, "values={} A1", "", Bound({"range": "A1", "values": "{}"}, ("values",), ("values",))),
        (PUT, "values={} A1", "[]", Bound(None)),
    ],
)
def test_a_word_that_names_a_parameter_goes_to_it_and_the_others_by_place(
    tool: ToolSpec, args: str, body: str, bound: Bound
) -> None:
    assert bind(args, body, tool) == bound


def test_an_optional_list_that_is_named_is_given_even_if_empty() -> None:
    schema = {"properties": {"paths": {"type": "array", "items": STRING}}}
    tool = ToolSpec("read", parameters=schema, body="paths")
    assert bind("paths=", "", tool) == Bound({"paths": []}, (), ("paths",))


@pytest.mark.parametrize(
    ("tool", "value", "args"),
    [
        (COUNT, {"to": 2}, "to=2"),
        (SAY, {"times": 1, "text": "times=2"}, "1 text=times=2"),
        (SAY, {"times": 1, "text": "times=a b"}, "1 text='times=a b'"),
        (SAY, {"times": 1, "text": "volume=2"}, "1 volume=2"),
        (WRITE, {"path": "text=", "text": ""}, "path=text="),
    ],
)
def test_a_value_is_written_by_its_name_after_a_gap_or_where_it_looks_named(
    tool: ToolSpec, value: dict[str, Any], args: str
) -> None:
    assert unbind(value, tool) == (args, "")


def test_a_body_that_is_no_text_is_not_unbound() -> None:
    assert unbind({"path": "a", "text": 5}, WRITE) is None


@pytest.mark.parametrize(
    ("args", "body", "paths"),
    [
        ("1", "a.md\n", ["a.md"]),
        ("1", " a.md\r\n\n b c.md", ["a.md", "b c.md"]),
        ("1", '["a.md",\n "b\\nc"]\n', ["a.md", "b\nc"]),
        ("1", "[1]\n[x", ["[1]", "[x"]),
        ("1 a.md 'b c.md'", "", ["a.md", "b c.md"]),
        ("1 a.md", "b.md\n", ["a.md", "b.md"]),
        ("1", "", []),
        ("1", "[]", []),
    ],
)
def test_a_body_for_a_list_of_strings_has_one_on_each_line_and_takes_the_words_left(
    args: str, body: str, paths: list[str]
) -> None:
    assert bind(args, body, READ) == Bound({"depth": 1, "paths": paths})


def test_a_list_of_strings_that_need_not_be_given_is_not_made_of_nothing() -> None:
    schema = {"properties": {"paths": {"type": "array", "items": STRING}}}
    assert bind("", " \n", ToolSpec("read", parameters=schema, body="paths")) == Bound({})


@pytest.mark.parametrize(
    ("paths", "body"),
    [
        (["a.md", "so:sources_pool[1-3]"], "a.md\nso:sources_pool[1-3]\n"),
        ([], "[]\n"),
        (["a\nb"], '["a\\nb"]\n'),
        ([" a", ""], '[" a", ""]\n'),
        (["[]"], '["[]"]\n'),
    ],
)
def test_a_list_of_strings_is_written_in_lines_or_else_as_json(paths: list[str], body: str) -> None:
    assert unbind({"depth": 1, "paths": paths}, READ) == ("1", body)
    assert bind("1", body, READ) == Bound({"depth": 1, "paths": paths})


@pytest.mark.parametrize("paths", [5, [5], "a.md", None])
def test_what_is_no_list_of_strings_is_not_unbound(paths: Any) -> None:
    assert unbind({"depth": 1, "paths": paths}, READ) is None


@st.composite
def calls(draw: st.DrawFn) -> tuple[ToolSpec, dict[str, Any]]:
    kinds = draw(st.lists(st.sampled_from(list(TYPES)), max_size=4))
    tool = ToolSpec(
        "t", parameters={"properties": {f"p{at}": {"type": kind} for at, kind in enumerate(kinds)}}
    )
    given_ = [name for name in tool.properties if draw(st.integers(0, 3))]
    return tool, {name: draw(TYPES[tool.properties[name]["type"]]) for name in given_}


@given(calls())
def test_what_is_unbound_binds_to_the_same_input(case: tuple[ToolSpec, dict[str, Any]]) -> None:
    tool, value = case
    said = unbind(value, tool)
    if said is not None:
        found, misfits, _ = bind(*said, tool)
        lost = {name for name in value if value[name] == ""} - (found or {}).keys()
        assert same(found, {name: value[name] for name in value if name not in lost})
        assert misfits == ()


def test_a_body_that_is_no_json_stays_text_and_is_told() -> None:
    assert bind("A1", "1, 2\n", PUT) == Bound({"range": "A1", "values": "1, 2\n"}, ("values",))
    assert bind("A1", "", PUT) == Bound({"range": "A1", "values": ""}, ("values",))
    assert unbind({"range": "A1", "values": "1, 2\n"}, PUT) == ("A1", "1, 2\n")


def test_a_body_of_json_that_need_not_be_given_may_be_left_out() -> None:
    optional = ToolSpec("put", parameters={"properties": PUT.properties}, body="values")
    assert bind("A1", "", optional) == Bound({"range": "A1"})
    assert unbind({"range": "A1"}, optional) == ("A1", "")


@given(st.lists(st.lists(st.none() | st.booleans() | st.integers() | st.text())))
def test_a_list_of_lists_is_written_and_read_again(values: list[list[Any]]) -> None:
    said = unbind({"range": "A1", "values": values}, PUT)
    assert said is not None
    assert bind(*said, PUT) == Bound({"range": "A1", "values": values})


@pytest.mark.parametrize(
    ("word", "labels"),
    [
        ("red", ["red"]),
        ("'dark red'", ["dark red"]),
        ("1", ["1"]),
        ("''", []),
        ("""'"red", "a]b"'""", ["red", "a]b"]),
        ("""'["red", "green"]'""", ["red", "green"]),
    ],
)
def test_a_list_is_given_by_a_word_without_brackets(word: str, labels: list[str]) -> None:
    assert bind(f"a.md {word}", "", TAG) == Bound({"path": "a.md", "labels": labels})


@pytest.mark.parametrize("word", ["a,b", "a;b", "'[a'", "'{\"a\"'", "it's", "'\"a\" b'"])
def test_a_word_that_may_be_several_elements_or_broken_json_is_not_guessed_at(word: str) -> None:
    (text,) = split_words(word)
    assert bind(f"a.md {word}", "", TAG) == Bound({"path": "a.md", "labels": text}, ("labels",))


@pytest.mark.parametrize(
    ("word", "files"),
    [
        ("a.csv", [{"name": "a.csv"}]),
        ("""'"a.csv", "b.csv"'""", [{"name": "a.csv"}, {"name": "b.csv"}]),
        ("""'{"name": "a.csv", "mime": "text/csv"}'""", [{"name": "a.csv", "mime": "text/csv"}]),
        ("""'{"name": "a"}, "b"'""", [{"name": "a"}, {"name": "b"}]),
        ("""'["a", "b"]'""", [{"name": "a"}, {"name": "b"}]),
    ],
)
def test_a_string_stands_for_the_one_member_that_an_element_needs(
    word: str, files: list[dict[str, str]]
) -> None:
    assert bind(word, "x = 1\n", RUN) == Bound({"files": files, "code": "x = 1\n"})


def test_a_body_goes_to_a_list_or_an_object_where_no_text_is_left_to_give() -> None:
    assert bind("a.md", '["red"]\n', TAG) == Bound({"path": "a.md", "labels": ["red"]})
    assert bind("a.md", '{"a": [1]}\n', TAG) == Bound({"path": "a.md", "more": {"a": [1]}})
    assert bind("a.md", "red\n", TAG) == Bound(None)
    given_ = Bound({"code": "1", "files": [{"name": "a"}]}, (), ("code",))
    assert bind("code=1", '[{"name": "a"}]', RUN) == given_
    assert bind("code=1", '["a"]', RUN) == given_
    assert bind("code=1", "[1]", RUN) == Bound(None)


def test_a_body_alone_may_be_the_whole_input_if_it_would_leave_out_what_is_required() -> None:
    whole = {"code": "x = [1]", "files": [{"name": "a"}]}
    assert bind("", '{"code": "x = [1]", "files": [{"name": "a"}]}\n', RUN) == Bound(whole)
    assert bind("a", '{"code": "", "files": []}', RUN).value == {
        "files": [{"name": "a"}],
        "code": '{"code": "", "files": []}',
    }


@pytest.mark.parametrize(
    "body",
    [
        '{"code": "x"}',
        '{"code": "x", "files": [], "more": 1}',
        "{x}",
        '["a"]',
        '{"code": 1, "code": 2}',
    ],
)
def test_a_body_that_is_not_the_whole_input_is_the_body(body: str) -> None:
    assert bind("", body, RUN) == Bound({"code": body})


def test_json_that_is_the_only_text_of_a_tool_stays_text() -> None:
    text = '{"text": "x", "path": "y"}'
    assert bind("", text, WRITE) == Bound({"text": text})


def test_a_list_is_written_without_brackets_where_it_reads_back_so() -> None:
    assert unbind({"path": "a", "labels": ["it's", "b]"]}, TAG) == (
        'a \'"it\\u0027s", "b\\u005d"\'',
        "",
    )
    assert unbind({"path": "a", "labels": []}, TAG) == ("a ''", "")
    assert unbind({"code": "1", "files": [{"name": "a"}]}, RUN) == ("""'{"name": "a"}'""", "1")
    assert unbind({"code": "1", "files": [1]}, RUN) == ("'[1]'", "1")


def test_an_input_is_written_as_a_whole_only_where_it_is_read_as_one() -> None:
    value = {"path": "a", "more": {"a": [1]}}
    assert unbind_whole(value, TAG) is None
    assert unbind_whole({"code": "]", "files": [{"name": "]"}]}, RUN) == (
        '{"code": "]", "files": [{"name": "]"}]}\n'
    )


def test_a_body_may_be_the_whole_input_where_it_is_not_enough_alone() -> None:
    assert [may_be_whole(tool) for tool in (RUN, READ, PUT, TAG, WRITE)] == [True, *[False] * 4]

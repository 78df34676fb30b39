"""A code fence whose whole body is calls of declared tools is those calls; any other is prose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import Parser, ToolSpec, dialects, parse
from callblocks.core.calls import Call
from callblocks.parsing.dialect import Parsed
from support.event_verifier import verify
from support.text_pieces import alike, cut, read

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["city"]}
TOOLS = (ToolSpec("get_weather", "", SCHEMA), ToolSpec("now", "", {"properties": {}}))
OSLO: dict[str, Any] = {"name": "get_weather", "arguments": {"city": "Oslo"}}
TEXT = json.dumps(OSLO)
FENCED = f"Sure.\n```json\n{TEXT}\n```\nDone."
# They need a place of their own, show no arguments by name, or are not guessed.
APART = ("tool-fence", "scissors-cat", "chat-blocks")
WRITTEN = [name for name in dialects if name not in APART and dialects[name].in_auto]


def fenced(body: str, run: str = "```") -> str:
    return f"A.\n{run}\n{body}\n{run}\nB."


def test_auto_reads_it_and_the_lines_of_the_fence_belong_to_the_call() -> None:
    parsed = parse(FENCED, tools=TOOLS)
    assert parsed.text == "Sure.\nDone."
    (call,) = parsed.calls
    assert (call.name, call.input) == ("get_weather", {"city": "Oslo"})
    assert FENCED[slice(*call.span)] == f"```json\n{TEXT}\n```\n"


def test_a_list_of_dialects_reads_it_where_asked_for() -> None:
    some = ["hermes", "qwen3_coder"]
    assert len(parse(FENCED, some, tools=TOOLS, in_code_fences="whole").calls) == 1
    assert parse(FENCED, some, tools=TOOLS, in_code_fences=False).calls == []
    one = parse(FENCED, "hermes", tools=TOOLS, in_code_fences="whole")
    assert one.text == "Sure.\nDone."


def test_it_is_prose_where_the_caller_says_so_and_where_no_tool_is_declared() -> None:
    assert parse(FENCED, tools=TOOLS, in_code_fences=False).text == FENCED
    assert parse(FENCED).text == FENCED


def test_a_fence_that_is_read_anywhere_leaves_its_lines_in_the_prose() -> None:
    parsed = parse(FENCED, tools=TOOLS, in_code_fences=True)
    assert len(parsed.calls) == 1
    assert parsed.text == "Sure.\n```json\n```\nDone."


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_fence_around_what_a_dialect_writes_is_a_call(name: str) -> None:
    call = Call(id="c1", name="get_weather", input={"city": "Oslo"})
    body = dialects[name].write([call], TOOLS)
    calls = parse(fenced(body.strip("\n"), "````"), tools=TOOLS).calls
    assert [(one.name, one.input) for one in calls] == [("get_weather", {"city": "Oslo"})]


@given(
    st.dictionaries(
        st.sampled_from(["city", "days", "other"]), st.text(max_size=3) | st.integers() | st.none()
    )
)
def test_only_arguments_that_fit_make_a_call(given: dict[str, Any]) -> None:
    text = fenced(json.dumps({"name": "get_weather", "arguments": given}))
    city, days = given.get("city"), given.get("days", 1)
    parsed = parse(text, tools=TOOLS)
    if isinstance(city, str) and isinstance(days, int) and "other" not in given:
        assert [call.input for call in parsed.calls] == [given]
    elif not isinstance(days, str):  # a text may be a number
        assert parsed.text == text


BODIES = st.lists(
    st.sampled_from(
        (
            *(TEXT, f"[{TEXT}]", 'get_weather(city="Oslo")', "now()", '{"name": "now"}', "x", ""),
            *("<tool_call>", "</tool_call>", "[now()]", "```", "~~~", "  ```", "# now()", "{", "}"),
            *("```json", "````", "\r", "<think>", "</think>", "{'name': 'now', 'args': {}}", ","),
        )
    ),
    max_size=6,
)


@given(
    BODIES, st.sampled_from(["```", "~~~", "````"]), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_any_cut_of_any_fence_says_the_same_and_loses_nothing(
    rows: list[str], run: str, end: str, strict: bool
) -> None:
    text = end.join(["A.", f"{run}py", *rows, run, "B."])
    whole = read("auto", [text], tools=TOOLS, strict=strict)
    verify(text, whole)
    for pieces in (list(text), cut(text, range(0, len(text), 7))):
        assert alike(read("auto", pieces, tools=TOOLS, strict=strict), whole)


def test_a_fence_of_calls_waits_for_its_closing_line() -> None:
    parser = Parser(tools=TOOLS)
    assert [event.span for event in parser.feed(f"Sure.\n```json\n{TEXT}\n")] == [(0, 5)]
    assert [call.name for call in Parsed(parser.feed("```\n")).calls] == ["get_weather"]
    assert parser.close() == []


def test_limits_count_fenced_calls_with_all_others() -> None:
    text = "\n".join([FENCED] * 1001)
    parsed = parse(text, tools=TOOLS)
    assert len(parsed.calls) == 1000
    assert [problem.code for problem in parsed.problems] == ["too-many-calls"]

"""Scissors-cat output, whole and in pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks import ToolSpec
from callblocks.core.specs import CATALOGUE
from callblocks.views.text.spec_functions import (
    SCISSORS_CAT_DELIMITER,
    DelimiterParser,
    ParsedLLMOutput,
    ToolCall,
    parse_llm_output,
    validate_tool_call,
)

OUTPUT = """[
  {
    "type": "gmail_list",
    "id": "gmail-001",
    "operation": "List recent emails",
    "parameters": { "maxResults": 10 }
  }
]

✂️🐱

Let me check your recent emails...
"""
CALL = ToolCall(
    id="gmail-001",
    type="gmail_list",
    operation="List recent emails",
    parameters={"maxResults": 10},
    priority=0,
)


def test_an_output_has_its_calls_and_its_markdown_trimmed() -> None:
    output = parse_llm_output(OUTPUT)
    assert output.tool_calls == [CALL]
    assert output.markdown == "Let me check your recent emails..."
    assert output.parse_errors == []


def test_an_output_without_calls_or_without_a_delimiter_is_markdown() -> None:
    assert (
        parse_llm_output("[]\n\n✂️🐱\n\nHere's your answer...").markdown == "Here's your answer..."
    )
    assert parse_llm_output("  Just Markdown.\n").markdown == "Just Markdown."


def test_a_bad_call_is_an_error_and_the_good_ones_survive() -> None:
    bad = OUTPUT.replace("\n]", ',\n {"type": "fly", "operation": "", "parameters": {}}\n]')
    output = parse_llm_output(bad)
    assert output.tool_calls == [CALL]
    assert len(output.parse_errors) == 1
    assert output.parse_errors[0].startswith("Invalid tool call: type: 'fly'")


def test_broken_json_is_an_error_and_the_markdown_survives() -> None:
    output = parse_llm_output('[{"type": "gmail_list",]\n✂️🐱\nHello')
    assert output.tool_calls == []
    assert output.markdown == "Hello"
    assert output.parse_errors[0].startswith("Failed to parse tool calls JSON: ")


def test_a_tool_of_the_callers_is_a_type_too() -> None:
    text = '[{"type": "fly", "id": "1", "operation": "up", "parameters": {}}]✂️🐱'
    assert parse_llm_output(text).tool_calls == []
    assert parse_llm_output(text, [ToolSpec("fly")]).tool_calls[0].type == "fly"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pieces_give_calls_at_the_delimiter_and_prose_at_once(size: int) -> None:
    parser, prose, calls = DelimiterParser(), "", list[ToolCall]()
    for at in range(0, len(OUTPUT), size):
        chunk = parser.process_chunk(OUTPUT[at : at + size])
        prose += chunk.prose_to_stream
        calls += chunk.completed_tool_calls
    last = parser.flush()
    assert calls + last.completed_tool_calls == [CALL]
    assert prose + last.prose_to_stream == "Let me check your recent emails...\n"
    assert parser.parse_errors == []


def test_what_waited_for_a_delimiter_comes_with_the_flush() -> None:
    parser = DelimiterParser()
    assert parser.process_chunk('{"answer": 42').prose_to_stream == ""
    assert parser.flush().prose_to_stream == '{"answer": 42'


def test_a_streaming_parser_collects_its_errors() -> None:
    parser = DelimiterParser()
    parser.process_chunk('[{"type": 1}] ✂️🐱 ok')
    assert parser.parse_errors == ["Invalid tool call: type: must be a string"]


def test_prose_before_the_calls_is_a_paragraph_of_its_own() -> None:
    assert parse_llm_output(f"Sure.\n{OUTPUT}").markdown == (
        "Sure.\n\nLet me check your recent emails..."
    )


def test_of_a_type_that_stands_twice_the_last_counts() -> None:
    text = '[{"type": "search", "operation": "", "parameters": {}, "t\\u0079pe": "custom"}]✂️🐱'
    assert [call.type for call in parse_llm_output(text).tool_calls] == ["custom"]


ONE = '[{"type": "search", "id": "s1", "operation": "Look", "parameters": {}}]'
FOUND = ToolCall(id="s1", type="search", operation="Look", parameters={})
PARTS = (
    ONE,
    "[]",
    "✂️🐱",
    "✂🐱",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "Sure!",
    "Hi",
    "[1]",
    "{",
    "```json",
    "```",
)


def stream(pieces: list[str]) -> ParsedLLMOutput:
    parser, prose, calls = DelimiterParser(), "", list[ToolCall]()
    for chunk in (*map(parser.process_chunk, pieces), parser.flush()):
        prose += chunk.prose_to_stream
        calls += chunk.completed_tool_calls
    return ParsedLLMOutput(calls, prose.strip(), parser.parse_errors)


@pytest.mark.parametrize("calls", ["[]", ONE, "{}", '[{"type": 1}]'])
def test_what_stood_on_two_sides_of_the_delimiter_is_never_glued(calls: str) -> None:
    text = f"Sure!\n{calls}\n✂️🐱\nHi"
    assert parse_llm_output(text).markdown == "Sure!\n\nHi"
    assert stream(list(text)).markdown == "Sure!\n\nHi"


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join), st.lists(st.integers(0, 99)))
@example(f"Sure!\n{ONE}\n\n✂️🐱\n\nHi", [])
@example("thinking\n✂️🐱\nHi", [9, 10])
def test_pieces_give_what_the_whole_gives(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(at for at in cuts if at < len(text)), len(text)]
    assert stream([text[at:end] for at, end in pairwise(places)]) == parse_llm_output(text)
    assert stream(list(text)) == parse_llm_output(text)


def test_a_delimiter_after_prose_without_calls_is_not_shown_and_an_error_says_so() -> None:
    output = parse_llm_output("thinking\n✂️🐱\nHi")
    assert output.markdown == "thinking\n\nHi"
    assert output.parse_errors == [
        "Failed to parse tool calls JSON: no calls stand before ✂️🐱",
    ]


def test_the_delimiter_is_the_one_of_the_specification() -> None:
    assert SCISSORS_CAT_DELIMITER == "\u2702\ufe0f\U0001f431"
    assert parse_llm_output(f"{ONE}{SCISSORS_CAT_DELIMITER}Hi").tool_calls == [FOUND]


def test_a_valid_call_is_given_as_one_with_its_default_priority() -> None:
    call = {"type": "search", "id": "s1", "operation": "Look", "parameters": {}, "note": "x"}
    checked = validate_tool_call(call)
    assert (checked.success, checked.data, checked.error) == (True, FOUND, None)
    assert validate_tool_call({**call, "id": 7, "priority": 2}).data == ToolCall(
        id="7", type="search", operation="Look", parameters={}, priority=2
    )


@pytest.mark.parametrize("type_", CATALOGUE)
def test_every_type_of_the_specification_is_valid(type_: str) -> None:
    call = {"type": type_, "id": "1", "operation": "", "parameters": {}}
    assert validate_tool_call(call).success


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"type": "fly"}, "type: 'fly' is not in the catalogue nor among the tools"),
        ({"type": None}, "type: must be a string"),
        ({"operation": 1}, "operation: must be a string"),
        ({"parameters": []}, "parameters: must be an object"),
        ({"priority": True}, "priority: must be a number"),
        ({"id": " "}, "id: must be a string that is not blank"),
    ],
)
def test_an_invalid_call_says_which_field_is_wrong(change: dict[str, object], error: str) -> None:
    call = {"type": "search", "id": "1", "operation": "", "parameters": {}, **change}
    checked = validate_tool_call(call)
    assert (checked.success, checked.data, checked.error) == (False, None, error)


@pytest.mark.parametrize("field", ["type", "id", "operation", "parameters"])
def test_an_invalid_call_says_which_field_is_missing(field: str) -> None:
    call = {"type": "search", "id": "1", "operation": "", "parameters": {}}
    del call[field]
    assert validate_tool_call(call).error == f"{field}: is missing"


@pytest.mark.parametrize("value", [None, 1, "x", [], [{}]])
def test_what_is_no_object_is_no_call(value: object) -> None:
    assert validate_tool_call(value).error == f"a call is an object, not {value!r}"


def test_a_tool_of_the_callers_validates() -> None:
    call = {"type": "fly", "id": "1", "operation": "", "parameters": {}}
    assert validate_tool_call(call, [ToolSpec("fly")]).success

"""Scissors-cat output, whole and in pieces."""

from __future__ import annotations

import pytest

from callblocks import ToolSpec
from callblocks.views.delimiter import DelimiterParser, ToolCall, parse_llm_output

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


def test_a_call_cannot_say_its_type_twice() -> None:
    text = '[{"type": "search", "operation": "", "parameters": {}, "t\\u0079pe": "custom"}]✂️🐱'
    assert parse_llm_output(text).parse_errors == ["Invalid tool call: 'type' stands twice"]

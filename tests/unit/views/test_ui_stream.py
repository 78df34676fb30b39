"""Markdown with tool fences, as chunks and as UI stream events."""

from __future__ import annotations

from callblocks.views.text.spec_functions import create_stream_chunks, parse_markdown_into_chunks

WEATHER = """I looked up the weather forecast.

```tool name=weather-search id=call_42
state: output-available
input:
  location: Paris
output:
  summary: "Light rain expected"
  temperatureC: 18
```

Let me know if you need anything else!
"""


def fence(body: str) -> str:
    return f"```tool t c1\n{body}\n```\n"


def told(body: str) -> list[str]:
    return [event["type"] for event in create_stream_chunks(fence(body))]


def test_a_fence_becomes_the_tool_chunk_of_the_specification() -> None:
    text, tool, rest = parse_markdown_into_chunks(WEATHER)
    assert text == {"type": "text", "text": "I looked up the weather forecast.\n"}
    assert tool == {
        "type": "tool",
        "toolName": "weather-search",
        "toolCallId": "call_42",
        "state": "output-available",
        "input": {"location": "Paris"},
        "output": {"summary": "Light rain expected", "temperatureC": 18},
    }
    assert rest == {"type": "text", "text": "\nLet me know if you need anything else!\n"}


def test_the_stream_tells_text_input_and_output_in_order() -> None:
    events = list(create_stream_chunks(WEATHER))
    assert [event["type"] for event in events] == [
        *("text-start", "text-delta", "text-end"),
        *("tool-input-available", "tool-output-available"),
        *("text-start", "text-delta", "text-end"),
    ]
    assert events[3] == {
        "type": "tool-input-available",
        "toolCallId": "call_42",
        "toolName": "weather-search",
        "input": {"location": "Paris"},
    }
    assert events[4]["output"] == {"summary": "Light rain expected", "temperatureC": 18}


def test_input_is_always_told_and_is_an_empty_object_where_there_is_none() -> None:
    assert told("state: input-available") == ["tool-input-available"]
    assert next(iter(create_stream_chunks(fence(""))))["input"] == {}
    assert next(iter(create_stream_chunks(fence("input:"))))["input"] == {}
    assert next(iter(create_stream_chunks(fence("input: false"))))["input"] is False


def test_an_output_is_told_by_its_key_or_by_the_state() -> None:
    assert told("output: null") == ["tool-input-available", "tool-output-available"]
    assert told("output: false") == ["tool-input-available", "tool-output-available"]
    assert told("state: output-available") == ["tool-input-available", "tool-output-available"]


def test_an_error_wins_over_an_output_and_has_a_default_text() -> None:
    assert told("output: 1\nerror: no") == ["tool-input-available", "tool-output-error"]
    last = list(create_stream_chunks(fence("state: output-error")))[-1]
    assert last["errorText"] == "An unknown tool error occurred."


def test_an_input_that_is_no_mapping_is_told_as_it_is() -> None:
    assert parse_markdown_into_chunks(fence("input: [1, 2]"))[0]["input"] == [1, 2]


def test_other_keys_are_kept_in_the_chunk_and_cannot_pose_as_ours() -> None:
    chunk = parse_markdown_into_chunks(fence("note: x\ntype: text\ntoolName: other"))[0]
    assert chunk["note"] == "x"
    assert (chunk["type"], chunk["toolName"]) == ("tool", "t")


def test_a_fence_that_cannot_be_read_stays_text() -> None:
    markdown = "before\n```tool t\na: [\n```\nafter"
    assert parse_markdown_into_chunks(markdown) == [{"type": "text", "text": markdown}]


def test_chunks_of_the_callers_own_may_lack_input_and_output() -> None:
    chunk = {"type": "tool", "toolName": "t", "toolCallId": "c", "state": "output-error"}
    given, failed = create_stream_chunks([chunk])
    assert given["input"] == {}
    assert failed["errorText"] == "An unknown tool error occurred."

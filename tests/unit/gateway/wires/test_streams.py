"""Streams, assembled by the published clients: what they make of our bytes is what was said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from callblocks.gateway.exchange import Finished, GatewayFault
from callblocks.gateway.wires.chat import ChatWire
from callblocks.gateway.wires.messages import MessagesWire
from callblocks.gateway.wires.ollama import GenerateWire, OllamaWire
from callblocks.gateway.wires.responses import ResponsesWire
from callblocks.models.model import Usage
from support.gateway_clients import anthropic_client, openai_client, sse_values, streamed
from support.gateway_replies import (
    FREE,
    HEAD,
    SIZES,
    Called,
    Item,
    Said,
    events,
    joined,
    replies,
    request,
)

MESSAGES: Any = [{"role": "user", "content": "hi"}]
CHAT, RESPONSES, ANTHROPIC, OLLAMA = ChatWire(), ResponsesWire(), MessagesWire(), OllamaWire()
CHUNK = TypeAdapter(ChatCompletionChunk)
RESPONSE_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
MESSAGE_EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
FAULT = GatewayFault("upstream", "the model's server broke")
TWO: list[Item] = [
    Said("reasoning", "Let me look."),
    Said("text", "I look twice. "),
    Called("call_a", "search", {"q": "tides 🌊", "n": [1, None]}),
    Said("text", " And again."),
    Called("call_b", "get_weather", {}),
    Said("text", " Done."),
]


def test_every_two_way_split_of_a_text_assembles_to_the_same() -> None:
    finished = Finished("calls", Usage(5, 6))
    longest = max(len(i.text if isinstance(i, Said) else i.written) for i in TWO)
    chats, responses, messages = set(), set(), set()
    for size in range(1, longest):
        said = events(TWO, finished, [size, 10_000])
        chats.add(_chat_final(streamed(CHAT, request(), said)).model_dump_json())
        body = streamed(RESPONSES, request("responses"), said)
        responses.add(_response_final(body).model_dump_json())
        body = streamed(ANTHROPIC, request("messages"), said)
        messages.add(_message_final(body).model_dump_json())
    assert (len(chats), len(responses), len(messages)) == (1, 1, 1)


# --- Chat completions ---


def _chat_final(body: bytes) -> Any:
    with openai_client(body).chat.completions.stream(model="m1", messages=MESSAGES) as stream:
        for _ in stream:
            pass
        return stream.current_completion_snapshot


@given(replies(), SIZES)
def test_openai_assembles_a_chat_as_it_was_said(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    asked = request(options={"include_usage": True})
    final = _chat_final(streamed(CHAT, asked, events(items, finished, sizes)))
    message = final.choices[0].message
    assert message.content == _text(items, "text")
    assert (getattr(message, "reasoning_content", None) or "") == _text(items, "reasoning")
    calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()]
    assert [(id_, name) for id_, name, _ in calls] == [(c.id, c.name) for c in _calls(items)]
    for (_, _, arguments), call in zip(calls, _calls(items), strict=True):
        if call.cut is None:
            assert json.loads(arguments) == call.input
        else:
            assert arguments == call.written
    assert final.choices[0].finish_reason == _finish(finished.reason)
    assert final.usage.prompt_tokens == finished.usage.tokens_in
    assert final.usage.completion_tokens == finished.usage.tokens_out


@given(replies(), SIZES)
def test_chunks_and_whole_chats_are_of_the_published_types(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    said = events(items, finished, sizes)
    for value in sse_values(streamed(CHAT, request(options={"include_usage": True}), said)):
        CHUNK.validate_python(value)
    whole = ChatCompletion.model_validate(CHAT.whole(request(), HEAD, said))
    message = whole.choices[0].message
    assert (message.content or "") == _text(items, "text")
    names = [call.function.name for call in message.tool_calls or () if call.type == "function"]
    assert names == [call.name for call in _calls(items)]


def test_only_the_first_delta_of_a_call_has_its_id_type_and_name() -> None:
    said = events(TWO, Finished("calls"), [3])
    values = sse_values(streamed(CHAT, request(), said))
    deltas = [
        call
        for value in values
        for choice in value["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    firsts = [delta for delta in deltas if "id" in delta]
    assert [(delta["index"], delta["id"]) for delta in firsts] == [(0, "call_a"), (1, "call_b")]
    assert all(delta["function"]["arguments"] == "" for delta in firsts)
    later = [delta for delta in deltas if "id" not in delta]
    assert {tuple(delta) for delta in later} == {("index", "function")}
    assert {tuple(delta["function"]) for delta in later} == {("arguments",)}
    assert b"null" not in b"".join(json.dumps(delta).encode() for delta in later)


def test_a_free_text_call_of_a_chat_is_a_custom_call() -> None:
    asked = request(free_text=frozenset([FREE]))
    said = events([Called("call_1", FREE, {"input": 'a "b"\n'})], Finished("calls"), [2])
    values = sse_values(streamed(CHAT, asked, said))
    calls = [c for v in values for c in v["choices"][0]["delta"].get("tool_calls", ())]
    assert calls[0] == {
        "index": 0,
        "id": "call_1",
        "type": "custom",
        "custom": {"name": FREE, "input": ""},
    }
    assert "".join(call["custom"]["input"] for call in calls) == 'a "b"\n'
    whole = ChatCompletion.model_validate(CHAT.whole(asked, HEAD, said))
    assert whole.choices[0].message.tool_calls is not None
    assert whole.choices[0].message.tool_calls[0].type == "custom"


def test_a_fault_in_a_chat_raises_in_the_client() -> None:
    writer = CHAT.writer(request(), HEAD)
    body = writer.begin() + writer.fail(FAULT)
    with pytest.raises(Exception, match="the model's server broke"):
        _chat_final(body)


def test_remarks_are_written_only_where_they_are_asked_for() -> None:
    finished = Finished("stop", remarks=())
    said = events([Said("text", "Hi")], finished, [9])
    for wire in (CHAT, ANTHROPIC, OLLAMA):
        assert "callblocks" not in wire.whole(request(), HEAD, said)
        asked = request(options={"remarks": True})
        assert wire.whole(asked, HEAD, said)["callblocks"] == {"remarks": []}
        assert b'"callblocks":{"remarks"' in streamed(wire, asked, said)
        assert b'"callblocks"' not in streamed(wire, request(), said)


def test_tokens_of_a_cache_and_of_reasoning_are_passed_on() -> None:
    said = events(TWO, Finished("calls", Usage(9, 5, 4, 2)), [5])
    chat = CHAT.whole(request(), HEAD, said)["usage"]
    assert chat["prompt_tokens_details"] == {"cached_tokens": 4}
    assert chat["completion_tokens_details"] == {"reasoning_tokens": 2}
    response = RESPONSES.whole(request("responses"), HEAD, said)["usage"]
    assert response["input_tokens_details"]["cached_tokens"] == 4
    assert response["output_tokens_details"] == {"reasoning_tokens": 2}
    message = ANTHROPIC.whole(request("messages"), HEAD, said)["usage"]
    assert (message["input_tokens"], message["cache_read_input_tokens"]) == (5, 4)


def test_a_reply_with_calls_never_ends_with_stop() -> None:
    said = events([Called("call_1", "search", {})], Finished("stop"), [9])
    assert _chat_final(streamed(CHAT, request(), said)).choices[0].finish_reason == "tool_calls"
    assert _message_final(streamed(ANTHROPIC, request(), said)).stop_reason == "tool_use"


# --- Responses ---


def _response_final(body: bytes) -> Any:
    last = None
    with openai_client(body).responses.stream(model="m1", input="hi") as stream:
        for event in stream:
            last = event
    return getattr(last, "response", None)


@given(replies(free=True), SIZES)
def test_openai_assembles_a_response_as_it_was_said(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    asked = request("responses", free_text=frozenset([FREE]))
    said = events(items, finished, sizes)
    final = _response_final(streamed(RESPONSES, asked, said))
    assert [_response_item(item) for item in final.output] == [
        _expected_item(item) for item in joined(items)
    ]
    assert final.status == ("incomplete" if finished.reason == "length" else "completed")
    assert final.usage.input_tokens == finished.usage.tokens_in
    whole = Response.model_validate(RESPONSES.whole(asked, HEAD, said))
    assert [_response_item(item) for item in whole.output] == [
        _expected_item(item) for item in joined(items)
    ]


def _response_item(item: Any) -> tuple[Any, ...]:
    match item.type:
        case "message":
            return "text", item.content[0].text
        case "reasoning":
            return "reasoning", item.summary[0].text
        case "custom_tool_call":
            return item.call_id, item.name, item.input
        case _ if item.status == "incomplete":
            return item.call_id, item.name, item.arguments
        case _:
            return item.call_id, item.name, json.loads(item.arguments)


def _expected_item(item: Item) -> tuple[Any, ...]:
    if isinstance(item, Said):
        return item.kind, item.text
    if item.name == FREE or item.cut is not None:
        return item.id, item.name, item.written
    return item.id, item.name, item.input


@given(replies(free=True), SIZES)
def test_events_of_a_response_are_of_the_published_types_and_numbered(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    asked = request("responses", free_text=frozenset([FREE]))
    body = streamed(RESPONSES, asked, events(items, finished, sizes))
    values = sse_values(body)
    for value in values:
        RESPONSE_EVENT.validate_python(value)
    assert [value["sequence_number"] for value in values] == list(range(len(values)))
    assert [value["type"] for value in values[:2]] == ["response.created", "response.in_progress"]
    assert b"event: response.created\n" in body
    opened = [value["item"]["id"] for value in values if value["type"].endswith("item.added")]
    closed = [value["item"]["id"] for value in values if value["type"].endswith("item.done")]
    assert opened == closed
    assert len(set(opened)) == len(opened)


def test_a_response_with_text_and_a_call_has_its_events_in_order() -> None:
    said = events(
        [Said("text", "Hi"), Called("call_1", "search", {"q": 1})], Finished("calls"), [99]
    )
    values = sse_values(streamed(RESPONSES, request("responses"), said))
    assert [value["type"].removeprefix("response.") for value in values] == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done"),
        *("output_item.done", "completed"),
    ]
    assert [item["type"] for item in values[-1]["response"]["output"]] == [
        "message",
        "function_call",
    ]


def test_a_call_of_a_namespace_goes_back_with_it() -> None:
    tool = {"type": "function", "name": "grep", "parameters": {"type": "object"}}
    body = {
        "model": "m1",
        "input": "hi",
        "tools": [{"type": "namespace", "name": "fs", "description": "", "tools": [tool]}],
    }
    asked = RESPONSES.read(body, {})
    assert [spec.name for spec in asked.tools] == ["fs.grep"]
    said = events([Called("call_1", "fs.grep", {})], Finished("calls"), [9])
    item = RESPONSES.whole(asked, HEAD, said)["output"][0]
    assert (item["namespace"], item["name"]) == ("fs", "grep")
    again = RESPONSES.read({**body, "input": [item]}, {})
    assert again.messages[0].calls[0].name == "fs.grep"


def test_a_failed_response_says_why() -> None:
    writer = RESPONSES.writer(request("responses"), HEAD)
    said = events([Called("call_1", "search", {"q": 1}, cut=3)], Finished("length"), [2])
    lines = [writer.begin(), *(writer.write(event) for event in said[:-1]), writer.fail(FAULT)]
    values = sse_values(b"".join(lines))
    assert values[-1]["type"] == "response.failed"
    assert values[-1]["response"]["error"]["message"] == "the model's server broke"
    assert values[-1]["response"]["output"][0]["status"] == "incomplete"
    assert not any(value["type"].endswith("arguments.done") for value in values)
    assert _response_final(b"".join(lines)).status == "failed"


# --- Messages ---


def _message_final(body: bytes) -> AnthropicMessage:
    with anthropic_client(body).messages.stream(
        model="m1", max_tokens=9, messages=MESSAGES
    ) as stream:
        return stream.get_final_message()


@given(replies(), SIZES)
def test_anthropic_assembles_a_message_as_it_was_said(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    final = _message_final(streamed(ANTHROPIC, request(), events(items, finished, sizes)))
    shown = joined(items)
    assert len(final.content) == len(shown)
    for block, item in zip(final.content, shown, strict=True):
        if isinstance(item, Said):
            text = block.text if block.type == "text" else getattr(block, "thinking", None)
            assert text == item.text
        else:
            assert block.type == "tool_use"
            assert (block.id, block.name) == (item.id, item.name)
            assert item.cut is not None or block.input == item.input
    stop = {"calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
    assert final.stop_reason == stop[finished.reason]
    assert final.usage.input_tokens == finished.usage.tokens_in
    assert final.usage.output_tokens == finished.usage.tokens_out


@given(replies(), SIZES)
def test_events_and_whole_messages_are_of_the_published_types(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    said = events(items, finished, sizes)
    opened: list[int] = []
    for value in sse_values(streamed(ANTHROPIC, request(), said)):
        if value["type"] != "ping":
            MESSAGE_EVENT.validate_python(value)
        if value["type"] == "content_block_start":
            opened.append(value["index"])
    assert opened == list(range(len(joined(items))))
    whole = AnthropicMessage.model_validate(ANTHROPIC.whole(request(), HEAD, said))
    kept = [item for item in joined(items) if isinstance(item, Said) or item.cut is None]
    assert len(whole.content) == len(kept)


def test_a_fault_in_a_message_raises_in_the_client() -> None:
    writer = ANTHROPIC.writer(request(), HEAD)
    with pytest.raises(Exception, match="the model's server broke"):
        _message_final(writer.begin() + writer.fail(FAULT))


def test_thinking_is_written_only_where_the_request_asks_for_it() -> None:
    said = events([Said("reasoning", "Hm."), Said("text", "Hi")], Finished("stop"), [9])
    quiet = request(thinks=False)
    for wire in (CHAT, RESPONSES, ANTHROPIC, OLLAMA):
        assert b"Hm." not in streamed(wire, quiet, said)
        assert "Hm." not in json.dumps(wire.whole(quiet, HEAD, said))
        assert b"Hm." in streamed(wire, request(), said)


def test_a_stop_sequence_is_named() -> None:
    said = events([Said("text", "Hi")], Finished("stop", stop_text="END"), [9])
    final = _message_final(streamed(ANTHROPIC, request(), said))
    assert (final.stop_reason, final.stop_sequence) == ("stop_sequence", "END")


# --- Ollama ---


@given(replies(), SIZES)
def test_lines_of_ollama_give_each_call_in_one_piece(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    said = events(items, finished, sizes)
    body = streamed(OLLAMA, request(), said)
    lines = [json.loads(line) for line in body.split(b"\n")[:-1]]
    messages = [line["message"] for line in lines]
    assert "".join(message["content"] for message in messages) == _text(items, "text")
    thinking = "".join(message.get("thinking", "") for message in messages)
    assert thinking == _text(items, "reasoning")
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    ready = [call for call in _calls(items) if call.cut is None]
    assert [(c["id"], c["function"]["arguments"]) for c in calls] == [
        (call.id, call.input) for call in ready
    ]
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1]["done_reason"] == ("length" if finished.reason == "length" else "stop")
    whole = OLLAMA.whole(request(), HEAD, said)["message"]
    assert whole.get("tool_calls", []) == calls
    assert whole["content"] == _text(items, "text")


def test_a_plain_answer_of_ollama_is_text_alone() -> None:
    wire = GenerateWire()
    said = events([Said("reasoning", "Hm."), Said("text", "Hello.")], Finished("stop"), [4])
    lines = [json.loads(line) for line in streamed(wire, request(), said).split(b"\n")[:-1]]
    assert "".join(line["response"] for line in lines) == "Hello."
    assert "".join(line.get("thinking", "") for line in lines) == "Hm."
    whole = wire.whole(request(), HEAD, said)
    assert (whole["response"], whole["thinking"], whole["done"]) == ("Hello.", "Hm.", True)
    assert "message" not in whole


def test_a_fault_in_ollamas_chat_is_one_line() -> None:
    assert json.loads(OLLAMA.writer(request(), HEAD).fail(FAULT)) == {"error": FAULT.message}


# --- Round trips ---


@given(replies(cuts=False), SIZES)
def test_a_history_made_of_a_whole_reply_has_the_same_calls(
    reply: tuple[list[Item], Finished], sizes: list[int]
) -> None:
    items, finished = reply
    said = events(items, finished, sizes)
    turn: Any = {"role": "user", "content": "hi"}
    chat = CHAT.whole(request(), HEAD, said)["choices"][0]["message"]
    ollama = OLLAMA.whole(request(), HEAD, said)["message"]
    message = ANTHROPIC.whole(request(), HEAD, said)
    anthropic = {"role": "assistant", "content": message["content"]}
    output = RESPONSES.whole(request("responses"), HEAD, said)["output"]
    histories = [
        CHAT.read({"model": "m", "messages": [turn, chat]}, {}),
        OLLAMA.read({"model": "m", "messages": [turn, ollama]}, {}),
        ANTHROPIC.read({"model": "m", "messages": [turn, anthropic]}, {}),
        RESPONSES.read({"model": "m", "input": [turn, *output]}, {}),
    ]
    expected = [(call.id, call.name, call.input) for call in _calls(items)]
    for history in histories:
        read = [call for said_ in history.messages for call in said_.calls]
        assert [(call.id, call.name, call.input) for call in read] == expected


@given(st.text(st.characters(), min_size=1))
def test_free_text_makes_the_round_trip(text: str) -> None:
    said = events([Called("call_1", FREE, {"input": text})], Finished("calls"), [99])
    asked = request("responses", free_text=frozenset([FREE]))
    output = RESPONSES.whole(asked, HEAD, said)["output"]
    read = RESPONSES.read({"model": "m", "input": output}, {})
    clean = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if clean == text:
        assert read.messages[0].calls[0].input == {"input": text}


def _text(items: list[Item], kind: str) -> str:
    return "".join(item.text for item in items if isinstance(item, Said) and item.kind == kind)


def _calls(items: list[Item]) -> list[Called]:
    return [item for item in items if isinstance(item, Called)]


def _finish(reason: str) -> str:
    return {"calls": "tool_calls"}.get(reason, reason)

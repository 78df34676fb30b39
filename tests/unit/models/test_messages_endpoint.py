"""Anthropic's Messages API as a model: what is asked, and how the events are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callblocks.core.blocks import ImagePart, TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError, ModelError
from callblocks.core.specs import ToolSpec
from callblocks.models.anthropic_messages import MessagesEndpoint
from callblocks.models.model import (
    LinkedImage,
    Message,
    NativeDelta,
    Piece,
    Request,
    Spoken,
    Stopped,
    Thinking,
    Usage,
)
from callblocks.models.open_model import locate, open_model
from callblocks.models.openai.endpoint import EndpointSettings
from support.model_replies import reply_of
from support.model_server import ModelServer

LOOK = ToolSpec("look", "Look at a place.", {"type": "object", "properties": {"at": {}}})
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.fixture
def server() -> Any:
    with ModelServer() as server:
        yield server


def _events(*values: dict[str, Any]) -> tuple[bytes, ...]:
    return tuple(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in values)


def _delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def _block(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    block = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": block}


START = {
    "type": "message_start",
    "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1}},
}


def _end(reason: str = "end_turn") -> tuple[dict[str, Any], dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return (
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    )


def _model(server: ModelServer, **settings: Any) -> MessagesEndpoint:
    spec = f"anthropic:{server.url.removesuffix('/v1')}#claude"
    model = open_model(spec, EndpointSettings(key="sk-ant-secret", **settings))
    assert isinstance(model, MessagesEndpoint)
    return model


def _said(role: Any, text: str, **more: Any) -> Message:
    return Message(role, (TextPart(text),), **more)


def _ask(server: ModelServer, *messages: Message, **more: Any) -> list[Piece]:
    request = Request(messages=messages or (_said("user", "Hi"),), **more)
    pieces, error = reply_of(_model(server), request)
    if error:
        raise error
    return pieces


def test_a_reply_is_text_thoughts_and_calls(server: ModelServer) -> None:
    server.answer(
        *_events(
            START,
            {"type": "ping"},
            _block(0, "thinking", thinking=""),
            _delta(0, "thinking_delta", thinking="Hm."),
            _delta(0, "signature_delta", signature="abc"),
            {"type": "content_block_stop", "index": 0},
            _block(1, "text", text=""),
            _delta(1, "text_delta", text="I look."),
            {"type": "content_block_stop", "index": 1},
            _block(2, "tool_use", id="toolu_1", name="look", input={}),
            _delta(2, "input_json_delta", partial_json=""),
            _delta(2, "input_json_delta", partial_json='{"at": '),
            _delta(2, "input_json_delta", partial_json='"home"}'),
            {"type": "content_block_stop", "index": 2},
            {"type": "a_new_event"},
            *_end("tool_use"),
        )
    )
    assert _ask(server, tools=(LOOK,)) == [
        Thinking("Hm."),
        Spoken("I look."),
        NativeDelta(0, "toolu_1", "look"),
        NativeDelta(0, text='{"at": '),
        NativeDelta(0, text='"home"}'),
        Usage(14, 7, 4),
        Stopped("tool_calls"),
    ]


def test_a_server_that_does_not_stream_gives_the_same(server: ModelServer) -> None:
    whole = {
        "type": "message",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "home"}},
        ],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    server.answer(json.dumps(whole).encode(), kind="application/json")
    assert _ask(server, tools=(LOOK,)) == [
        Spoken("I look."),
        NativeDelta(0, "toolu_1", "look"),
        NativeDelta(0, text='{"at":"home"}'),
        Usage(3, 2),
        Stopped("length"),
    ]


def test_a_linked_image_is_sent_by_its_address(server: ModelServer) -> None:
    server.answer(*_events(START, *_end()))
    link = LinkedImage("<image url=https://a.example/b.png>", url="https://a.example/b.png")
    _ask(server, Message("user", (link,)))
    (message,) = server.requests[0].body["messages"]
    assert message["content"] == [{"type": "image", "source": {"type": "url", "url": link.url}}]


def test_a_history_becomes_blocks_and_alternates(server: ModelServer) -> None:
    server.answer(*_events(START, *_end()))
    calls = (Call(id="a.1", name="look", input={"at": "x"}),)
    _ask(
        server,
        _said("system", "Be kind."),
        _said("user", "Hello"),
        Message("user", (ImagePart(base64="iVBO", mime="image/png"), TextPart(" "))),
        _said("assistant", "I look.", calls=calls, reasoning="Hm."),
        _said("tool", "a house", call_id="a.1"),
        _said("user", "And now?"),
        tools=(LOOK,),
        stop=("END", "\n"),
        temperature=0.5,
        extra={"tool_choice": "required", "parallel_tool_calls": False, "seed": 1, "top_p": 0.9},
    )
    asked = server.requests[0]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    assert asked.body == {
        "model": "claude",
        "stream": True,
        "max_tokens": 4096,
        "system": "Be kind.",
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "tools": [
            {
                "name": "look",
                "description": "Look at a place.",
                "input_schema": LOOK.parameters,
            }
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hello"}, {"type": "image", "source": source}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a_1", "name": "look", "input": {"at": "x"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a_1", "content": "a house"},
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
    }
    assert asked.headers["x-api-key"] == "sk-ant-secret"
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ({"type": "function", "function": {"name": "look"}}, {"type": "tool", "name": "look"}),
    ],
)
def test_a_choice_is_translated(server: ModelServer, said: Any, choice: Any) -> None:
    server.answer(*_events(START, *_end()))
    _ask(server, tools=(LOOK,), extra={"tool_choice": said})
    assert server.requests[0].body["tool_choice"] == choice


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, {"type": "error", "error": {"type": "authentication_error"}}, "model_refused"),
        (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}},
         "model_context_full"),
        (529, ERROR, "model_busy"),
        (500, {"error": {"type": "api_error"}}, "model_failed"),
        (400, {"error": {"message": "tools are not supported"}}, "model_no_tools"),
    ],
)  # fmt: skip
def test_a_refusal_has_its_code(
    server: ModelServer, status: int, body: dict[str, Any], code: str
) -> None:
    server.answer(
        json.dumps(body).encode(),
        status=status,
        kind="application/json",
        headers={"retry-after": "60"},
    )
    with pytest.raises(ModelError) as caught:
        _ask(server, tools=(LOOK,))
    assert caught.value.code == code
    assert caught.value.details["retry_after"] == 60


def test_an_error_in_the_middle_comes_after_the_text(server: ModelServer) -> None:
    server.answer(*_events(START, _delta(0, "text_delta", text="Hel"), ERROR))
    with pytest.raises(ModelError) as caught:
        _ask(server)
    assert caught.value.code == "model_busy"


@pytest.mark.parametrize(
    "steps", [_events(START), (*_events(START), b"data: {nothing}\n\n"), (b"<html>",)]
)
def test_a_reply_without_its_end_is_broken(server: ModelServer, steps: tuple[bytes, ...]) -> None:
    server.answer(*steps)
    with pytest.raises(ModelError) as caught:
        _ask(server)
    assert caught.value.code == "model_broken"


def test_a_grammar_is_refused(server: ModelServer) -> None:
    with pytest.raises(ModelError, match="grammar"):
        _ask(server, grammar='root ::= "a"')


def test_without_a_choice_of_mode_a_server_without_tools_is_asked_in_text(
    server: ModelServer,
) -> None:
    words = {"error": {"message": "tools are not supported"}}
    server.answer(json.dumps(words).encode(), status=400, kind="application/json")
    model = _model(server)
    assert model.mode == "mixed"
    _, error = reply_of(model, Request(messages=(_said("user", "Hi"),), tools=(LOOK,)))
    assert error is not None
    assert model.mode == "text"


def test_the_forms_lead_to_the_right_address() -> None:
    own = locate("anthropic:claude-x", environment={"ANTHROPIC_API_KEY": "k"})
    assert (own.base_url, own.model, own.key) == ("https://api.anthropic.com/v1", "claude-x", "k")
    other = locate("anthropic:http://127.0.0.1:9/#m", environment={"CALLBLOCKS_MODEL_KEY": "c"})
    assert (other.base_url, other.model, other.key) == ("http://127.0.0.1:9/v1", "m", "c")
    far = locate("anthropic:http://far.example#m", environment={"ANTHROPIC_API_KEY": "k"})
    assert far.key == ""
    with pytest.raises(CallerError):
        locate("anthropic:http://a b#m", environment={})

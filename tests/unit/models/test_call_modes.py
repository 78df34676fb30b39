"""Which form an endpoint is asked in: found out in `auto`, as said in every other mode."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import structs

from callblocks.core.blocks import ImagePart, TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError, ModelError
from callblocks.core.specs import ToolSpec
from callblocks.models.model import Message, Request, ToolsUnheard
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint
from support.model_replies import HELLO, pieces_of, reply_of, spoken
from support.model_server import DONE, ModelServer, chat_chunk, chat_events, event

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Where to look. " * 100}},
}
TOOL = ToolSpec("ls", "List.", SCHEMA)
WITH_TOOLS = Request(messages=HELLO.messages, tools=(TOOL,))

REFUSALS = [
    (400, {"error": {"message": "registry.ollama.ai/library/gemma:2b does not support tools"}}),
    (500, {"error": {"message": "tools param requires --jinja flag", "type": "server_error"}}),
    (
        400,
        {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice'},
    ),
    (404, {"error": {"message": "No endpoints found that support tool use."}}),
    (422, {"detail": [{"loc": ["body", "tools"], "msg": "tools: Extra inputs are not permitted"}]}),
    (501, {"error": "function calling is not implemented"}),
]


def endpoint(server: ModelServer, **settings: Any) -> ChatEndpoint:
    given = {"tries": 1, **settings}
    return ChatEndpoint(EndpointSettings(base_url=server.url, model="test", **given))


@pytest.mark.parametrize(("status", "body"), REFUSALS)
def test_a_server_that_takes_no_tools_is_asked_in_text_from_then_on(
    status: int, body: dict[str, Any]
) -> None:
    with ModelServer() as server:
        server.answer(json.dumps(body).encode(), status=status, kind="application/json")
        model = endpoint(server)
        assert model.mode == "mixed"
        _, error = reply_of(model, WITH_TOOLS)
        assert error is not None
        assert (error.code, model.mode) == ("model_no_tools", "text")


@pytest.mark.parametrize("mode", ["native", "mixed"])
def test_a_named_mode_stays_and_its_error_says_the_way_out(mode: str) -> None:
    with ModelServer() as server:
        body = {"error": {"message": "this model does not support tools"}}
        server.answer(json.dumps(body).encode(), status=400, kind="application/json")
        model = endpoint(server, mode=mode)
        _, error = reply_of(model, WITH_TOOLS)
        assert error is not None
        assert error.code == "model_no_tools"
        assert "mode text" in error.message
        assert model.mode == mode


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "tools are not allowed without a key"),
        (400, "prompt is too long"),
        (429, "tools are not supported this often"),
        (404, "model 'llama3-groq-tool-use' not found, try pulling it first"),
        (400, "tool call validation failed: attempted to call tool 'x' which was not in the list"),
        (500, "Failed to parse tool call arguments as JSON: unexpected end of input"),
        (400, "messages with role 'tool' must follow a message with 'tool_calls'"),
    ],
)
def test_other_refusals_are_what_they_are(status: int, words: str) -> None:
    with ModelServer() as server:
        body = json.dumps({"error": {"message": words}}).encode()
        server.answer(body, status=status, kind="application/json")
        model = endpoint(server)
        _, error = reply_of(model, WITH_TOOLS)
        assert error is not None
        assert error.code != "model_no_tools"
        assert model.mode == "mixed"


ADAPTED = [
    (400, {"error": {"message": "System role not supported"}}),
    (400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}}),
    (
        422,
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
    ),
    (
        400,
        {"error": {"message": "Unsupported value: 'temperature' does not support 0.3 here."}},
    ),
]


@pytest.mark.parametrize(("status", "body"), ADAPTED)
def test_a_server_is_asked_again_without_what_it_does_not_know(
    status: int, body: dict[str, Any]
) -> None:
    with ModelServer() as server:
        server.answer(json.dumps(body).encode(), status=status, kind="application/json")
        model = endpoint(server)
        pieces, error = reply_of(model, structs.replace(HELLO, temperature=0.3))
        assert error is None
        assert spoken(pieces) == "Hello"
        first, second = (request.body for request in server.requests)
        assert first != second
        assert "".join(one["content"] for one in second["messages"]).startswith("Be kind.")


def test_what_the_settings_demand_is_not_left_out_where_a_server_refuses_it() -> None:
    with ModelServer() as server:
        body = {"error": {"message": "Unsupported value: 'temperature' does not support 0.5 here."}}
        server.answer(json.dumps(body).encode(), status=400, kind="application/json")
        _, error = reply_of(endpoint(server, extra={"temperature": 0.5}), HELLO)
        assert error is not None
        assert error.code == "model_refused"
        assert len(server.requests) == 1


def test_a_template_without_results_is_asked_in_text() -> None:
    words = "Conversation roles must alternate user/assistant/user/assistant/..."
    with ModelServer() as server:
        body = json.dumps({"error": {"message": words}}).encode()
        server.answer(body, status=500, kind="application/json")
        model = endpoint(server)
        _, error = reply_of(model, WITH_TOOLS)
        assert error is not None
        assert (error.code, model.mode) == ("model_no_tools", "text")


def test_the_address_of_a_server_is_none_of_its_words() -> None:
    with ModelServer() as server:
        server.answer(b'{"error": "bad request"}', status=400, kind="application/json")
        url = f"{server.url}?tools-not-supported"
        model = ChatEndpoint(EndpointSettings(base_url=url, model="no-tools-not-supported"))
        _, error = reply_of(model, WITH_TOOLS)
        assert error is not None
        assert error.code == "model_refused"
        server.invalid.clear()


def test_a_server_that_gave_a_native_call_is_never_taken_for_one_without_tools() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "ls"}}
    with ModelServer() as server:
        model = endpoint(server)
        server.answer(*map(event, (chat_chunk({"tool_calls": [call]}), chat_chunk({}, "stop"))))
        server.answer(b'{"error": "tools are not supported"}', status=400)

        async def ask_twice() -> ModelError | None:
            await pieces_of(model, WITH_TOOLS)
            _, error = await pieces_of(model, WITH_TOOLS)
            await model.close()
            return error

        error = asyncio.run(ask_twice())
        model.give_up_tools()
    assert error is not None
    assert (error.code, model.mode) == ("model_refused", "mixed")


def test_pictures_and_halves_of_characters_tell_nothing_of_tools() -> None:
    picture = ImagePart("image/png", "A" * 4000)
    for part in (picture, TextPart("\ud83d" * 4)):
        asked = Request(messages=(HELLO.messages[0], Message("user", (part,))), tools=(TOOL,))
        with ModelServer() as server:
            server.answer(*chat_events("Hi.", tokens=(60, 3)))
            pieces, error = reply_of(endpoint(server), asked)
        assert error is None
        assert (ToolsUnheard() in pieces) == (part is not picture)


@pytest.mark.parametrize(("tokens", "mode"), [(12, "text"), (900, "mixed"), (0, "mixed")])
def test_a_server_that_passes_over_tools_is_known_by_its_count(tokens: int, mode: str) -> None:
    with ModelServer() as server:
        server.answer(*chat_events("I have no tools.", tokens=(tokens, 3)))
        model = endpoint(server)
        pieces, _ = reply_of(model, WITH_TOOLS)
        assert (ToolsUnheard() in pieces) == (mode == "text")
        model.give_up_tools()
        assert model.mode == "text"


def test_a_server_that_gave_a_native_call_has_tools_whatever_it_counts() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "ls"}}
    with ModelServer() as server:
        usage = {**chat_chunk({}), "choices": [], "usage": {"prompt_tokens": 3}}
        chunks = (chat_chunk({"tool_calls": [call]}), chat_chunk({}, "tool_calls"), usage)
        server.answer(*map(event, chunks), DONE)
        pieces, _ = reply_of(endpoint(server), WITH_TOOLS)
        assert ToolsUnheard() not in pieces


def test_tools_calls_and_results_go_out_as_the_api_has_them() -> None:
    call = Call(id="tc_0123456789ab", name="ls", input={"path": "é"})
    given = (
        Message("assistant", (), (call,)),
        Message("tool", (TextPart("a.py\n"),), call_id=call.id),
    )
    request = Request(messages=(*HELLO.messages, *given), tools=(TOOL,))
    with ModelServer() as server:
        reply_of(endpoint(server), request)
        body = server.requests[0].body
    (tool,) = body["tools"]
    assert tool == {
        "type": "function",
        "function": {"name": "ls", "description": "List.", "parameters": SCHEMA},
    }
    *_, said, result = body["messages"]
    (sent,) = said["tool_calls"]
    assert sent["function"] == {"name": "ls", "arguments": '{"path": "é"}'}
    assert (len(sent["id"]), sent["id"].isalnum()) == (9, True)
    assert result == {"role": "tool", "content": "a.py\n", "tool_call_id": sent["id"]}


def test_reasoning_goes_back_under_the_name_that_the_server_gave_it() -> None:
    call = Call(id="c1", name="ls")
    said = Message("assistant", (), (call,), reasoning="I look.")
    given = Message("tool", (TextPart("a"),), call_id="c1")
    request = Request(messages=(*HELLO.messages, said, given), tools=(TOOL,))

    async def ask_twice(server: ModelServer) -> None:
        model = endpoint(server)
        for _ in range(2):
            await pieces_of(model, request)
        await model.close()

    with ModelServer(extras=()) as server:
        server.answer(event(chat_chunk({"reasoning_content": "hm"})), *chat_events("Hi"))
        asyncio.run(ask_twice(server))
        first, second = (one.body["messages"][2] for one in server.requests)
        server.invalid.clear()  # the published types do not know the field
    assert "reasoning_content" not in first
    assert second["reasoning_content"] == "I look."


def test_a_mode_that_is_none_is_refused() -> None:
    odd: Any = "magic"
    with pytest.raises(CallerError, match="no mode 'magic'"):
        EndpointSettings(mode=odd)

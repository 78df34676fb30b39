from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from callblocks.core.blocks import DocumentPart, ImagePart, TextPart
from callblocks.core.errors import CallerError
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
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint, chat_message
from support.model_replies import HELLO, message, pieces_of, reply_of, spoken
from support.model_server import (
    DONE,
    ModelServer,
    chat_chunk,
    chat_events,
    completion_chunk,
    event,
)


def endpoint(server: ModelServer, **settings: Any) -> ChatEndpoint:
    return ChatEndpoint(EndpointSettings(base_url=server.url, model="test", **settings))


def reply_to(*events: bytes, kind: str = "text/event-stream") -> list[Piece]:
    """A whole reply without a fault, to what the server sends."""
    with ModelServer() as server:
        server.answer(*events, kind=kind)
        pieces, error = reply_of(endpoint(server))
    assert error is None
    return pieces


def said(*deltas: dict[str, Any], reason: str = "stop") -> list[Piece]:
    chunks = [*(chat_chunk(one) for one in deltas), chat_chunk({}, reason)]
    return reply_to(*map(event, chunks), DONE)


def test_a_reply_comes_piece_by_piece_and_ends_with_why_it_stopped() -> None:
    assert reply_to(*chat_events("Hel", "lo")) == [
        Spoken("Hel"),
        Spoken("lo"),
        Usage(7, 3),
        Stopped("stop"),
    ]


def test_the_events_of_the_test_server_are_those_of_the_api() -> None:
    from openai.types import Completion  # it is slow to load
    from openai.types.chat import ChatCompletionChunk

    ChatCompletionChunk.model_validate(chat_chunk({"content": "a"}), strict=True)
    Completion.model_validate(completion_chunk("a", "stop"), strict=True)


def test_what_is_asked_is_what_the_api_takes() -> None:
    with ModelServer() as server:
        request = Request(messages=HELLO.messages, max_tokens=50, stop=("END",))
        reply_of(endpoint(server, key="k-1", headers={"X-Team": "a"}), request)
    asked = server.requests[0]
    assert asked.body == {
        "model": "test",
        "messages": [
            {"role": "system", "content": "Be kind.\n"},
            {"role": "user", "content": "Hello\n"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 50,
        "stop": ["END"],
    }
    assert asked.headers["authorization"] == "Bearer k-1"
    assert asked.headers["x-team"] == "a"


def test_without_a_key_no_authorization_is_sent() -> None:
    with ModelServer() as server:
        reply_of(endpoint(server))
    assert "authorization" not in server.requests[0].headers


def test_name_and_password_of_the_address_are_sent_as_such() -> None:
    with ModelServer() as server:
        url = server.url.replace("//", "//me:p%40ss@")
        reply_of(ChatEndpoint(EndpointSettings(base_url=url, model="test")))
    assert server.requests[0].headers["authorization"] == "Basic bWU6cEBzcw=="


def test_the_query_of_an_address_stays_at_its_end() -> None:
    with ModelServer() as server:
        url = f"{server.url}/?version=2"
        reply_of(ChatEndpoint(EndpointSettings(base_url=url, model="test")))
    assert server.requests[0].path == "/v1/chat/completions?version=2"


def test_images_and_documents_of_a_person_are_sent_as_data() -> None:
    parts = (TextPart("Look:\n"), ImagePart("image/png", "iVBO"), TextPart(""))
    file = DocumentPart("application/pdf", "JVBE")
    with ModelServer() as server:
        reply_of(endpoint(server), Request(messages=(Message("user", (*parts, file)),)))
    assert server.requests[0].body["messages"][0]["content"] == [
        {"type": "text", "text": "Look:\n"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
        {
            "type": "file",
            "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBE"},
        },
    ]


def test_a_linked_image_is_sent_by_its_address() -> None:
    link = LinkedImage("<image url=https://a.example/b.png>", url="https://a.example/b.png")
    sent = chat_message(Message("user", (TextPart("Look:\n"), link)))
    image = {"type": "image_url", "image_url": {"url": link.url}}
    assert sent["content"] == [{"type": "text", "text": "Look:\n"}, image]
    assert chat_message(Message("assistant", (link,)))["content"] == link.text


def test_a_model_s_own_message_has_a_line_for_an_image() -> None:
    parts = (TextPart("Here:\n"), ImagePart("image/png", "iVBO"))
    with ModelServer() as server:
        reply_of(endpoint(server), Request(messages=(Message("assistant", parts),)))
    content = server.requests[0].body["messages"][0]["content"]
    assert content == "Here:\n<image media_type=image/png b64_len=4>\n"


def test_text_that_is_half_a_character_is_sent_as_a_question_mark() -> None:
    with ModelServer() as server:
        reply_of(endpoint(server), Request(messages=(message("user", "a\ud83d ä"),)))
    assert server.requests[0].body["messages"][0]["content"] == "a? ä"


def test_extra_fields_are_laid_over_the_body_and_none_takes_one_away() -> None:
    with ModelServer() as server:
        request = Request(messages=HELLO.messages, temperature=0.3)
        reply_of(endpoint(server, extra={"temperature": 0.5, "stream_options": None}), request)
        reply_of(endpoint(server), request)
    body, plain = (one.body for one in server.requests)
    assert (body["temperature"], plain["temperature"]) == (0.5, 0.3)
    assert "stream_options" not in body


def test_the_most_tokens_have_the_name_that_the_server_wants() -> None:
    with ModelServer() as server:
        request = Request(messages=HELLO.messages, max_tokens=5)
        reply_of(endpoint(server, tokens_field="max_completion_tokens"), request)
    assert server.requests[0].body["max_completion_tokens"] == 5
    assert "max_tokens" not in server.requests[0].body


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("grammar", {"grammar": 'root ::= "a"'}),
        ("structured_outputs.grammar", {"structured_outputs": {"grammar": 'root ::= "a"'}}),
    ],
)
def test_a_grammar_goes_where_the_server_takes_it(field: str, sent: dict[str, Any]) -> None:
    with ModelServer(extras=sent) as server:
        request = Request(messages=HELLO.messages, grammar='root ::= "a"')
        reply_of(endpoint(server, grammar_field=field), request)
    assert sent.items() <= server.requests[0].body.items()


def test_a_grammar_for_a_server_that_takes_none_is_refused() -> None:
    with ModelServer() as server:
        request = Request(messages=HELLO.messages, grammar='root ::= "a"')
        pieces, error = reply_of(endpoint(server), request)
    assert error is not None
    assert error.code == "model_refused"
    assert "grammar_field" in error.message
    assert not pieces
    assert not server.requests


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ],
)
def test_thoughts_come_apart_from_the_reply(delta: dict[str, Any]) -> None:
    assert said(delta, {"content": "Hi"}) == [Thinking("hm"), Spoken("Hi"), Stopped("stop")]


def test_content_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "other"}, {"type": "text", "text": "b"}]
    assert spoken(said({"content": parts})) == "ab"


def test_a_refusal_is_what_the_model_says() -> None:
    assert said({"refusal": "No."}) == [Spoken("No."), Stopped("stop")]


@pytest.mark.parametrize(
    ("told", "reason"),
    [("length", "length"), ("eos", "stop"), ("content_filter", "content_filter")],
)
def test_why_it_stopped_is_what_the_server_says(told: str, reason: str) -> None:
    assert said(reason=told)[-1] == Stopped(reason)


def test_native_calls_come_in_slots_of_their_own() -> None:
    start = {"index": 0, "id": "c", "type": "function", "function": {"name": "rm", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": '{"path": "/"}'}}
    second = {"index": 1, "function": {"name": "ls", "arguments": {"path": "."}}}
    old = {"function_call": {"name": "pwd", "arguments": "{}"}}
    pieces = said({"tool_calls": [start]}, {"tool_calls": [more, second]}, old, reason="tool_calls")
    assert pieces == [
        NativeDelta(0, "c", "rm", ""),
        NativeDelta(0, "", "", '{"path": "/"}'),
        NativeDelta(1, "", "ls", '{"path":"."}'),
        NativeDelta(2, "", "pwd", "{}"),
        Stopped("tool_calls"),
    ]


def test_other_choices_than_the_first_are_passed_over() -> None:
    second = {**chat_chunk({}), "choices": [{"index": 1, "delta": {"content": "no"}}]}
    assert spoken(reply_to(event(second), *chat_events("yes"))) == "yes"


def test_empty_and_unknown_events_are_passed_over() -> None:
    strange = (
        *(b": OK\n\n", b"data: null\n\n", event({}), event({"prompt_progress": {}})),
        *(event({"choices": choices}) for choices in (None, [None], [{"delta": None}])),
    )
    assert spoken(reply_to(*strange, *chat_events("yes"))) == "yes"


def test_the_last_count_of_tokens_is_the_one() -> None:
    counts = [{"prompt_tokens": 5, "completion_tokens": number} for number in (1, 2)]
    chunks = [event({**chat_chunk({"content": "a"}), "usage": count}) for count in counts]
    pieces = reply_to(*chunks, event(chat_chunk({}, "stop")), DONE)
    assert [piece for piece in pieces if isinstance(piece, Usage)] == [Usage(5, 2)]


@pytest.mark.parametrize("count", ["7", [], True, {"prompt_tokens": "7"}, {"prompt_tokens": None}])
def test_a_count_of_an_unknown_shape_does_not_cost_the_reply(count: Any) -> None:
    end = {**chat_chunk({}, "stop"), "usage": count}
    assert spoken(reply_to(*chat_events("yes", end=False), event(end), DONE)) == "yes"


@pytest.mark.parametrize("end", [(event(chat_chunk({}, "stop")),), (DONE,)])
def test_a_reason_or_the_word_done_is_an_end(end: tuple[bytes, ...]) -> None:
    pieces = reply_to(*chat_events("Hi", end=False), *end)
    assert pieces == [Spoken("Hi"), Stopped("stop")]


WHOLE = {
    "id": "c",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
}


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain"])
def test_a_server_that_does_not_stream_is_read_too(kind: str) -> None:
    body = json.dumps(WHOLE, indent=2).encode()
    pieces = reply_to(b"\n", body[:40], body[40:], kind=kind)
    assert pieces == [Spoken("Hello"), Usage(4, 2), Stopped("stop")]


@pytest.mark.parametrize("kind", ["application/json", "application/octet-stream", ""])
def test_a_stream_is_one_whatever_the_server_calls_it(kind: str) -> None:
    assert spoken(reply_to(*chat_events("Hi"), kind=kind)) == "Hi"


def test_a_stream_may_be_cut_anywhere() -> None:
    stream = b"\xef\xbb\xbf" + b"".join(chat_events("Grüße 🙂"))
    assert spoken(reply_to(*(bytes((one,)) for one in stream))) == "Grüße 🙂"


def test_half_a_character_is_replaced() -> None:
    assert (
        spoken(reply_to(b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n', DONE)) == "a�"
    )


def test_a_compressed_reply_is_read() -> None:
    with ModelServer() as server:
        packed = gzip.compress(b"".join(chat_events("Hello")))
        server.answer(packed[:30], packed[30:], headers={"content-encoding": "gzip"})
        pieces, error = reply_of(endpoint(server))
    assert error is None
    assert spoken(pieces) == "Hello"


def test_connections_are_used_again() -> None:
    with ModelServer() as server:

        async def run() -> None:
            model = endpoint(server)
            for _ in range(3):
                pieces, error = await pieces_of(model)
                assert (spoken(pieces), error) == ("Hello", None)
            await model.close()

        asyncio.run(run())
        assert server.connections == 1
    assert len(server.requests) == 3


def test_one_model_serves_many_at_once() -> None:
    async def run(server: ModelServer) -> None:
        model = endpoint(server)
        replies = await asyncio.gather(*(pieces_of(model) for _ in range(120)))
        assert all(spoken(pieces) == "Hello" for pieces, _ in replies)
        await model.close()

    with ModelServer() as server:
        asyncio.run(run(server))


def test_a_model_can_be_used_in_one_event_loop_after_another() -> None:
    with ModelServer() as server:
        model = endpoint(server)
        for _ in range(2):
            assert spoken(reply_of(model)[0]) == "Hello"


def test_a_server_on_this_machine_is_asked_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with ModelServer() as server:
        assert spoken(reply_of(endpoint(server))[0]) == "Hello"


def test_a_model_thinks_for_itself_and_has_the_server_s_name() -> None:
    model = ChatEndpoint(EndpointSettings(base_url="http://127.0.0.1:9/v1", model="qwen"))
    assert model.name == "qwen"
    assert not model.writes_results


def test_an_endpoint_needs_an_address_and_a_model() -> None:
    with pytest.raises(CallerError, match="base_url"):
        ChatEndpoint(EndpointSettings(model="m"))
    with pytest.raises(CallerError, match="model"):
        ChatEndpoint(EndpointSettings(base_url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("url", ["http://1.2.3.999/v1", f"http://h/{'x' * 70_000}"])
def test_an_address_that_cannot_be_asked_is_refused(url: str) -> None:
    with pytest.raises(CallerError, match="no address of a model") as raised:
        ChatEndpoint(EndpointSettings(base_url=url, model="m"))
    assert len(str(raised.value)) < 200

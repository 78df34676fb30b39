"""Fields of a request that go to the server as they are, and what servers tell beside the text."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.blocks import TextPart
from callblocks.models.model import Message, Piece, Request, Sampled, SampledToken, Usage
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint
from support.model_replies import reply_of
from support.model_server import DONE, ModelServer, chat_chunk, event

HELLO = (Message("user", (TextPart("Hi"),)),)


@pytest.fixture
def server() -> Any:
    with ModelServer() as server:
        yield server


def _ask(server: ModelServer, fields: dict[str, Any], **settings: Any) -> list[Piece]:
    model = ChatEndpoint(EndpointSettings(base_url=server.url, model="test", **settings))
    pieces, error = reply_of(model, Request(messages=HELLO, extra=fields, max_tokens=9))
    assert error is None
    return pieces


def test_fields_of_a_request_lie_under_all_others(server: ModelServer) -> None:
    extra = {"top_p": 0.5, "seed": 1, "max_tokens": 7, "stream": False, "user": None}
    _ask(server, extra, extra={"seed": 2})
    body = server.requests[0].body
    assert (body["top_p"], body["seed"], body["max_tokens"], body["stream"]) == (0.5, 2, 9, True)
    assert "user" not in body


def test_a_field_that_the_server_does_not_know_is_left_out(server: ModelServer) -> None:
    words = b'{"error": {"message": "Unrecognized request argument supplied: seed"}}'
    server.answer(words, status=400, kind="application/json")
    _ask(server, {"seed": 1, "top_p": 0.5})
    assert ["seed" in one.body for one in server.requests] == [True, False]
    assert server.requests[1].body["top_p"] == 0.5


def _tokens(server: ModelServer, choice: dict[str, Any]) -> list[SampledToken]:
    chunk = chat_chunk({"content": "Hi"}, "stop")
    chunk["choices"][0] |= choice
    server.answer(event(chunk), DONE)
    found = [one for one in _ask(server, {"logprobs": True}) if isinstance(one, Sampled)]
    return [token for one in found for token in one.tokens]


@pytest.mark.parametrize(
    ("choice", "tokens"),
    [
        (
            {"logprobs": {"content": [{"token": "Hi", "logprob": -0.5, "id": 5}]}},
            [SampledToken("Hi", 5, -0.5)],
        ),
        (
            {"logprobs": {"tokens": ["H", "i"], "token_logprobs": [None, -1]}},
            [SampledToken("H"), SampledToken("i", None, -1.0)],
        ),
        ({"token_ids": [3, 4]}, [SampledToken(id=3), SampledToken(id=4)]),
        ({"logprobs": {"content": None}}, []),
        ({"logprobs": "yes", "token_ids": {}}, []),
        ({"logprobs": {"content": [1, {"token": 2}]}}, [SampledToken()]),
    ],
)
def test_tokens_come_in_the_shapes_of_servers(
    server: ModelServer, choice: dict[str, Any], tokens: list[SampledToken]
) -> None:
    assert _tokens(server, choice) == tokens


@pytest.mark.parametrize(
    ("details", "usage"),
    [
        (
            {
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(7, 3, 4, 2),
        ),
        ({"prompt_tokens_details": None, "completion_tokens_details": [1]}, Usage(7, 3)),
        ({"prompt_tokens_details": {"cached_tokens": "x"}}, Usage(7, 3)),
    ],
)
def test_usage_tells_what_was_cached_and_thought(
    server: ModelServer, details: dict[str, Any], usage: Usage
) -> None:
    chunk = chat_chunk({"content": "Hi"}, "stop")
    chunk["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, **details}
    server.answer(event(chunk), DONE)
    assert usage in _ask(server, {})

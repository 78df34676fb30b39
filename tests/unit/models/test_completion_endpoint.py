from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.errors import CallerError
from callblocks.models.model import Request, Spoken, Stopped
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import CompletionEndpoint
from support.model_replies import HELLO, reply_of, spoken
from support.model_server import ModelServer, completion_events


def endpoint(server: ModelServer, format: str = "chatml", **settings: Any) -> CompletionEndpoint:
    return CompletionEndpoint(
        EndpointSettings(base_url=server.url, model="base", **settings), format
    )


def test_a_prompt_is_one_text_with_the_stops_of_its_format() -> None:
    with ModelServer() as server:
        server.answer(*completion_events("Hel", "lo"))
        pieces, error = reply_of(endpoint(server), Request(messages=HELLO.messages, stop=("END",)))
    assert error is None
    assert pieces == [Spoken("Hel"), Spoken("lo"), Stopped("stop")]
    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body == {
        "model": "base",
        "prompt": "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
        "<|im_start|>assistant\n",
        "stream": True,
        "stream_options": {"include_usage": True},
        "stop": ["<|im_end|>", "<|im_start|>", "<|endoftext|>", "END"],
        "max_tokens": 2048,
    }


def test_a_limit_of_the_request_goes_before_ours() -> None:
    with ModelServer() as server:
        reply_of(endpoint(server), Request(messages=HELLO.messages, max_tokens=9))
    assert server.requests[0].body["max_tokens"] == 9


@pytest.mark.parametrize(("format", "text"), [("plain", "Hi there"), ("chatml", "  Hi there")])
def test_a_blank_that_belongs_to_the_format_is_not_in_the_reply(format: str, text: str) -> None:
    with ModelServer() as server:
        server.answer(*completion_events(" ", " Hi", " there"))
        pieces, _ = reply_of(endpoint(server, format))
    assert spoken(pieces) == text
    assert all(piece.text for piece in pieces if isinstance(piece, Spoken))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(CallerError, match="alpaca"):
        CompletionEndpoint(EndpointSettings(base_url="http://h/v1", model="m"), "alpaca")


def test_a_model_has_the_server_s_name_and_shows_no_key() -> None:
    settings = EndpointSettings(base_url="http://h/v1", model="base", key="secret-12345")
    model = CompletionEndpoint(settings)
    assert model.name == "base"
    assert not model.writes_results
    assert "secret-12345" not in repr(model)

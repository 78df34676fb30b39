"""What a person is told to do where a model's server refuses, and that no secret is in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from callblocks.core.errors import ModelError
from callblocks.models.open_model import locate, open_model
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoint_faults import is_context_full
from callblocks.models.openai.endpoints import ChatEndpoint
from callblocks.models.openai.known_servers import SERVERS
from support.model_replies import reply_of
from support.model_server import ModelServer, event

KEY = "Zq7-wolf_under.the+moon/42"

TOO_LONG = [
    *("context_length_exceeded", "exceed_context_size_error"),
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000",
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size",
    "Context size has been exceeded.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "However, the model is loaded with context length of only 4096 tokens, which is not enough",
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens",
    "`inputs` must have less than 1024 tokens. Given: 2000",
    "Input is too long for requested model.",
    "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "Your input exceeds the context window of this model.",
    "the input length exceeds the context length",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "Requested tokens (5000) exceed context window of 4096",
    "Please reduce the length of the messages or completion.",
    "'max_tokens' is too large: 9999. This model's maximum context length is 4096 tokens",
]
NOT_TOO_LONG = [
    *("", "invalid key", "unknown field context_window", "the file is too large"),
    "Rate limit reached: too many tokens per minute",
    "Request too large for model on tokens per minute (TPM): Limit 6000",
    "The model `x` does not exist",
    "temperature must be less than 2",
]


def refused(
    body: object, status: int = 400, *, models: list[str] | None = None, **settings: Any
) -> ModelError:
    with ModelServer(models=models) as server:
        server.answer(json.dumps(body).encode(), status=status, kind="application/json")
        own = EndpointSettings(base_url=server.url, model="qwen3", key=KEY, **settings)
        _, error = reply_of(ChatEndpoint(own))
    assert error is not None
    assert KEY not in error.message
    return error


@pytest.mark.parametrize("words", TOO_LONG)
def test_each_server_s_words_for_a_full_context_are_known(words: str) -> None:
    assert is_context_full(words)


@pytest.mark.parametrize("words", NOT_TOO_LONG)
def test_other_words_are_no_full_context(words: str) -> None:
    assert not is_context_full(words)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "No.", "code": "context_length_exceeded"}},
        {"error": {"message": TOO_LONG[4], "type": "exceed_context_size_error", "code": 400}},
        {"object": "error", "message": TOO_LONG[2], "code": 40303},
        {"detail": [{"msg": TOO_LONG[2]}]},
        [{"error": {"message": TOO_LONG[9]}}],
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_a_full_context_is_told_with_what_to_lower(body: object, status: int) -> None:
    error = refused(body, status)
    assert error.code == "model_context_full"
    for way in ("--max-tokens", "--only", "`context`", "`budget`", "a new chat"):
        assert way in error.message


def test_what_a_server_quotes_of_the_request_says_nothing() -> None:
    quoted = {"detail": [{"msg": "bad field", "input": "context_length_exceeded"}]}
    assert refused(quoted, 422).code == "model_refused"


def test_a_full_context_in_the_middle_of_a_reply_is_one_too() -> None:
    with ModelServer() as server:
        server.answer(event({"error": {"message": TOO_LONG[6]}}))
        _, error = reply_of(ChatEndpoint(EndpointSettings(base_url=server.url, model="m")))
    assert error is not None
    assert error.code == "model_context_full"
    assert "--only" in error.message


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("variable", ["CALLBLOCKS_MODEL_KEY", "OPENAI_API_KEY"])
def test_a_refused_key_is_told_by_its_variable_and_never_by_its_value(
    status: int, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CALLBLOCKS_MODEL_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def told() -> str:
        with ModelServer() as server:
            server.answer(f"wrong: {KEY}".encode(), status=status)
            _, error = reply_of(open_model(f"{server.url}#m"))
        assert error is not None
        return error.message

    assert "no key was sent: set CALLBLOCKS_MODEL_KEY or OPENAI_API_KEY" in told()
    monkeypatch.setenv(variable, "")
    assert f"{variable} is empty" in told()
    monkeypatch.setenv(variable, KEY)
    assert f"the key that was sent is that of {variable}" in told()
    assert KEY not in told()


UNKNOWN = [
    (404, {"error": {"message": "The model `qwen3` does not exist", "code": "model_not_found"}}),
    (404, {"error": "model 'qwen3' not found, try pulling it first"}),
    (400, {"error": {"message": "qwen3 is not a valid model ID"}}),
    (400, {"message": "Invalid model: qwen3"}),
    (422, {"detail": "unknown model qwen3"}),
]


@pytest.mark.parametrize(("status", "body"), UNKNOWN)
def test_an_unknown_model_is_told_with_those_that_there_are(status: int, body: object) -> None:
    error = refused(body, status, models=["qwen3:8b", "llama3.2"])
    assert error.code == "model_refused"
    assert "did you mean qwen3:8b? It has: qwen3:8b, llama3.2" in error.message


def test_an_unknown_model_of_ollama_is_told_with_how_to_fetch_it() -> None:
    error = refused(UNKNOWN[1][1], 404, models=["llama3.2"], server="ollama")
    assert "to fetch it: ollama pull qwen3" in error.message
    assert (
        "load one; to fetch it" in refused(UNKNOWN[1][1], 404, models=[], server="ollama").message
    )


def test_a_server_that_lists_nothing_leaves_the_hint_as_it_is() -> None:
    assert "check the address and the model's name" in refused({"error": "no"}, 404).message
    assert "check the address" in refused({"error": "no"}, 404, models=["qwen3"]).message


def test_a_field_that_is_refused_asks_for_no_list() -> None:
    with ModelServer(models=["a"]) as server:
        server.answer(b'{"error": "unknown field top_q"}', status=400)
        reply_of(ChatEndpoint(EndpointSettings(base_url=server.url, model="m")))
        assert server.listed == []


def test_many_models_are_cut_short() -> None:
    error = refused({"error": "no"}, 404, models=[f"model-{number}" for number in range(300)])
    assert "and 280 more" in error.message


@pytest.mark.parametrize("name", [name for name, one in SERVERS.items() if one.start])
def test_a_server_that_does_not_run_is_told_with_how_to_start_it(name: str) -> None:
    located = locate(f"{name}:m", EndpointSettings(tries=1, key=""))
    # Nothing listens at this port, whatever runs on the machine of the tests.
    settings = msgspec.structs.replace(located, base_url="http://127.0.0.1:9/v1")
    _, error = reply_of(ChatEndpoint(settings))
    assert error is not None
    assert error.code == "model_unreachable"
    assert f"start it: {SERVERS[name].start}" in error.message


def test_another_server_that_does_not_run_is_told_by_its_address() -> None:
    _, error = reply_of(open_model("http://127.0.0.1:9/v1#m", EndpointSettings(tries=1)))
    assert error is not None
    assert "check the address, and that the server runs" in error.message

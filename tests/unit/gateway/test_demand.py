"""Demands that a model's server holds itself: which server can, and what it is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callblocks import ToolSpec, dialects
from callblocks.core.blocks import TextPart
from callblocks.gateway.engine import reply
from callblocks.gateway.exchange import GatewayRequest, ToolChoice
from callblocks.gateway.upstreams import Hold, ModelSettings, Upstream, hold_of
from callblocks.models.model import Message
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint
from support.model_server import DONE, ModelServer, chat_chunk, event

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("get_weather", "Tell the weather.", CITY)
TIME = ToolSpec("get_time", "Tell the time.", CITY)
REQUIRED = ToolChoice("required")
HELD = {"grammar", "reasoning_format"}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def _asked(**fields: Any) -> GatewayRequest:
    messages = (Message("user", (TextPart("What is the weather in Oslo?"),)),)
    fields = {"choice": REQUIRED, **fields}
    return GatewayRequest(
        wire="chat", model="m", messages=messages, tools=(WEATHER, TIME), **fields
    )


def _upstream(at: ModelServer, grammars: bool | None = None, **settings: Any) -> Upstream:
    model = ChatEndpoint(EndpointSettings(base_url=at.url, model="one", **settings))
    return Upstream(name="m", model=model, settings=ModelSettings(grammars=grammars, retries=0))


async def _held(upstream: Upstream, request: GatewayRequest) -> Hold | None:
    try:
        return await hold_of(request, upstream, dialects["hermes"])
    finally:
        await upstream.model.close()


def _hold(upstream: Upstream, request: GatewayRequest | None = None) -> Hold | None:
    return asyncio.run(_held(upstream, request or _asked()))


@pytest.mark.parametrize(
    ("owner", "form"),
    [
        ("llamacpp", "gbnf"),
        ("vllm", "gbnf"),
        ("sglang", "structural_tag"),
        ("library", "json_schema"),
        ("organization_owner", "json_schema"),
        ("somebody", ""),
        (None, ""),
    ],
)
def test_a_server_at_a_bare_address_is_known_by_the_owner_of_its_models(
    owner: str | None, form: str
) -> None:
    with ModelServer(models=("one", "two"), owner=owner) as server:
        upstream = _upstream(server)
        hold = _hold(upstream)
        assert getattr(upstream.model, "grammar_form", None) == form
        if not form:
            assert hold is None
            return
        assert hold is not None
        assert bool(hold.grammar) is (form == "gbnf")
        kind = hold.fields.get("response_format", {}).get("type", "")
        assert kind == ("" if form == "gbnf" else form)


@pytest.mark.parametrize("models", [("another",), None])
def test_llama_cpp_answers_to_any_name_and_no_list_tells_nothing(
    models: tuple[str, ...] | None,
) -> None:
    with ModelServer(models=models, owner="llamacpp") as server:
        assert (_hold(_upstream(server)) is not None) is (models is not None)


def test_a_plain_completions_api_is_known_by_its_list_too() -> None:
    with ModelServer(models=("one",), owner="vllm") as server:
        model = CompletionEndpoint(EndpointSettings(base_url=server.url, model="one"))
        hold = _hold(Upstream(name="m", model=model))
        assert hold is not None
        assert "root ::=" in hold.grammar


def test_a_server_is_asked_once_and_only_where_a_demand_needs_it() -> None:
    with ModelServer(models=("one",)) as server:
        upstream = _upstream(server)

        async def act() -> None:
            for choice in (ToolChoice("auto"), ToolChoice("none")):
                assert await hold_of(_asked(choice=choice), upstream, dialects["hermes"]) is None
            assert not server.listed
            for _ in range(3):
                assert await hold_of(_asked(), upstream, dialects["hermes"]) is None
            await upstream.model.close()

        asyncio.run(act())
        assert len(server.listed) == 1


def test_a_server_is_not_asked_where_the_settings_say_what_it_takes() -> None:
    with ModelServer(models=("one",), owner="llamacpp") as server:
        assert _hold(_upstream(server, grammars=False)) is None
        assert _hold(_upstream(server, grammar_field="guided_grammar")) is not None
        assert _hold(_upstream(server, server="openai")) is None
        assert not server.listed


def test_a_grammar_holds_the_named_tools_alone_and_one_call_where_one_is_demanded() -> None:
    with ModelServer(models=("one",), owner="llamacpp") as server:
        named = _hold(_upstream(server), _asked(choice=ToolChoice("required", ("get_time",))))
        many, one = _hold(_upstream(server)), _hold(_upstream(server), _asked(parallel=False))
    assert named is not None
    assert many is not None
    assert one is not None
    assert "get_weather" not in named.grammar
    assert "get_weather" in many.grammar
    assert many.grammar != one.grammar


def test_a_demand_goes_to_llama_cpp_at_a_bare_address_as_a_grammar_without_tools() -> None:
    with ModelServer(models=("one",), owner="llamacpp", extras=HELD) as server:
        server.answer(event(chat_chunk({"content": CALL}, "stop")), DONE)

        async def act() -> list[Any]:
            upstream = _upstream(server)
            events = [one async for one in reply(_asked(), upstream)]
            await upstream.model.close()
            return events

        events = asyncio.run(act())
        (request,) = server.requests
    assert "root ::=" in request.body["grammar"]
    assert request.body["reasoning_format"] == "none"
    assert "tools" not in request.body
    assert events[-1].reason == "calls"

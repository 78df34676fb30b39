"""The Python clients run their tool by what a model wrote as text, on every wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import anthropic
import openai
import pydantic_ai
import pytest
from openai.types.responses import ResponseFunctionToolCall
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from support.command_tool import DESCRIPTION, INPUT, NAME, SCHEMA, CommandTool
from support.gateway import Way
from support.scripted_upstream import ANSWER, DIALECTS, LEAD

QUESTION = "Run it."

Client = Callable[[str, str, bool, CommandTool], Iterator[str]]
"""Asks QUESTION of a model at an address, streaming or not; gives its text before and after."""


def _chat(url: str, model: str, streams: bool, tool: CommandTool) -> Iterator[str]:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA, "strict": True}
    asked: Any = {
        "model": model,
        "messages": messages,
        "tools": [{"type": "function", "function": function}],
    }
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        while True:
            if streams:
                with client.chat.completions.stream(**asked) as stream:
                    reply = stream.get_final_completion()
            else:
                reply = client.chat.completions.create(**asked)
            choice = reply.choices[0]
            calls = choice.message.tool_calls or []
            assert choice.finish_reason == ("tool_calls" if calls else "stop")
            messages.append(choice.message.to_dict())
            yield choice.message.content or ""
            if not calls:
                return
            for call in calls:
                assert call.type == "function"
                output = tool.run(json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def _responses(url: str, model: str, streams: bool, tool: CommandTool) -> Iterator[str]:
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA, "strict": True}
    asked: Any = {"model": model, "input": items, "tools": [{"type": "function", **function}]}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        while True:
            if streams:
                with client.responses.stream(**asked) as stream:
                    reply = stream.get_final_response()
            else:
                reply = client.responses.create(**asked)
            assert reply.status == "completed"
            items += [item.to_dict() for item in reply.output]
            yield reply.output_text
            calls = [item for item in reply.output if isinstance(item, ResponseFunctionToolCall)]
            if not calls:
                return
            for call in calls:
                output = tool.run(json.loads(call.arguments))
                items.append(
                    {"type": "function_call_output", "call_id": call.call_id, "output": output}
                )


def _messages(url: str, model: str, streams: bool, tool: CommandTool) -> Iterator[str]:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    asked: Any = {
        "model": model,
        "max_tokens": 1000,
        "messages": messages,
        "tools": [{"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}],
    }
    with anthropic.Anthropic(base_url=url, api_key="none") as client:
        while True:
            if streams:
                with client.messages.stream(**asked) as stream:
                    reply = stream.get_final_message()
            else:
                reply = client.messages.create(**asked)
            messages.append({"role": "assistant", "content": reply.to_dict()["content"]})
            yield "".join(block.text for block in reply.content if block.type == "text")
            calls = [block for block in reply.content if block.type == "tool_use"]
            assert reply.stop_reason == ("tool_use" if calls else "end_turn")
            if not calls:
                return
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": tool.run(cast("dict[str, Any]", call.input)),
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": results})


def _pydantic_ai(model: Callable[[str, str], AbstractAsyncContextManager[Model]]) -> Client:
    def ask(url: str, name: str, streams: bool, tool: CommandTool) -> Iterator[str]:
        yield from asyncio.run(_agent_texts(model(url, name), streams, tool))

    return ask


async def _agent_texts(
    opened: AbstractAsyncContextManager[Model], streams: bool, tool: CommandTool
) -> list[str]:
    async def read(_: Any, events: AsyncIterable[Any]) -> None:
        async for _event in events:
            pass

    async with opened as model:
        agent = pydantic_ai.Agent(model)

        @agent.tool_plain(name=NAME, description=DESCRIPTION)
        def run_command(command: str, lines: int) -> str:
            return tool.run({"command": command, "lines": lines})

        result = await agent.run(QUESTION, event_stream_handler=read if streams else None)
    return [
        "".join(part.content for part in message.parts if part.part_kind == "text")
        for message in result.all_messages()
        if message.kind == "response"
    ]


@asynccontextmanager
async def _chat_model(url: str, name: str) -> AsyncIterator[Model]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        yield OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))


@asynccontextmanager
async def _responses_model(url: str, name: str) -> AsyncIterator[Model]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        yield OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=client))


@asynccontextmanager
async def _messages_model(url: str, name: str) -> AsyncIterator[Model]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key="none") as client:
        yield AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


CLIENTS: dict[str, Client] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _messages,
    "pydantic-ai-chat": _pydantic_ai(_chat_model),
    "pydantic-ai-responses": _pydantic_ai(_responses_model),
    "pydantic-ai-messages": _pydantic_ai(_messages_model),
}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_runs_its_tool_and_gets_the_answer(
    way: Way, client: str, dialect: str, streams: bool
) -> None:
    tool = CommandTool()
    texts = [*CLIENTS[client](way.url, dialect, streams, tool)]
    assert tool.inputs == [INPUT]
    assert [text.strip() for text in texts] == [LEAD.strip(), ANSWER]

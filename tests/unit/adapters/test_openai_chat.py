"""A chat client of OpenAI before a server without tools; the package is the real one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
from openai import AsyncOpenAI

from callblocks.adapters.text_tools import ToolsClient, without_tools

CALL = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]


def client(asked: list[Any]) -> Any:
    def answer(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        asked.append(body)
        head = {"id": "c", "created": 1, "model": "m"}
        if not body.get("stream"):
            message = {"role": "assistant", "content": CALL}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            whole = {**head, "object": "chat.completion", "choices": [choice]}
            return httpx2.Response(200, json=whole)
        deltas = [*({"content": char} for char in CALL), {}]
        lines = [
            {"delta": delta, "index": 0, "finish_reason": None if delta else "stop"}
            for delta in deltas
        ]
        chunk = {**head, "object": "chat.completion.chunk"}
        content = "".join(f"data: {json.dumps({**chunk, 'choices': [one]})}\n\n" for one in lines)
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, content=content.encode(), headers=headers)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    return AsyncOpenAI(base_url="http://model/v1", api_key="none", http_client=http)


def test_a_reply_has_its_call_where_servers_with_tools_have_it() -> None:
    asked: list[Any] = []

    async def run() -> tuple[Any, list[Any]]:
        async with client(asked) as inner:
            chat = ToolsClient(inner, dialect="hermes").chat.completions
            messages: Any = [{"role": "user", "content": "Oslo?"}]
            whole = await chat.create(model="m", messages=messages, tools=TOOLS)
            stream = await chat.create(model="m", messages=messages, tools=TOOLS, stream=True)
            return whole, [chunk async for chunk in stream]

    whole, chunks = asyncio.run(run())
    (call,) = whole.choices[0].message.tool_calls
    assert json.loads(call.function.arguments) == {"city": "Oslo"}
    assert whole.choices[0].finish_reason == "tool_calls"
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(one.content or "" for one in deltas).strip() == "I look."
    (streamed,) = [call for one in deltas for call in one.tool_calls or ()]
    assert streamed.function.name == "weather"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert all("tools" not in body for body in asked)


def test_history_stands_as_the_model_writes_it() -> None:
    function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
    call = {"id": "x", "type": "function", "function": function}
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": [{"type": "text", "text": "Oslo?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "rain"},
        {"role": "user", "content": "And?"},
    ]
    asked, tools = without_tools(messages, TOOLS, dialect="hermes")
    assert [one["role"] for one in asked] == ["system", "user", "assistant", "user"]
    assert asked[0]["content"].startswith("You help.")
    assert "<tool_call>" in asked[2]["content"]
    assert asked[3]["content"] == "[Result of weather]\nrain\n\nAnd?"
    assert [spec.name for spec in tools.specs] == ["weather"]


def test_without_tools_nothing_changes() -> None:
    messages = [{"role": "user", "content": "Hello"}]
    assert without_tools(messages, None)[0] == messages

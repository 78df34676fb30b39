"""However a model's text is cut, the strict helpers of the clients assemble the same message."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from callblocks import dialects, parse
from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from support.direct_gateway import Texts, anthropic_client, openai_client
from support.sampling import FULL

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "the city"},
        "days": {"type": "integer", "description": "how many days"},
        "detailed": {"type": "boolean", "description": "with all details"},
    },
    "required": ["city", "days", "detailed"],
}
TOOL = ToolSpec("get_weather", "Tell the weather.", SCHEMA)
FIRST = Call(id="c1", name=TOOL.name, input={"city": 'Å "x" \\ b', "days": 12, "detailed": True})
SECOND = Call(id="c2", name=TOOL.name, input={"city": "Rio", "days": -3, "detailed": False})
MOST = sys.maxsize if FULL else 5
"""Cuts of one text that are tried: each text has another choice, `CALLBLOCKS_FULL=1` has all."""

TAUGHT = tuple(name for name, dialect in dialects.items() if dialect.rules)
Message: TypeAlias = tuple[str, list[tuple[str, Any]]]


def _text(dialect: str) -> tuple[str, Message]:
    """A text of a dialect with what it can say of prose and calls, and what it says."""
    attempts: tuple[list[Item], ...] = (
        ["I look. ", FIRST, "\n\nAnd there. ", SECOND],
        ["I look. ", FIRST, SECOND],
        [FIRST, SECOND],
        ["I look. ", FIRST],
        [FIRST],
    )
    for items in attempts:
        try:
            text = dialects[dialect].write(items, [TOOL])
        except Unwritable:
            continue
        parsed = parse(text, dialect, tools=[TOOL])
        return text, (parsed.text, [(call.name, call.input) for call in parsed.calls])
    raise AssertionError(f"{dialect} writes no call")


def _chat(model: Texts, dialect: str) -> Message:
    function = {"name": TOOL.name, "description": TOOL.description, "parameters": SCHEMA}
    messages: Any = [{"role": "user", "content": "How is it?"}]
    tools: Any = [{"type": "function", "function": function}]
    with (
        openai_client(model, dialect) as client,
        client.chat.completions.stream(model="m", messages=messages, tools=tools) as stream,
    ):
        (choice,) = stream.get_final_completion().choices
    calls: list[tuple[str, Any]] = []
    for call in choice.message.tool_calls or ():
        assert call.type == "function"
        calls.append((call.function.name, json.loads(call.function.arguments)))
    assert choice.finish_reason == "tool_calls"
    return choice.message.content or "", calls


def _responses(model: Texts, dialect: str) -> Message:
    tools: Any = [{"type": "function", "name": TOOL.name, "parameters": SCHEMA, "strict": False}]
    with (
        openai_client(model, dialect) as client,
        client.responses.stream(model="m", input="How is it?", tools=tools) as stream,
    ):
        reply = stream.get_final_response()
    calls = [
        (item.name, json.loads(item.arguments))
        for item in reply.output
        if item.type == "function_call"
    ]
    return reply.output_text, calls


def _messages(model: Texts, dialect: str) -> Message:
    tools: Any = [{"name": TOOL.name, "input_schema": SCHEMA}]
    messages: Any = [{"role": "user", "content": "How is it?"}]
    with (
        anthropic_client(model, dialect) as client,
        client.messages.stream(model="m", max_tokens=99, messages=messages, tools=tools) as stream,
    ):
        reply = stream.get_final_message()
    text = "".join(block.text for block in reply.content if block.type == "text")
    calls = [(block.name, block.input) for block in reply.content if block.type == "tool_use"]
    assert reply.stop_reason == "tool_use"
    return text, [(name, input) for name, input in calls]


HELPERS: dict[str, Callable[[Texts, str], Message]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
}


@pytest.mark.parametrize("dialect", TAUGHT)
def test_each_cut_gives_the_same_message(dialect: str) -> None:
    text, (prose, calls) = _text(dialect)
    # Cuts in equal steps, beginning elsewhere for each dialect: together they come everywhere.
    step = max(1, len(text) // MOST)
    first = 1 + TAUGHT.index(dialect) % step
    cuts = [(text,), *((text[:at], text[at:]) for at in range(first, len(text), step))]
    for name, helper in HELPERS.items():
        for pieces in cuts:
            said, called = helper(Texts(pieces), dialect)
            assert called == calls, f"{name}: {pieces}"
            assert said.split() == prose.split(), f"{name}: {pieces}"

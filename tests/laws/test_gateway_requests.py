"""Whatever is wrong in a request, it is answered, or refused as the client's own mistake."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from callblocks import dialects
from callblocks.gateway.engine import reply
from callblocks.gateway.exchange import GatewayFault, ReplyHead
from callblocks.gateway.server import all_wires
from callblocks.gateway.upstreams import ModelSettings, Upstream
from callblocks.gateway.wires.reply_items import Wire
from callblocks.models.model import CALL_MODES
from support.direct_gateway import Texts
from support.sampling import share

WIRES = all_wires()
TAUGHT = [name for name, one in dialects.items() if one.rules]
CHANGED = share(900, of=45)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": ["integer", "null"]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
    },
    "required": ["city"],
    "$defs": {"tag": {"enum": [1, "a"]}},
}
GIVEN = '{"city": "Oslo"}'
FUNCTION = {"name": "get_weather", "description": "It.", "parameters": SCHEMA, "strict": True}
TOOL = {"type": "function", "function": FUNCTION}
PIXEL = "iVBORw0KGgo="
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "function": {"name": "get_weather", "arguments": GIVEN}},
                    {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "x"}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "<tool_call>{}</tool_call>"},
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "r"}]},
        ],
        "tools": [
            TOOL,
            {"type": "custom", "custom": {"name": "patch", "format": {"type": "text"}}},
            {"type": "namespace", "name": "ns", "tools": [TOOL]},
        ],
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "parallel_tool_calls": False,
        "response_format": FORM,
        "max_tokens": 5,
        "stop": ["END"],
        "stream_options": {"include_usage": True},
    },
    "responses": {
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "a", "name": "get_weather", "arguments": GIVEN},
            {"type": "function_call_output", "call_id": "a", "output": "rain"},
            {"type": "local_shell_call", "call_id": "b", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "call_id": "b", "output": "x"},
        ],
        "tools": [{"type": "function", **FUNCTION}, {"type": "web_search"}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [FUNCTION]},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}},
        "reasoning": {"effort": "low"},
        "include": ["reasoning.encrypted_content"],
    },
    "messages": {
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image", "source": {"type": "base64", "data": PIXEL}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "O"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
        ],
        "tools": [{"name": "get_weather", "input_schema": SCHEMA, "strict": True}],
        "tool_choice": {"type": "tool", "name": "get_weather"},
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "stop_sequences": ["END"],
    },
    "ollama": {
        "messages": [
            {"role": "user", "content": "Look.", "images": [PIXEL]},
            {
                "role": "assistant",
                "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "O"}}}],
            },
            {"role": "tool", "tool_name": "get_weather", "content": "rain"},
        ],
        "tools": [TOOL],
        "format": SCHEMA,
        "options": {"temperature": 0.1, "num_predict": 5, "stop": ["END"]},
    },
    "generate": {"prompt": "Look.", "system": "Be kind.", "images": [PIXEL], "format": "json"},
}
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e400, "", "get_weather", "\ud83d", "{}", "x" * 5000, 10**30),
    *([], {}, [None], [[]], {"a": None}, {"": {"": ""}}, {"$ref": "#"}, {"$ref": "#/none"}),
    *({"type": ["none"]}, {"properties": []}, {"enum": []}, {"required": "x"}, {"pattern": "("}),
)
KEYS = ("type", "name", "id", "content", "role", "parameters", "properties", "required", "items")
TEXTS = (
    "Hello. END",
    "<think>Hm.</think>" + GIVEN,
    f'<tool_call>\n{{"name": "get_weather", "arguments": {GIVEN}}}\n</tool_call>',
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a value but itself."""
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, key))


def _changed(body: dict[str, Any], random: Random) -> dict[str, Any]:
    """Return the body with one to three values changed, moved, repeated or taken away."""
    body = copy.deepcopy(body)
    for _ in range(random.choice((1, 1, 2, 3))):
        *path, last = random.choice([*_places(body)])
        holder: Any = body
        for key in path:
            holder = holder[key]
        match random.randrange(5):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, list):
                holder.insert(0, copy.deepcopy(holder[last]))
            case 2 if isinstance(holder, dict):
                holder[random.choice(KEYS)] = copy.deepcopy(holder[last])
            case _:
                holder[last] = copy.deepcopy(random.choice(VALUES))
    return body


async def _answered(wire: Wire, body: dict[str, Any], random: Random) -> None:
    request = wire.read(body, {})
    model = Texts(random.choice(TEXTS))
    model.mode = random.choice([mode for mode in CALL_MODES if mode != "auto"])
    upstream = Upstream(
        name="m", model=model, dialect=random.choice(TAUGHT), settings=ModelSettings(retries=1)
    )
    events = [event async for event in reply(request, upstream)]
    head = ReplyHead("1", 1, "m")
    writer = wire.writer(request, head)
    assert writer.begin() + b"".join(map(writer.write, events))
    json.dumps(wire.whole(request, head, events), allow_nan=False)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_changed_request_is_answered_or_refused(name: str) -> None:
    wire = WIRES[name]
    statuses: dict[int, int] = {}
    for seed in range(CHANGED):
        random = Random(seed)
        body = _changed({"model": "m", "max_tokens": 9, **REQUESTS[name]}, random)
        try:
            asyncio.run(_answered(wire, body, random))
        except GatewayFault as fault:
            statuses[seed] = fault.status
            json.dumps(wire.fault(fault), allow_nan=False)
    assert 0 < len(statuses) < CHANGED
    assert {seed: status for seed, status in statuses.items() if status != 400} == {}

"""Many calls at once, and demands that a model does not keep: held by asking it again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callblocks.core.calls import Call
from support.direct_gateway import Texts, anthropic_client, openai_client
from support.scripted_upstream import DIALECTS, cut, write_reply

NAMES = ("read_page", "write_page")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"page": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["page"],
}
QUESTION: Any = [{"role": "user", "content": "Go on."}]
FUNCTIONS: Any = [
    {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES
]
FLAT: Any = [{"type": "function", "name": name, "parameters": SCHEMA} for name in NAMES]
TOOLS: Any = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
LIE = "I would rather talk about it."


def _call(number: int, name: str = NAMES[0]) -> Call:
    return Call(id=f"c{number}", name=name, input={"page": number, "note": f"n {number}"})


def _dialect(name: str) -> str:
    """The dialect that the gateway is told: none for code fences, which it finds itself."""
    return "" if name == "json-fence" else name


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 20])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_among_prose_arrive_in_their_order(dialect: str, count: int) -> None:
    calls = [_call(number) for number in range(count)]
    between = "" if dialect == "json-fence" else "Next.\n\n"
    items: list[str | Call] = ["I read.\n\n"]
    for call in calls:
        items += [call, between]
    text = write_reply(dialect, *(item for item in items if item))
    wanted = [(call.name, call.input) for call in calls]
    with openai_client(Texts([*cut(text, count)]), _dialect(dialect)) as client:
        with client.chat.completions.stream(
            model="m", messages=QUESTION, tools=FUNCTIONS
        ) as stream:
            message = stream.get_final_completion().choices[0].message
        assert _functions(message) == wanted
        assert len({call.id for call in message.tool_calls or ()}) == count
        with client.responses.stream(model="m", input="Go on.", tools=FLAT) as stream:
            output = stream.get_final_response().output
        found = [item for item in output if item.type == "function_call"]
        assert [(item.name, json.loads(item.arguments)) for item in found] == wanted
    with (
        anthropic_client(Texts([*cut(text, count)]), _dialect(dialect)) as client,
        client.messages.stream(model="m", max_tokens=9, messages=QUESTION, tools=TOOLS) as stream,
    ):
        content = stream.get_final_message().content
    found = [block for block in content if block.type == "tool_use"]
    assert [(block.name, block.input) for block in found] == wanted


# What a client demands of the chat wire, what a model writes that does not keep it, and what does.
DEMANDS: dict[str, tuple[dict[str, Any], tuple[str | Call, ...], tuple[str | Call, ...]]] = {
    "required": ({"tool_choice": "required"}, (LIE,), (_call(1),)),
    "named": (
        {"tool_choice": {"type": "function", "function": {"name": NAMES[1]}}},
        (_call(1),),
        (_call(2, NAMES[1]),),
    ),
    "allowed": (
        {
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": NAMES[1]}}],
                },
            }
        },
        (_call(1),),
        (_call(2, NAMES[1]),),
    ),
}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("demand", DEMANDS)
def test_a_demand_is_held_by_asking_again(demand: str, dialect: str, streams: bool) -> None:
    fields, lie, truth = DEMANDS[demand]
    texts = [write_reply(dialect, *items) for items in (lie, lie, truth)]
    model = Texts(*([*cut(text, 7)] for text in texts))
    message = _asked(model, dialect, streams, **fields)
    (call,) = [item for item in truth if isinstance(item, Call)]
    assert _functions(message) == [(call.name, call.input)]
    assert len(model.requests) == 3


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_with_none_there_is_no_call(dialect: str, streams: bool) -> None:
    text = write_reply(dialect, "I read.\n\n", _call(1))
    message = _asked(Texts([*cut(text, 3)]), dialect, streams, tool_choice="none")
    assert not message.tool_calls
    assert "I read." in message.content


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_parallel_calls_there_is_one(dialect: str, streams: bool) -> None:
    text = write_reply(dialect, "I read.\n\n", _call(1), _call(2), _call(3))
    message = _asked(Texts([*cut(text, 3)]), dialect, streams, parallel_tool_calls=False)
    assert _functions(message) == [(NAMES[0], _call(1).input)]


def _asked(model: Texts, dialect: str, streams: bool, **fields: Any) -> Any:
    """The message that a chat client gets."""
    with openai_client(model, _dialect(dialect)) as client:
        asked: Any = {"model": "m", "messages": QUESTION, "tools": FUNCTIONS, **fields}
        if not streams:
            return client.chat.completions.create(**asked).choices[0].message
        with client.chat.completions.stream(**asked) as stream:
            return stream.get_final_completion().choices[0].message


def _functions(message: Any) -> list[tuple[str, Any]]:
    calls = message.tool_calls or ()
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]

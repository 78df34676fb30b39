"""Qwen2.5-Coder behind the gateway with its default settings: calls, where its server gives text.

The same requests go to the server of llama.cpp directly, and through `callblocks proxy`, by the
clients that people use. `make test-llm` runs this. What was seen is written to
`docs/transcripts/qwen2.5-coder-gateway.md`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from anthropic import Anthropic
from openai import OpenAI

from callblocks import Registry, ToolError, tool
from callblocks.models.openai.endpoints import chat_tool
from support.gateway import gateway_of
from support.llama_server import llama_server
from support.qwen_weights import NAME, qwen_weights

PAGE = Path(__file__).parents[2] / "docs" / "transcripts" / "qwen2.5-coder-gateway.md"
TOKENS = 100
ROUNDS = 3
"""How often a client asks within one turn."""

OSLO = "What is the weather in Oslo?"
BOTH = "What is the weather in Oslo? And what is it in Lima?"
IN_OSLO = ("get_weather", {"city": "Oslo"})
IN_LIMA = ("get_weather", {"city": "Lima"})
TIME_IN_OSLO = ("get_time", {"city": "Oslo"})

WEATHER = {"oslo": "4 °C, rain", "lima": "19 °C, fog", "paris": "11 °C", "cairo": "31 °C, sun"}
PHONES = {"ada": "+47 555 0101", "bob": "+51 555 0199"}


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city.

    Args:
        city: the name of the city
    """
    if city.lower() not in WEATHER:
        raise ToolError("unknown_city", f"no weather is known of {city}")
    return WEATHER[city.lower()]


@tool
def get_time(city: str) -> str:
    """Tell the time in a city.

    Args:
        city: the name of the city
    """
    return f"half past nine in {city}"


@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


@tool
def find_phone(name: str) -> str:
    """Find the phone number of a person.

    Args:
        name: the person's first name
    """
    if name.lower() not in PHONES:
        raise ToolError("unknown_person", f"nobody here is called {name}")
    return PHONES[name.lower()]


RUNS: dict[str, Callable[..., Any]] = {
    "get_weather": get_weather,
    "get_time": get_time,
    "add": add,
    "find_phone": find_phone,
}
PAIR: Any = [chat_tool(spec) for spec in Registry((get_weather, get_time))]
THREE: Any = [chat_tool(spec) for spec in Registry((get_weather, add, find_phone))]
FLAT: Any = [{"type": "function", **one["function"]} for one in PAIR]
INPUTS: Any = [
    {
        "name": one["function"]["name"],
        "description": one["function"]["description"],
        "input_schema": one["function"]["parameters"],
    }
    for one in PAIR
]

MadeCall = tuple[str, dict[str, Any]]


class Ways(NamedTuple):
    """Where the clients ask: the server itself, and the gateway before it."""

    server: str
    gateway: str


class Seen(msgspec.Struct):
    """What a client got for one request."""

    text: str
    calls: list[MadeCall]
    finish: str

    def cells(self) -> str:
        shown = self.text.strip()
        quoted = json.dumps(shown, ensure_ascii=False).replace("|", "\\|")
        calls = ", ".join(f"`{name} {json.dumps(given)}`" for name, given in self.calls)
        return f"{f'`{quoted}`' if shown else ''} | {calls or 'none'} | {self.finish}"


class Page:
    """The transcript: each test adds rows, and all are written in the end."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.wires: list[str] = []
        self.talks: dict[str, str] = {}

    def add(self, request: str, question: str, direct: Seen, through: Seen) -> None:
        asked = f"{request}, “{question}”"
        self.rows += [
            f"| {asked} | without | {direct.cells()} |\n",
            f"| {asked} | with | {through.cells()} |\n",
        ]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    page = Page()
    yield page
    if len(page.rows) == 2 * len(CASES) and len(page.wires) == len(WIRES) and len(page.talks) == 2:
        PAGE.write_text(_written(page), "utf-8")


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with llama_server(qwen_weights(), NAME) as server:
        # The bare address, and nothing else: as `callblocks proxy --model ADDRESS` has it.
        config = f'[models.qwen]\naddress = "{server}/v1"\n'
        with gateway_of(config, tmp_path_factory.mktemp("gateway")) as gateway:
            yield Ways(server, gateway)


def _openai(url: str) -> OpenAI:
    return OpenAI(base_url=f"{url}/v1", api_key="none", timeout=600, max_retries=0)


def _chat(url: str, question: str, streams: bool = False, **fields: Any) -> Seen:
    asked: Any = {
        "model": NAME,
        "messages": [{"role": "user", "content": question}],
        "tools": PAIR,
        "temperature": 0,
        "seed": 1,
        "max_tokens": TOKENS,
        **fields,
    }
    with _openai(url) as client:
        if streams:
            with client.chat.completions.stream(**asked) as stream:
                reply = stream.get_final_completion()
        else:
            reply = client.chat.completions.create(**asked)
    choice: Any = reply.choices[0]
    calls = [
        (call.function.name, json.loads(call.function.arguments))
        for call in choice.message.tool_calls or ()
    ]
    return Seen(choice.message.content or "", calls, choice.finish_reason)


CASES: dict[str, tuple[str, dict[str, Any], list[MadeCall]]] = {
    "`tool_choice: auto`": (OSLO, {"tool_choice": "auto"}, [IN_OSLO]),
    "`tool_choice: required`": (OSLO, {"tool_choice": "required"}, [IN_OSLO]),
    "`tool_choice` names `get_time`": (
        OSLO,
        {"tool_choice": {"type": "function", "function": {"name": "get_time"}}},
        [TIME_IN_OSLO],
    ),
    "`tool_choice: none`": (OSLO, {"tool_choice": "none"}, []),
    "two questions": (BOTH, {}, [IN_OSLO, IN_LIMA]),
    "`parallel_tool_calls: false`": (
        BOTH,
        {"tool_choice": "required", "parallel_tool_calls": False},
        [IN_OSLO],
    ),
}


@pytest.mark.parametrize("request_name", CASES)
def test_the_server_gives_text_and_the_gateway_calls(
    ways: Ways, page: Page, request_name: str
) -> None:
    question, fields, wanted = CASES[request_name]
    direct = _chat(ways.server, question, **fields)
    through = _chat(ways.gateway, question, **fields)
    page.add(request_name, question, direct, through)
    assert direct.calls == []
    assert through.calls == wanted
    assert through.finish == ("tool_calls" if wanted else "stop")


def _round_trip_of_chats(url: str, streams: bool) -> tuple[list[MadeCall], str]:
    messages: list[Any] = [{"role": "user", "content": OSLO}]
    made: list[MadeCall] = []
    asked: Any = {"model": NAME, "messages": messages, "tools": PAIR, "max_tokens": TOKENS}
    with _openai(url) as client:
        for _ in range(ROUNDS):
            if streams:
                with client.chat.completions.stream(**asked) as stream:
                    message: Any = stream.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**asked).choices[0].message
            if not message.tool_calls:
                return made, message.content or ""
            sent = message.to_dict()
            messages.append({key: sent[key] for key in ("role", "content", "tool_calls")})
            for call in message.tool_calls:
                made.append((call.function.name, json.loads(call.function.arguments)))
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "content": _run(made[-1])}
                )
    return made, ""


def _round_trip_of_responses(url: str, streams: bool) -> tuple[list[MadeCall], str]:
    items: list[Any] = [{"role": "user", "content": OSLO}]
    made: list[MadeCall] = []
    asked: Any = {"model": NAME, "input": items, "tools": FLAT, "max_output_tokens": TOKENS}
    with _openai(url) as client:
        for _ in range(ROUNDS):
            if streams:
                with client.responses.stream(**asked) as stream:
                    reply: Any = stream.get_final_response()
            else:
                reply = client.responses.create(**asked)
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                return made, reply.output_text
            items += [item.to_dict() for item in reply.output]
            for call in calls:
                made.append((call.name, json.loads(call.arguments)))
                output = {"type": "function_call_output", "call_id": call.call_id}
                items.append({**output, "output": _run(made[-1])})
    return made, ""


def _round_trip_of_messages(url: str, streams: bool) -> tuple[list[MadeCall], str]:
    messages: list[Any] = [{"role": "user", "content": OSLO}]
    made: list[MadeCall] = []
    asked: Any = {"model": NAME, "messages": messages, "tools": INPUTS, "max_tokens": TOKENS}
    with Anthropic(base_url=url, api_key="none", timeout=600, max_retries=0) as client:
        for _ in range(ROUNDS):
            if streams:
                with client.messages.stream(**asked) as stream:
                    reply: Any = stream.get_final_message()
            else:
                reply = client.messages.create(**asked)
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return made, "".join(block.text for block in reply.content if block.type == "text")
            messages.append({"role": "assistant", "content": reply.to_dict()["content"]})
            made += [(call.name, call.input) for call in calls]
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": _run((call.name, call.input)),
                }
                for call in calls
            ]
            messages.append({"role": "user", "content": results})
    return made, ""


WIRES: dict[str, tuple[Callable[[str, bool], tuple[list[MadeCall], str]], bool]] = {
    "openai, `chat.completions`": (_round_trip_of_chats, False),
    "openai, `chat.completions`, streaming": (_round_trip_of_chats, True),
    "openai, `responses`": (_round_trip_of_responses, False),
    "openai, `responses`, streaming": (_round_trip_of_responses, True),
    "anthropic, `messages`": (_round_trip_of_messages, False),
    "anthropic, `messages`, streaming": (_round_trip_of_messages, True),
}


@pytest.mark.parametrize("client", WIRES)
def test_a_result_goes_back_and_the_answer_follows(ways: Ways, page: Page, client: str) -> None:
    ask, streams = WIRES[client]
    made, answer = ask(ways.gateway, streams)
    calls = ", ".join(f"`{name} {json.dumps(given)}`" for name, given in made)
    page.wires.append(f"| {client} | {calls} | {answer.strip()} |\n")
    assert IN_OSLO in made
    assert answer.strip()


TURNS: tuple[tuple[str, tuple[MadeCall, ...]], ...] = (
    (OSLO, (IN_OSLO,)),
    ("And what is the weather in Lima?", (IN_LIMA,)),
    ("Add 17 and 25.", (("add", {"a": 17, "b": 25}),)),
    ("What can you help me with? Answer in one sentence.", ()),
    ("What is Ada's phone number?", (("find_phone", {"name": "Ada"}),)),
    ("Add 1200 and 34.", (("add", {"a": 1200, "b": 34}),)),
    ("Which of the two cities is warmer, Oslo or Lima?", ()),
    (
        "What is the weather in Paris, and what is it in Cairo?",
        (("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Cairo"})),
    ),
    ("What is Bob's phone number?", (("find_phone", {"name": "Bob"}),)),
    ("Thank you. Say goodbye in one short sentence.", ()),
)
"""What the person says in one chat, and the calls that the answer needs."""
NEEDED = sum(bool(calls) for _, calls in TURNS)
LEAST = 5
"""One less than each of four runs made: the temperature is low, but not 0."""


def test_ten_turns_of_one_chat_keep_calling(ways: Ways, page: Page) -> None:
    without, shown = _talk(ways.server)
    page.talks["without"] = f"{without} of {NEEDED}"
    right, shown = _talk(ways.gateway)
    page.talks["with"] = f"{right} of {NEEDED}.\n\n{shown}"
    assert right >= LEAST > without


def _talk(url: str) -> tuple[int, str]:
    """Return how many turns had their calls, and what was said."""
    messages: list[Any] = []
    right, shown = 0, list[str]()
    with _openai(url) as client:
        for number, (prompt, needed) in enumerate(TURNS, 1):
            messages.append({"role": "user", "content": prompt})
            made: list[MadeCall] = []
            lines: list[str] = []
            text = ""
            for _ in range(ROUNDS):
                reply = client.chat.completions.create(
                    model=NAME, messages=messages, tools=THREE, max_tokens=TOKENS
                )
                message: Any = reply.choices[0].message
                text = message.content or ""
                messages.append({"role": "assistant", "content": text})
                if not message.tool_calls:
                    break
                messages[-1]["tool_calls"] = message.to_dict()["tool_calls"]
                for call in message.tool_calls:
                    made.append((call.function.name, json.loads(call.function.arguments)))
                    output = _run(made[-1])
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
                    given = json.dumps(made[-1][1], ensure_ascii=False)
                    lines.append(f"- `{made[-1][0]}` with `{given}` gave `{output}`\n")
            right += bool(needed) and all(call in made for call in needed)
            said = f"\n````text\n{text.strip()}\n````\n"
            shown.append(f"### {number}. {prompt}\n\n{''.join(lines)}{said}")
    return right, "\n".join(shown)


def _run(call: MadeCall) -> str:
    name, given = call
    try:
        return str(RUNS[name](**given))
    except (KeyError, ToolError, TypeError) as error:
        return f"error: {error}"


def _written(page: Page) -> str:
    return (
        "# Qwen2.5-Coder behind the gateway\n\n"
        f"What `make test-llm` saw: {NAME} (4-bit weights), run by the server of llama.cpp "
        f"(xllamacpp {version('xllamacpp')}) on {os.cpu_count()} cores. The same weights, the same "
        f"server, the same clients (openai {version('openai')}, anthropic "
        f"{version('anthropic')}), without the gateway and with `callblocks proxy --model "
        "http://127.0.0.1:PORT/v1`, which has no further setting.\n\n"
        "## One request\n\n"
        f"Two tools, `temperature: 0`, `max_tokens: {TOKENS}`.\n\n"
        "| request | gateway | `content` | `tool_calls` | `finish_reason` |\n"
        f"|---|---|---|---|---|\n{''.join(page.rows)}\n"
        "## A round trip on each wire\n\n"
        f"“{OSLO}” The client runs its tool, sends the result, and gets an answer.\n\n"
        f"| client | calls | answer |\n|---|---|---|\n{''.join(page.wires)}\n"
        "## Ten turns of one chat\n\n"
        "Three tools, and the default temperature. Turns that need calls and got them, without the "
        f"gateway: {page.talks['without']}. With it: {page.talks['with']}"
    )

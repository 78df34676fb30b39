"""Qwen2.5-Coder-1.5B-Instruct in llama.cpp's own server: with us calls, without us text.

`make test-llm` runs this: no other run collects it, since a gigabyte of weights is downloaded once.
What was seen is written to `docs/transcripts/qwen2.5-coder.md`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai import OpenAI

from callblocks import Call, Registry, ToolError, dialects, parse, tool
from callblocks.models.openai.endpoints import chat_tool
from support.llama_server import llama_server
from support.qwen_weights import NAME, qwen_weights

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "transcripts" / "qwen2.5-coder.md"
PATIENCE = 600

TOOLS_FILE = '''from callblocks import ToolError, tool

WEATHER = {"oslo": "4 °C, rain", "lima": "19 °C, fog", "paris": "11 °C", "cairo": "31 °C, sun"}
PHONES = {"ada": "+47 555 0101", "bob": "+51 555 0199"}


@tool(read_only=True)
def get_weather(city: str) -> str:
    """Tell the weather of a city.

    Args:
        city: the name of the city
    """
    if city.lower() not in WEATHER:
        raise ToolError("unknown_city", f"no weather is known of {city}")
    return WEATHER[city.lower()]


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two whole numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


@tool(read_only=True)
def find_phone(name: str) -> str:
    """Find the phone number of a person.

    Args:
        name: the person's first name
    """
    if name.lower() not in PHONES:
        raise ToolError("unknown_person", f"nobody here is called {name}")
    return PHONES[name.lower()]
'''

TURNS: tuple[tuple[str, tuple[tuple[str, dict[str, Any]], ...]], ...] = (
    ("What is the weather in Oslo?", (("get_weather", {"city": "Oslo"}),)),
    ("And what is the weather in Lima?", (("get_weather", {"city": "Lima"}),)),
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
"""What the person says, and the calls that the answer needs."""

NEEDED = sum(bool(calls) for _, calls in TURNS)
LEAST = 6
"""One less than three runs in a row made: the temperature is low, but not 0."""
TOOL_NAMES = ("get_weather", "add", "find_phone")


@tool(read_only=True)
def get_weather(city: str) -> str:
    """Tell the weather of a city.

    Args:
        city: the name of the city
    """
    return f"rain in {city}"


WEATHER = Registry((get_weather,))
FUNCTION = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "the name of the city"}},
            "required": ["city"],
        },
    },
}


class Page:
    """The transcript: each test adds its part, and all are written in the end."""

    def __init__(self) -> None:
        self.table = ""
        self.talk = ""
        self.plain = ""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    page = Page()
    yield page
    if page.table and page.plain and page.talk:
        head = (
            "# Qwen2.5-Coder calls tools\n\n"
            f"What `make test-llm` saw: {NAME} (4-bit weights), run by the server of llama.cpp "
            f"(xllamacpp {version('xllamacpp')}) on {os.cpu_count()} cores.\n\n"
        )
        PAGE.write_text(f"{head}{page.table}\n{page.plain}\n{page.talk}", "utf-8")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the model answers."""
    with llama_server(qwen_weights(), NAME) as address:
        yield address


class Row(msgspec.Struct):
    """What a plain client gets, and what we read in its text."""

    request: str
    content: str
    native: int
    finish: str
    calls: list[str]

    def line(self) -> str:
        shown = json.dumps(self.content.rstrip(), ensure_ascii=False).replace("|", "\\|")
        read = ", ".join(f"`{call}`" for call in self.calls)
        return f"| {self.request} | `{shown}` | {self.native} | {self.finish} | {read} |\n"


def _ask(address: str, request: str, system: str, question: str, **more: Any) -> Row:
    client = OpenAI(base_url=f"{address}/v1", api_key="none", timeout=PATIENCE)
    messages: Any = [{"role": "user", "content": question}]
    if system:
        messages.insert(0, {"role": "system", "content": system})
    reply = client.chat.completions.create(
        model=NAME, messages=messages, temperature=0, seed=1, max_tokens=200, **more
    )
    (choice,) = reply.choices
    content = choice.message.content or ""
    read = parse(content, "auto", tools=WEATHER, in_code_fences=True)
    calls = [f"{call.name} {json.dumps(call.input)}" for call in read.calls]
    native = len(choice.message.tool_calls or ())
    return Row(request, content, native, choice.finish_reason, calls)


def test_what_a_plain_client_gets_as_text_we_read_as_calls(address: str, page: Page) -> None:
    oslo = "What is the weather in Oslo?"
    both = "What is the weather in Oslo? And what is it in Lima?"
    plain: dict[str, Any] = {"tools": [FUNCTION]}
    taught = dialects["hermes"].teach(WEATHER)
    rows = [
        _ask(address, "`tool_choice: auto`", "", oslo, **plain, tool_choice="auto"),
        _ask(address, "`tool_choice: required`", "", oslo, **plain, tool_choice="required"),
        _ask(address, "no `tools`, taught `hermes`", taught, both),
    ]
    page.table = (
        "## One question, by a plain client\n\n"
        "| request | `content` | `tool_calls` | `finish_reason` | read by `parse` |\n"
        f"|---|---|--:|---|---|\n{''.join(row.line() for row in rows)}"
    )
    one = ['get_weather {"city": "Oslo"}']
    assert [row.native for row in rows] == [0, 0, 0]
    assert [row.calls for row in rows] == [one, one, [*one, 'get_weather {"city": "Lima"}']]


def test_the_same_talk_by_a_plain_client_is_known(address: str, page: Page) -> None:
    """Ask natively, by the server's own template, with its default temperature and without.

    The server gives the calls as text. They are read as we read them, and go back as `tool_calls`.
    """
    found = {how: _plain_talk(address, more) for how, more in PLAIN.items()}
    rows = "".join(f"| {how} | {right} of {NEEDED} |\n" for how, right in found.items())
    page.plain = (
        "## The same ten turns, by a plain client\n\n"
        "Messages go to the server natively, without any prompt of ours. The calls are read by "
        "`parse`, since the server reads none, and shown to the model as `tool_calls`.\n\n"
        f"| request | turns with their calls |\n|---|--:|\n{rows}"
    )
    assert max(found.values()) < NEEDED


PLAIN: dict[str, dict[str, Any]] = {
    "default temperature": {},
    "`temperature: 0`": {"temperature": 0},
}
ROUNDS = 3
"""How often the plain client asks in one turn."""


def _plain_talk(address: str, more: dict[str, Any]) -> int:
    """Return how many of the turns that need calls made them."""
    client = OpenAI(base_url=f"{address}/v1", api_key="none", timeout=PATIENCE)
    names: dict[str, Any] = {}
    exec(TOOLS_FILE, names)
    tools = Registry(tuple(names[name] for name in TOOL_NAMES))
    offered: Any = [chat_tool(spec) for spec in tools]
    messages: list[Any] = []
    right = 0
    for prompt, needed in TURNS:
        messages.append({"role": "user", "content": prompt})
        turn = Turn(prompt)
        for _ in range(ROUNDS):
            reply = client.chat.completions.create(
                model=NAME, messages=messages, tools=offered, max_tokens=200, **more
            )
            content = reply.choices[0].message.content or ""
            calls = parse(content, "auto", tools=tools, in_code_fences=True).calls
            if not calls:
                messages.append({"role": "assistant", "content": content})
                break
            turn.calls += [(call.name, call.input) for call in calls]
            ids = [f"call{len(messages)}n{at}" for at in range(len(calls))]
            messages.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [_native(*one) for one in zip(ids, calls, strict=True)],
                }
            )
            for id, call in zip(ids, calls, strict=True):
                given = _run(names[call.name], call.input)
                messages.append({"role": "tool", "tool_call_id": id, "content": given})
        right += bool(needed) and _made(turn, needed)
    return right


def _native(id: str, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.input)}
    return {"id": id, "type": "function", "function": function}


def _run(function: Any, given: dict[str, Any]) -> str:
    try:
        return str(function(**given))
    except (ToolError, TypeError) as error:
        return str(error)


class Turn(msgspec.Struct):
    """What a turn of the command said and did."""

    prompt: str
    text: str = ""
    status: str = ""
    calls: list[tuple[str, dict[str, Any]]] = []
    ids: list[str] = []
    outcomes: dict[str, str] = {}
    """By the ids of the calls: those of one reply end in any order."""

    def shown(self, number: int) -> str:
        parts = [f"### {number}. {self.prompt}\n"]
        for id, (name, given) in zip(self.ids, self.calls, strict=True):
            said = json.dumps(given, ensure_ascii=False)
            parts.append(f"- `{name}` with `{said}` gave `{self.outcomes.get(id, '')}`")
        parts.append(f"\n{_quoted(self.text)}" if self.text.strip() else "")
        return "\n".join(parts) + "\n"


def _chat(folder: Path, address: str, prompt: str) -> Turn:
    """Say something in the same chat, as a user who connected the model does: by its address."""
    allowed = [f"--allow={name}" for name in TOOL_NAMES]
    known = [f"--only={name}" for name in TOOL_NAMES]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "callblocks", "chat", "qwen", "-m", f"{address}/v1#{NAME}"),
            *("-T", "tools.py", *known, *allowed, "--prompt", prompt, "--json"),
        ],
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": os.fspath(folder / "state")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    turn = Turn(prompt)
    for line in done.stdout.splitlines():
        _take(turn, json.loads(line))
    assert turn.status, done.stderr
    return turn


def _take_written(turn: Turn, event: dict[str, Any]) -> None:
    match event["type"]:
        case "text":
            turn.text += event["text"]
        case "call-ready":
            turn.calls.append((event["call"]["name"], event["call"]["input"]))
            turn.ids.append(event["call"]["id"])
        case _:
            pass


def _take(turn: Turn, event: dict[str, Any]) -> None:
    match event["type"]:
        case "model-wrote":
            _take_written(turn, event["event"])
        case "call-ended":
            outcome = event["outcome"]
            error = outcome.get("error")
            said = error["code"] if error else str(outcome.get("output"))
            turn.outcomes[outcome["id"]] = said
        case "turn-ended":
            turn.status = event["status"]
        case _:
            pass


def test_a_talk_of_ten_turns_by_default_settings(address: str, page: Page, tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS_FILE, "utf-8")
    turns = [_chat(tmp_path, address, prompt) for prompt, _ in TURNS]
    shown = "\n".join(turn.shown(number) for number, turn in enumerate(turns, 1))
    right = [
        turn.prompt
        for turn, (_, calls) in zip(turns, TURNS, strict=True)
        if calls and _made(turn, calls)
    ]
    page.talk = (
        "## Ten turns with three tools, by default settings\n\n"
        f"`callblocks chat qwen -m http://127.0.0.1:PORT/v1#{NAME} -T tools.py --prompt …`, "
        f"once for each turn. Of {NEEDED} turns that need calls, {len(right)} made them.\n\n{shown}"
    )
    assert all(turn.status for turn in turns)
    # No call of a tool is left as text in the prose, and none is lost: each has its outcome. A tool
    # that the model makes up stays prose.
    left = re.compile(rf'"name"\s*:\s*"(?:{"|".join(TOOL_NAMES)})"')
    assert not [turn.text for turn in turns if left.search(turn.text)]
    assert [set(turn.ids) for turn in turns] == [set(turn.outcomes) for turn in turns]
    assert len(right) >= LEAST


def _made(turn: Turn, needed: Sequence[tuple[str, dict[str, Any]]]) -> bool:
    """Whether each call that a turn needs was made, whatever was called beside it."""
    return all(call in turn.calls for call in needed)


def _quoted(text: str) -> str:
    return f"````text\n{text.strip()}\n````\n"

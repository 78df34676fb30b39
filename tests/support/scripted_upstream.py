r"""A model's server on loopback whose models play one script: a call, and an answer to its result.

    with ScriptedUpstream() as upstream:
        upstream.play("shell", command=COMMAND)
        … a gateway in front of it, and a client in front of that
        assert upstream.bodies[0]["messages"] == …

It streams as llama.cpp does without its tool parser: text alone. A request with `tools` is refused
in that server's words, or with `takes_tools` they are ignored. The model's name is the dialect that
it writes (`hermes`, `qwen3_coder`, …, `json-fence`), cut into pieces whose lengths come from
a seed. What it writes is decided by the request alone:

    the last messages hold RESULT   prose that quotes it: ANSWER
    its tools are in the prompt     prose and the call
    else                            TITLE, for clients that first ask for a title
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from callblocks import dialects
from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec
from support.model_server import DONE, Answer, Asked, ModelServer, Step, chat_chunk, event

__all__ = (
    "ANSWER",
    "COMMAND",
    "DIALECTS",
    "LEAD",
    "RESULT",
    "TITLE",
    "ScriptedUpstream",
    "cut",
    "write_reply",
)

DIALECTS = ("hermes", "qwen3_coder", "json-fence", "emoji-bracket", "tool-fence")

COMMAND = "printf 'gateway-%s' ok"
"""Prints RESULT, which it does not contain: only a client that ran it has it."""
RESULT = "gateway-ok"
LEAD = "I look at it <now> & then. "
ANSWER = f"The tool said: {RESULT}. That is all."
TITLE = "A title"


class ScriptedUpstream(ModelServer):
    """`calls` are what a model writes first; `seed` decides how its text is cut."""

    def __init__(self, *, takes_tools: bool = False, seed: int = 0) -> None:
        super().__init__(models=DIALECTS)
        self.takes_tools = takes_tools
        self.seed = seed
        self.calls: tuple[Call, ...] = ()
        # Texts to write before the script, each to one request: a model that lies.
        self.lies: list[str] = []

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests for a reply."""
        return [asked.body for asked in self.requests]

    def play(self, name: str, **arguments: Any) -> None:
        """Forget what was asked, and write one call from now on."""
        self.requests.clear()
        self.calls = (Call(id="c1", name=name, input=arguments),)

    def play_command(self) -> None:
        """Write one call of `run_command`, which the clients of the tests declare."""
        self.play("run_command", command=COMMAND, lines=3)

    def _choose(self, asked: Asked) -> Answer:
        if asked.body.get("tools") and not self.takes_tools:
            words = {"code": 500, "message": "tools param requires --jinja flag"}
            told = json.dumps({"error": {**words, "type": "server_error"}}).encode()
            return Answer((told,), 500, {"content-type": "application/json"})
        self.seed += 1
        text = self.lies.pop(0) if self.lies else self._text(asked.body)
        if asked.body.get("stream"):
            return Answer((*_stream(text, self.seed),), 200, {"content-type": "text/event-stream"})
        return Answer((_whole(text),), 200, {"content-type": "application/json"})

    def _text(self, body: Mapping[str, Any]) -> str:
        messages: list[dict[str, Any]] = body["messages"]
        roles = [message["role"] for message in messages]
        last = len(roles) - roles[::-1].index("assistant") if "assistant" in roles else 0
        recent = json.dumps(messages[last:], ensure_ascii=False)
        if last and RESULT in recent:
            return ANSWER
        declared = json.dumps([body.get("tools"), messages[0]], ensure_ascii=False)
        if not all(call.name in declared for call in self.calls):
            return TITLE
        if last and any(call.name in json.dumps(messages[last - 1]) for call in self.calls):
            # A client whose tool failed would be asked for ever.
            return f"No result: {recent[:400]}"
        return write_reply(str(body["model"]), LEAD, *self.calls)


def write_reply(dialect: str, *items: str | Call) -> str:
    """Return prose and calls as text in a dialect; for `json-fence` each call is a fence."""
    if dialect == "json-fence":
        return "".join(item if isinstance(item, str) else _fenced(item) for item in items)
    specs = {item.name: _spec(item) for item in items if isinstance(item, Call)}
    return dialects[dialect].write([*items], [*specs.values()])


def cut(text: str, seed: int) -> Iterator[str]:
    """Cut a text into pieces of one to nine characters."""
    lengths, at = random.Random(seed), 0
    while at < len(text):
        size = lengths.randint(1, 9)
        yield text[at : at + size]
        at += size


def _fenced(call: Call) -> str:
    value = json.dumps({"name": call.name, "arguments": call.input}, ensure_ascii=False)
    return f"\n\n```json\n{value}\n```\n"


def _spec(call: Call) -> ToolSpec:
    """A tool that takes what a call gives: some dialects write by the order of its parameters."""
    kinds = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}
    properties = {name: {"type": kinds[type(value)]} for name, value in call.input.items()}
    schema = {"type": "object", "properties": properties}
    return ToolSpec(name=call.name, description="", parameters=schema)


def _stream(text: str, seed: int) -> Iterator[Step]:
    yield event(chat_chunk({"role": "assistant", "content": None}))
    for piece in cut(text, seed):
        yield event(chat_chunk({"content": piece}))
    yield event(chat_chunk({}, "stop"))
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    yield event({**chat_chunk({}), "choices": [], "usage": usage})
    yield DONE


def _whole(text: str) -> bytes:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    head = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "test"}
    return json.dumps({**head, "choices": [choice], "usage": usage}).encode()

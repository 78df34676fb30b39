"""A model's server that streams as those of model families do, and is as strict as a template.

    with FamilyServer("mixed") as server:
        model = open_model(f"{server.url}#qwen3:8b")

The `model` of a request names the family. The first round calls `file_write` with what `wanted`
says; once the result is among the messages, the next one answers and quotes it.

    text     A request with `tools` is refused in the server's own words. The call is text.
    native   The call comes as `tool_calls`, in the server's own way.
    mixed    `tools` are taken, but the server fails to find the call: it stays in the content.

What a chat template or the API would not take is answered with 400, and fails the test at the end
of the block. `misbehave` makes the first round go wrong, see `MISBEHAVIOURS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from callblocks import dialects, parse
from callblocks.core.specs import ToolSpec
from support.model_families import FAMILIES, Arguments, Family
from support.model_server import DONE, Answer, Asked, ModelServer, Step, event

__all__ = ("ANSWER", "MISBEHAVIOURS", "MODES", "TOOL", "FamilyServer", "Mode")

Mode = Literal["text", "native", "mixed"]
MODES: tuple[Mode, ...] = ("text", "native", "mixed")
TOOL = "file_write"
ANSWER = "I have written it. The tool said:"
HUGE = 5 * 1024 * 1024

_SPEC = ToolSpec(
    TOOL,
    "Write a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    body="content",
)
_THOUGHT = "The person wants a file. I have a tool for that."
# Tokens as a model makes them: special ones are whole, words come in parts.
_TOKEN = re.compile(
    r"<[|｜][^<>\s]{1,40}[|｜]>|\[/?[A-Z_]+\]|</?[a-z_:]+>|\s?\w{1,5}|[^\w\s]{1,3}|\s", re.DOTALL
)


class FamilyServer(ModelServer):
    """One server for all families, in one mode."""

    def __init__(self, mode: Mode) -> None:
        super().__init__()
        self.mode: Mode = mode
        self.refused: list[str] = []
        self._families = {family.model: family for family in FAMILIES}
        self.bad = ""

    def misbehave(self, how: str) -> None:
        """Let first rounds go wrong like this from now on; "" ends it."""
        self.bad = how

    def wanted(self, family: Family) -> dict[str, str]:
        """The input of the call that a family makes here: text that looks like code and markup."""
        name = re.sub(r"\W+", "-", family.title.lower())
        content = f'# {family.title}\n\n- milk & "tea"\n- <b>5</b> \\o/ {{x: [1, 2]}}\n'
        return {"path": f"notes/{self.mode}-{name}.md", "content": content}

    def _choose(self, asked: Asked) -> Answer:
        family = self._families.get(str(asked.body.get("model")))
        if family is None:
            return _told(404, f"model {asked.body.get('model')!r} not found")
        if self.mode == "text" and asked.body.get("tools"):
            self.refused.append(family.model)
            return _no_tools(family)
        known = msgspec.structs.replace(asked, body=_without_thoughts(asked.body, family))
        if problems := [*self._problems(known)] or [*_odd(asked.body, family, self)]:
            self.invalid += [f"{family.title}: {problem}" for problem in problems]
            return _told(400, "; ".join(problems))
        return Answer(tuple(self._reply(asked.body, family)))

    def _reply(self, body: Mapping[str, Any], family: Family) -> Iterator[Step]:
        stream = _Stream(family, body, native_thoughts=self.mode != "text")
        messages: list[dict[str, Any]] = body["messages"]
        if self.bad and any(one["role"] == "assistant" for one in messages):
            yield from stream.answer("Done.")
        elif self.bad:
            yield from MISBEHAVIOURS[self.bad](stream, family, self.wanted(family))
        elif result := _result(messages):
            path = self.wanted(family)["path"]
            quote = next(line for line in result.splitlines() if path in line)
            yield from stream.answer(f"{ANSWER} {quote}")
        else:
            yield from self._call(stream, family)

    def _call(self, stream: _Stream, family: Family) -> Iterator[Step]:
        yield from stream.start()
        yield from stream.thought()
        given = self.wanted(family)
        if self.mode == "native":
            yield from stream.text(family.before)
            yield from stream.calls([(TOOL, given)])
            yield from stream.end("tool_calls")
        else:
            yield from stream.text(family.before + family.call(TOOL, given))
            yield from stream.end("stop")


class _Stream:
    """Writes the chunks of one reply as the server of a family does."""

    def __init__(self, family: Family, body: Mapping[str, Any], *, native_thoughts: bool) -> None:
        self._family = family
        self._server = family.server
        self._field = family.thinks if native_thoughts else ""
        options = body.get("stream_options") or {}
        self._has_usage = bool(options.get("include_usage"))
        prefix = "chatcmpl-" if self._server != "vllm" else "chatcmpl-tool-"
        self._head = {
            "id": f"{prefix}1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": family.model,
        }

    def chunk(self, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        """One event; Ollama says the role in each."""
        if self._server == "ollama":
            delta = {"role": "assistant", "content": "", **delta}
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": reason}
        if self._server == "vllm":
            choice["logprobs"] = None
        return event({**self._head, "choices": [choice]})

    def start(self) -> Iterator[bytes]:
        """The first chunk, which has the role alone."""
        if self._server != "ollama":
            content = None if self._server == "llama.cpp" else ""
            yield self.chunk({"role": "assistant", "content": content})

    def text(self, text: str) -> Iterator[bytes]:
        """The content, token by token."""
        for token in _TOKEN.findall(text):
            yield self.chunk({"content": token})

    def answer(self, text: str) -> Iterator[bytes]:
        """A whole reply without a call."""
        yield from self.start()
        yield from self.text(f"{self._family.final[0]}{text}{self._family.final[1]}")
        yield from self.end("stop")

    def thought(self) -> Iterator[bytes]:
        """The reasoning, in the field of the server or between the family's markers."""
        if not self._family.thinks:
            return
        if not self._field:
            yield from self.text(f"{self._family.marks[0]}{_THOUGHT}{self._family.marks[1]}")
            return
        for token in _TOKEN.findall(_THOUGHT):
            yield self.chunk({self._field: token})

    def calls(self, calls: Sequence[tuple[str, Arguments]]) -> Iterator[bytes]:
        """Calls in the API's form, one after the other."""
        for at, (name, given) in enumerate(calls):
            yield from self.call(at, f"call_{at}{name[:3]}", name, json.dumps(dict(given)))

    def call(self, at: int, id: str, name: str, arguments: str) -> Iterator[bytes]:
        """One call: Ollama sends it whole and without an index, the others bit by bit."""
        if self._server == "ollama":
            function = {"name": name, "arguments": arguments}
            yield self.calls_delta({"id": id, "type": "function", "function": function})
            return
        # llama.cpp begins with empty arguments, vLLM with none.
        first = {"name": name, **({"arguments": ""} if self._server == "llama.cpp" else {})}
        yield self.calls_delta({"index": at, "id": id, "type": "function", "function": first})
        for start in range(0, len(arguments), 9):
            piece = {"arguments": arguments[start : start + 9]}
            yield self.calls_delta({"index": at, "function": piece})

    def calls_delta(self, *deltas: Mapping[str, Any]) -> bytes:
        """A chunk with parts of calls."""
        return self.chunk({"tool_calls": list(deltas)})

    def end(self, reason: str) -> Iterator[bytes]:
        """The reason, what it cost, and that it is over."""
        yield self.chunk({}, reason)
        if self._has_usage:
            usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
            yield event({**self._head, "choices": [], "usage": usage})
        yield DONE


Misbehaviour = Callable[[_Stream, Family, dict[str, str]], Iterator[Step]]


def _half_call_and_text(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    yield from stream.start()
    half = json.dumps(given)[:20]
    function = {"name": TOOL, "arguments": half}
    yield stream.calls_delta({"index": 0, "id": "c1", "type": "function", "function": function})
    yield from stream.text("and so on.")
    yield from stream.end("stop")


def _ids_twice(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    yield from stream.start()
    other = {**given, "path": f"{given['path']}.2"}
    for at, one in enumerate((given, other)):
        function = {"name": TOOL, "arguments": json.dumps(one)}
        yield stream.calls_delta(
            {"index": at, "id": "same", "type": "function", "function": function}
        )
    yield from stream.end("tool_calls")


def _object_arguments(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    yield from stream.start()
    function = {"name": TOOL, "arguments": given}
    yield stream.calls_delta({"index": 0, "id": "c1", "type": "function", "function": function})
    yield from stream.end("tool_calls")


def _no_index(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    """Two calls in bits that have ids, but no index."""
    yield from stream.start()
    for id, path in (("c1", given["path"]), ("c2", f"{given['path']}.2")):
        text = json.dumps({**given, "path": path})
        first = {"name": TOOL, "arguments": text[:9]}
        yield stream.calls_delta({"id": id, "type": "function", "function": first})
        yield stream.calls_delta({"function": {"arguments": text[9:]}})
    yield from stream.end("tool_calls")


def _both_forms(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    yield from stream.start()
    yield from stream.text(f"{family.call(TOOL, given)}\n")
    yield from stream.calls([(TOOL, given)])
    yield from stream.end("tool_calls")


def _made_up_tool(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    yield from stream.start()
    yield from stream.calls([("launch_rocket", {"to": "the moon"})])
    yield from stream.end("tool_calls")


def _huge_argument(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    yield from stream.start()
    text = json.dumps({**given, "content": "x" * HUGE})
    first = {"name": TOOL, "arguments": ""}
    yield stream.calls_delta({"index": 0, "id": "c1", "type": "function", "function": first})
    for start in range(0, len(text), 1 << 19):
        piece = {"arguments": text[start : start + (1 << 19)]}
        yield stream.calls_delta({"index": 0, "function": piece})
    yield from stream.end("tool_calls")


def _cut_in_a_call(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    """The connection breaks inside of the arguments."""
    yield from list(stream.start())
    yield from list(stream.call(0, "c1", TOOL, json.dumps(given)))[:4]
    yield "leave"


def _no_finish(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    """The stream ends inside of the arguments, and says nothing of it."""
    yield from stream.start()
    yield from list(stream.call(0, "c1", TOOL, json.dumps(given)))[:4]


def _cut_in_a_text(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    """The connection breaks inside of a call that is text."""
    yield from stream.start()
    yield from stream.text(family.call(TOOL, given)[:60])
    yield "leave"


def _interleaved(stream: _Stream, family: Family, given: dict[str, str]) -> Iterator[Step]:
    """Two calls whose bits alternate, with text among them: allowed, and rare."""
    yield from stream.start()
    texts = [json.dumps(given), json.dumps({**given, "path": f"{given['path']}.2"})]
    for at in range(2):
        first = {"name": TOOL, "arguments": ""}
        head = {"index": at, "id": f"c{at}", "type": "function", "function": first}
        yield stream.calls_delta(head)
    for start in range(0, max(map(len, texts)), 20):
        yield from stream.text("So ")
        pieces = [text[start : start + 20] for text in texts]
        yield stream.calls_delta(
            *({"index": at, "function": {"arguments": one}} for at, one in enumerate(pieces))
        )
    yield from stream.end("tool_calls")


MISBEHAVIOURS: Mapping[str, Misbehaviour] = {
    "half a call and text": _half_call_and_text,
    "ids twice": _ids_twice,
    "arguments as an object": _object_arguments,
    "no index": _no_index,
    "both forms": _both_forms,
    "a made-up tool": _made_up_tool,
    "a huge argument": _huge_argument,
    "two calls in alternating bits": _interleaved,
    "cut in a call": _cut_in_a_call,
    "cut in a call as text": _cut_in_a_text,
    "no finish": _no_finish,
}
"""First rounds that go wrong, or come as hardly any server sends them. Ollama sends a call whole,
so ask for them with a family that it does not serve."""


def _no_tools(family: Family) -> Answer:
    """How servers say that a model has no tools."""
    match family.server:
        case "ollama":
            words = f"registry.ollama.ai/library/{family.model} does not support tools"
            error: dict[str, Any] = {"message": words, "type": "api_error", "code": None}
            return _json(400, {"error": {**error, "param": None}})
        case "llama.cpp":
            words = "tools param requires --jinja flag"
            return _json(500, {"error": {"code": 500, "message": words, "type": "server_error"}})
        case "vllm":
            words = (
                '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser '
                "to be set"
            )
            told = {"object": "error", "message": words, "type": "BadRequestError", "param": None}
            return _json(400, {**told, "code": 400})


def _told(status: int, words: str) -> Answer:
    return _json(status, {"error": {"message": words, "type": "invalid_request_error"}})


def _json(status: int, value: Any) -> Answer:
    return Answer((json.dumps(value).encode(),), status, {"content-type": "application/json"})


def _result(messages: Sequence[Mapping[str, Any]]) -> str:
    """What the tool gave in the last round: in `tool` messages, or in the person's place."""
    roles = [message["role"] for message in messages]
    if "assistant" not in roles:
        return ""
    last = len(roles) - 1 - roles[::-1].index("assistant")
    texts = [str(message.get("content")) for message in messages[last + 1 :]]
    return next((text for text in texts if "notes/" in text), "")


def _without_thoughts(body: Mapping[str, Any], family: Family) -> dict[str, Any]:
    """The request without the reasoning that led to calls: servers that give it take it back.

    They take it under their own name for it. The published types know neither.
    """
    messages = [
        {key: value for key, value in message.items() if key != family.thinks}
        if message.get("tool_calls")
        else message
        for message in body.get("messages") or ()
    ]
    return {**body, "messages": messages}


def _odd(body: Mapping[str, Any], family: Family, server: FamilyServer) -> Iterator[str]:
    """What a strict chat template or API would not take, and what a family would not understand."""
    messages: list[dict[str, Any]] = body["messages"]
    yield from _odd_order(messages)
    yield from _odd_calls(messages)
    declared = [one["function"]["name"] for one in body.get("tools") or ()]
    if declared and TOOL not in declared:
        yield f"{TOOL} is not declared"
    if not declared:
        # In mixed mode a session may see that calls come as text, and teach from then on.
        if server.mode == "native":
            yield f"{TOOL} is not declared"
        told = str(messages[0].get("content"))
        if not all(rule in told for rule in dialects[family.dialect].rules):
            yield f"the prompt does not teach {family.dialect}"
        if TOOL not in told:
            yield f"the prompt does not tell of {TOOL}"
    if len(declared) != len(set(declared)):
        yield f"a tool is declared twice: {declared}"
    if server.bad:
        return
    # What the model itself said is shown to it in its own words.
    for message in messages:
        if message["role"] == "assistant" and _result(messages) and not message.get("tool_calls"):
            text = str(message.get("content"))
            read = parse(text, family.dialect, tools=[_SPEC])
            if [call.name for call in read.calls] != [TOOL]:
                yield f"an earlier call is not in {family.dialect}: {text!r}"
            elif read.calls[0].input != server.wanted(family):
                yield f"an earlier call has another input: {read.calls[0].input}"


def _odd_order(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """System first, then user and assistant in turn; tool messages stand for the user's."""
    roles = [message["role"] for message in messages]
    rest = roles[1:] if roles[0] == "system" else roles
    if "system" in rest:
        yield f"a system message that is not the first: {roles}"
    turns = [role for at, role in enumerate(rest) if role != "tool" or rest[at - 1] != "tool"]
    sides = ["assistant" if role == "assistant" else "user" for role in turns]
    if sides != (["user", "assistant"] * len(sides))[: len(sides)] or sides[-1:] != ["user"]:
        yield f"roles do not alternate: {roles}"
    for message in messages:
        if not message.get("content") and not message.get("tool_calls"):
            yield f"an empty message: {message}"


def _odd_calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Calls have an id of their own and JSON arguments, and each has its result right after it."""
    known: set[str] = set()
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"a result of no call: {message['tool_call_id']}"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"calls without results: {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        if known & {*open_calls} or len(open_calls) != len({*open_calls}):
            yield f"an id is used twice: {open_calls}"
        known.update(open_calls)
        for call in message.get("tool_calls") or ():
            yield from _odd_call(call)
    if open_calls:
        yield f"calls without results: {open_calls}"


def _odd_call(call: Mapping[str, Any]) -> Iterator[str]:
    if not call["id"] or call["type"] != "function":
        yield f"a call without id or type: {call}"
    try:
        given = json.loads(call["function"]["arguments"])
    except ValueError:
        given = None
    if not isinstance(given, dict):
        yield f"arguments that are no JSON object: {call['function']['arguments']!r:.80}"

"""Tools for a model that knows none: taught in the prompt, written in a dialect, read from text.

    tools = TextTools(specs, model="qwen2.5-coder")
    system = tools.system("You help.")          the prompt with the tools in it
    tools.said("I look.", [call])               an earlier reply with its calls, as the model writes
    tools.results([Result(…)])                  what came of them, with nothing in it that acts
    reader = tools.reader()
    reader.feed("<tool_call>…")                 Text, Thought and Call, as they come

This is what the adapters of frameworks share. The same history gives the same prompt; only the ids
of calls that are read are new each time.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.call_text import to_compact_text
from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unsupported, Unwritable
from callblocks.core.events import CallReady, Event, Malformed, Reasoning, Text
from callblocks.core.json_values import json_text
from callblocks.core.specs import ToolSpecs, read_specs
from callblocks.dialects import dialect_of, dialects
from callblocks.parser import Parser
from callblocks.views.model_view.neutral import Neutral, restore_input, signed

__all__ = (
    "Reply",
    "ReplyReader",
    "TextTools",
    "Thought",
    "ToolsClient",
    "Words",
    "agents_provider",
    "functions_of",
    "message_with_calls",
    "read_whole",
    "without_tools",
)

DEFAULT = "hermes"
_CALLING = (
    "Call a tool whenever it can give what is needed. When you call tools, end your reply after "
    "the calls: the results come in the next message. Never write a result yourself."
)
_THOUGHTS = (("<think>", "</think>"),)


class Words(msgspec.Struct, frozen=True):
    """Prose of a reply."""

    text: str


class Thought(msgspec.Struct, frozen=True):
    """A thought of the model."""

    text: str


Reply: TypeAlias = Words | Thought | Call


class TextTools:
    """The tools of one request. `dialect` is what the model writes; by default that of its family.

    Names of tools stay as the framework has them: it allows no others.
    """

    def __init__(self, tools: ToolSpecs, *, dialect: str = "", model: str = "") -> None:
        self.specs = read_specs(tools)
        name = dialect or dialect_of(model) or DEFAULT
        self.dialect = dialects[name]
        if not self.dialect.rules:
            raise Unsupported(f"{name} has no prompt: it is not for models to write")
        self._neutral = Neutral(self.specs, [self.dialect])
        self._shown: list[str] = []

    def system(self, given: str) -> str:
        """Return a system prompt with the tools taught in it."""
        if not self.specs:
            return given
        taught = f"{self.dialect.teach(self.specs)}\n\n{_CALLING}"
        return f"{given}\n\n{taught}" if given.strip() else taught

    def said(self, text: str, calls: Sequence[Call]) -> str:
        """Return an earlier reply as the model writes it itself."""
        if not calls:
            return text
        items: list[Item] = [text.rstrip() + "\n\n"] if text.strip() else []
        for some in ([*items, *calls], [*calls]):
            try:
                return self.dialect.write(some, self.specs)
            except Unwritable:
                continue
        return "\n".join((text, *(f"{call.name}({to_compact_text(call.input)})" for call in calls)))

    def results(self, results: Iterable[tuple[str, str]]) -> str:
        """Return what came of calls, by the names of their tools, as a message of the person."""
        shown = [f"[Result of {name}]\n{self._harmless(text)}" for name, text in results]
        return "\n\n".join(shown)

    def _harmless(self, text: str) -> str:
        shown = self._neutral(text)
        self._shown.append(shown)
        return shown

    def reader(self, *, thoughts: bool = True) -> ReplyReader:
        """Return a reader of one reply; without `thoughts` they stay prose, between their tags."""
        return ReplyReader(self, thoughts=thoughts)

    @property
    def has_signs(self) -> bool:
        """Return whether a text was shown with signs, which are taken out of inputs."""
        return signed(self._shown)


class ReplyReader:
    """Reads a reply as it comes; `close` gives what was still open."""

    def __init__(self, tools: TextTools, *, thoughts: bool = True) -> None:
        self._restores = tools.has_signs
        self._tells_thoughts = thoughts
        self._in_thought = False
        known = [one for one in dialects.values() if one.in_auto and one.rules]
        names = dict.fromkeys((tools.dialect.name, *(one.name for one in known)))
        self._parser: Parser | None = None
        if tools.specs:
            self._parser = Parser(
                [*names], tools=tools.specs, in_code_fences=True, reasoning=_THOUGHTS
            )

    def feed(self, text: str) -> list[Reply]:
        """Read a piece."""
        if self._parser is None:
            return [Words(text)] if text else []
        return self._read(self._parser.feed(text))

    def close(self) -> list[Reply]:
        """Read the end."""
        found = [] if self._parser is None else self._read(self._parser.close())
        return [*found, *self._leave_thought()]

    def _read(self, events: Iterable[Event]) -> list[Reply]:
        found: list[Reply] = []
        for event in events:
            match event:
                case Text(text=text) | Malformed(text=text):
                    found += [*self._leave_thought(), Words(text)] if text else []
                case Reasoning(text=text):
                    found += self._thought(text) if text else []
                case CallReady(call=call):
                    found += [*self._leave_thought(), self._call(call)]
                case _:
                    pass
        return found

    def _thought(self, text: str) -> list[Reply]:
        if self._tells_thoughts:
            return [Thought(text)]
        begins, self._in_thought = not self._in_thought, True
        return [Words(_THOUGHTS[0][0] + text if begins else text)]

    def _leave_thought(self) -> list[Reply]:
        left, self._in_thought = self._in_thought, False
        return [Words(_THOUGHTS[0][1])] if left else []

    def _call(self, call: Call) -> Call:
        # Ids of a text are unique in it; a framework wants them unique in all of a talk.
        given = restore_input(call.input) if self._restores else call.input
        return msgspec.structs.replace(call, id=f"call_{secrets.token_hex(8)}", input=given)


def functions_of(tools: Iterable[Any]) -> list[Any]:
    """Return the tools of a request that a model calls by their name; not a server's own search."""
    return [one for one in tools if _kind(one) == "function"]


def _kind(tool: object) -> object:
    if isinstance(tool, dict):
        return cast("dict[str, object]", tool).get("type")
    return getattr(tool, "type", None)


def read_whole(
    tools: TextTools, text: str, *, thoughts: bool = True
) -> tuple[str, str, list[Call]]:
    """Return the prose, the thoughts and the calls of a whole reply."""
    reader = tools.reader(thoughts=thoughts)
    found = [*reader.feed(text), *reader.close()]
    prose = "".join(one.text for one in found if isinstance(one, Words))
    thought = "".join(one.text for one in found if isinstance(one, Thought))
    return prose.strip(), thought.strip(), [one for one in found if isinstance(one, Call)]


# --- Clients of OpenAI's chat API, and OpenAI Agents: tools for a model whose server has none ---
#
#     client = ToolsClient(AsyncOpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none"))
#     await client.chat.completions.create(model="m", messages=[…], tools=[…])
#
#     agents_provider(client)      for OpenAI Agents: RunConfig(model_provider=…)
#
# The request goes out without its tools: they stand in the prompt, and earlier calls and results as
# the model writes them. What comes back has the calls where a server with tools has them, whole and
# streamed. The gateway (`callblocks proxy`) does this for programs that cannot be changed, with
# demands, retries and a record.

_TAKEN = ("tools", "tool_choice", "parallel_tool_calls")


def without_tools(
    messages: Iterable[Any], tools: Iterable[Any] | None, *, dialect: str = "", model: str = ""
) -> tuple[list[dict[str, Any]], TextTools]:
    """Return messages as a model without tools is to be asked, and the tools that it is taught."""
    known = TextTools(cast("Any", list(tools or ())), dialect=dialect, model=model)
    given = [dict(cast("dict[str, Any]", one)) for one in messages]
    if not known.specs:
        return given, known
    systems = [_text(one) for one in given if one.get("role") in ("system", "developer")]
    names: dict[str, str] = {}
    asked: list[dict[str, Any]] = [
        {"role": "system", "content": known.system("\n\n".join(systems))}
    ]
    for one in given:
        match one.get("role"):
            case "system" | "developer":
                continue
            case "assistant" if one.get("tool_calls"):
                calls = [_call(call) for call in one["tool_calls"]]
                names.update((call.id, call.name) for call in calls)
                asked.append({"role": "assistant", "content": known.said(_text(one), calls)})
            case "tool":
                name = names.get(str(one.get("tool_call_id")), "a tool")
                _add(asked, {"role": "user", "content": known.results([(name, _text(one))])})
            case _:
                _add(asked, one)
    return asked, known


def _add(asked: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Add a message; neighbours of the person become one, as chat templates demand."""
    last = asked[-1]
    both = last["role"] == message["role"] == "user"
    if both and isinstance(last["content"], str) and isinstance(message["content"], str):
        asked[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
    else:
        asked.append(message)


def _text(message: dict[str, Any]) -> str:
    content: Any = message.get("content")
    if isinstance(content, list):
        parts: list[Any] = [one for one in cast("list[Any]", content) if isinstance(one, dict)]
        return "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else ""


def _call(given: Any) -> Call:
    call = cast("dict[str, Any]", given if isinstance(given, dict) else given.model_dump())
    function = cast("dict[str, Any]", call.get("function") or {})
    try:
        read: Any = json.loads(function.get("arguments") or "{}")
    except ValueError:
        read = {}
    fields = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return Call(id=str(call.get("id")), name=str(function.get("name")), input=fields)


def message_with_calls(text: str, tools: TextTools) -> dict[str, Any]:
    """Return the message of a reply: content, reasoning and calls in the fields of the API."""
    prose, thoughts, calls = read_whole(tools, text)
    message: dict[str, Any] = {"role": "assistant", "content": prose or None}
    if thoughts:
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = [_tool_call(call) for call in calls]
    return message


def _tool_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json_text(call.input)}
    return {"id": call.id, "type": "function", "function": function}


class ToolsClient:
    """An `AsyncOpenAI` whose chat completions have tools; all else is that of the client."""

    def __init__(self, client: Any, *, dialect: str = "") -> None:
        self._client = client
        self.chat = _Chat(client, dialect)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


class _Chat:
    def __init__(self, client: Any, dialect: str) -> None:
        self.completions = _Completions(client, dialect)


class _Completions:
    def __init__(self, client: Any, dialect: str) -> None:
        self._client = client
        self._dialect = dialect

    async def create(self, *, messages: Sequence[Any], **body: Any) -> Any:
        create = self._client.chat.completions.create
        given: Any = body.get("tools")
        # The SDK has values of its own for a field that is left out.
        listed = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else ()
        asked, tools = without_tools(
            messages,
            listed,
            dialect=self._dialect,
            model=str(body.get("model", "")),
        )
        if not tools.specs:
            return await create(messages=messages, **body)
        rest = {key: value for key, value in body.items() if key not in _TAKEN}
        answer = await create(messages=asked, **rest)
        return _streamed(answer, tools) if body.get("stream") is True else _whole(answer, tools)


def _whole(answer: Any, tools: TextTools) -> Any:
    given = answer.model_dump(exclude_unset=True)
    for choice in given["choices"]:
        message = message_with_calls(choice["message"].get("content") or "", tools)
        choice["message"] = {**choice["message"], **message}
        if message.get("tool_calls"):
            choice["finish_reason"] = "tool_calls"
    return cast("Any", type(answer)).model_validate(given)


async def _streamed(chunks: AsyncIterator[Any], tools: TextTools) -> AsyncGenerator[Any]:
    """Yield the chunks of a stream with calls in the place of the text that they are."""
    reader = tools.reader()
    count = 0
    async for chunk in chunks:
        if not chunk.choices:
            yield chunk
            continue
        choice = chunk.choices[0]
        found = reader.feed(choice.delta.content or "")
        if choice.finish_reason is not None:
            found += reader.close()
        for one in found:
            delta = _delta(one, count)
            count += isinstance(one, Call)
            yield _chunk(chunk, {"role": "assistant", **delta}, None)
        if choice.finish_reason is not None:
            yield _chunk(chunk, {}, "tool_calls" if count else choice.finish_reason)


def _delta(reply: Reply, index: int) -> dict[str, Any]:
    match reply:
        case Words(text=text):
            return {"content": text}
        case Thought(text=text):
            return {"reasoning_content": text}
        case Call():
            return {"tool_calls": [{"index": index, **_tool_call(reply)}]}


def _chunk(chunk: Any, delta: dict[str, Any], reason: str | None) -> Any:
    given = chunk.model_dump(exclude_unset=True)
    given["choices"] = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return cast("Any", type(chunk)).model_validate(given)


def agents_provider(client: Any, *, dialect: str = "") -> Any:
    """Return a model provider of OpenAI Agents, whose models are those of a client of OpenAI."""
    from importlib import import_module

    agents: Any = import_module("agents")
    tools_client = ToolsClient(client, dialect=dialect)

    class Provider(agents.ModelProvider):
        """Gives each model tools that it writes as text."""

        def get_model(self, model_name: str | None) -> Any:
            return agents.OpenAIChatCompletionsModel(
                model=model_name or "", openai_client=tools_client
            )

    return Provider()

"""Clients of OpenAI's chat API, and OpenAI Agents: tools for a model whose server has none.

    client = ToolsClient(AsyncOpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none"))
    await client.chat.completions.create(model="m", messages=[…], tools=[…])

    agents_provider(client)      for OpenAI Agents: RunConfig(model_provider=…)

The request goes out without its tools: they stand in the prompt, and earlier calls and results as
the model writes them. What comes back has the calls where a server with tools has them, whole and
streamed. The gateway (`callblocks proxy`) does this for programs that cannot be changed, with
demands, retries and a record.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from typing import Any, cast

from callblocks.adapters.text_tools import Reply, TextTools, Thought, Words, read_whole
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text

__all__ = ("ToolsClient", "agents_provider", "message_with_calls", "without_tools")

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

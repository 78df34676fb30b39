"""LangChain: `CallblocksChat` gives any chat model tools.

    model = CallblocksChat(inner=ChatOllama(model="qwen2.5-coder")).bind_tools([weather])
    model.invoke("How is the weather in Oslo?").tool_calls

The inner model is asked without tools: they are taught in its prompt, and its calls are read from
what it writes, whole and streamed.
"""

# pyright: basic, reportMissingImports=false, reportUntypedBaseClass=false
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from callblocks.adapters.text_tools import Reply, TextTools, Thought, Words, read_whole
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text

__all__ = ("CallblocksChat",)


class CallblocksChat(BaseChatModel):
    """A chat model whose calls are read from the text of `inner`."""

    inner: BaseChatModel
    dialect: str = ""

    @property
    def _llm_type(self) -> str:
        return "callblocks"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        kwargs.pop("tool_choice", None)
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        tools = self._tools(kwargs)
        return _result(self.inner.invoke(_asked(messages, tools), stop=stop, **kwargs), tools)

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        tools = self._tools(kwargs)
        answer = await self.inner.ainvoke(_asked(messages, tools), stop=stop, **kwargs)
        return _result(answer, tools)

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        tools = self._tools(kwargs)
        reader, count = tools.reader(), _Count()
        for chunk in self.inner.stream(_asked(messages, tools), stop=stop, **kwargs):
            yield from map(count.chunk, reader.feed(_text(chunk)))
        yield from map(count.chunk, reader.close())

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        tools = self._tools(kwargs)
        reader, count = tools.reader(), _Count()
        async for chunk in self.inner.astream(_asked(messages, tools), stop=stop, **kwargs):
            for one in reader.feed(_text(chunk)):
                yield count.chunk(one)
        for one in reader.close():
            yield count.chunk(one)

    def _tools(self, kwargs: dict[str, Any]) -> TextTools:
        given = kwargs.pop("tools", None) or []
        name = getattr(self.inner, "model_name", "") or getattr(self.inner, "model", "")
        return TextTools(given, dialect=self.dialect, model=str(name))


class _Count:
    """Chunks of replies; each call has an index of its own."""

    def __init__(self) -> None:
        self._calls = 0

    def chunk(self, reply: Reply) -> ChatGenerationChunk:
        match reply:
            case Words(text=text):
                message = AIMessageChunk(content=text)
            case Thought(text=text):
                message = AIMessageChunk(content="", additional_kwargs={"reasoning_content": text})
            case Call():
                made = {"name": reply.name, "args": json_text(reply.input), "id": reply.id}
                made |= {"index": self._calls, "type": "tool_call_chunk"}
                self._calls += 1
                message = AIMessageChunk(content="", tool_call_chunks=[made])
        return ChatGenerationChunk(message=message)


def _asked(messages: Sequence[BaseMessage], tools: TextTools) -> list[BaseMessage]:
    if not tools.specs:
        return list(messages)
    systems = [_text(one) for one in messages if isinstance(one, SystemMessage)]
    names: dict[str, str] = {}
    asked: list[BaseMessage] = [SystemMessage(tools.system("\n\n".join(systems)))]
    for one in messages:
        if isinstance(one, SystemMessage):
            continue
        if isinstance(one, AIMessage) and one.tool_calls:
            calls = [Call(id=str(c["id"]), name=c["name"], input=c["args"]) for c in one.tool_calls]
            names.update((call.id, call.name) for call in calls)
            asked.append(AIMessage(tools.said(_text(one), calls)))
        elif isinstance(one, ToolMessage):
            name = names.get(one.tool_call_id, one.name or "a tool")
            asked.append(HumanMessage(tools.results([(name, _text(one))])))
        else:
            asked.append(one)
    return asked


def _text(message: BaseMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in content)


def _result(answer: BaseMessage, tools: TextTools) -> ChatResult:
    prose, thoughts, calls = read_whole(tools, _text(answer))
    more = {"reasoning_content": thoughts} if thoughts else {}
    message = AIMessage(
        content=prose,
        additional_kwargs=more,
        response_metadata=answer.response_metadata,
        tool_calls=[{"name": c.name, "args": c.input, "id": c.id} for c in calls],
    )
    return ChatResult(generations=[ChatGeneration(message=message)])

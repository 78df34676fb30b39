"""pydantic-ai: `CallblocksModel` gives any model tools, and `CallblocksToolset` has ours.

    agent = Agent(CallblocksModel("ollama:qwen2.5-coder"), tools=[weather])
    agent = Agent(model, toolsets=[CallblocksToolset(registry, policy)])

The wrapped model is asked without tools: they are taught in its instructions, and its calls are
read from what it writes. So a model whose server has no tools, or whose calls come as text, calls
the agent's tools like any other. An output that is a tool is one of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from callblocks.adapters.text_tools import Reply, ReplyReader, TextTools, Thought, Words, read_whole
from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec
from callblocks.models.model import NativeNames
from callblocks.policy.policy import Policy
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.tools.registry import Registry

__all__ = ("CallblocksModel", "CallblocksToolset")


class CallblocksModel(WrapperModel):
    """A model of pydantic-ai whose calls are read from its text."""

    def __init__(self, wrapped: Model | KnownModelName, *, dialect: str = "") -> None:
        super().__init__(wrapped)
        self._dialect = dialect

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        tools = self._tools(model_request_parameters)
        asked, bare = _asked(messages, tools), _bare(model_request_parameters, tools)
        response = await self.wrapped.request(asked, model_settings, bare)
        if not tools.specs:
            return response
        return replace(response, parts=_parts(response, tools))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        tools = self._tools(model_request_parameters)
        asked, bare = _asked(messages, tools), _bare(model_request_parameters, tools)
        async with self.wrapped.request_stream(asked, model_settings, bare, run_context) as stream:
            if tools.specs:
                yield _ReadStream(model_request_parameters, inner=stream, reader=tools.reader())
            else:
                yield stream

    def _tools(self, parameters: ModelRequestParameters) -> TextTools:
        given = (*parameters.function_tools, *parameters.output_tools)
        specs = [
            ToolSpec(one.name, one.description or "", one.parameters_json_schema) for one in given
        ]
        return TextTools(specs, dialect=self._dialect, model=self.wrapped.model_name)


def _bare(parameters: ModelRequestParameters, tools: TextTools) -> ModelRequestParameters:
    """Return the parameters without tools, which the model is told in its prompt."""
    if not tools.specs:
        return parameters
    return replace(
        parameters, function_tools=[], output_tools=[], output_mode="text", allow_text_output=True
    )


def _asked(messages: Sequence[ModelMessage], tools: TextTools) -> list[ModelMessage]:
    """Return the history as a model without tools knows it."""
    if not tools.specs:
        return list(messages)
    known: list[ModelMessage] = []
    is_taught = False
    for message in messages:
        if isinstance(message, ModelResponse):
            known.append(_said(message, tools))
            continue
        parts: list[Any] = [_shown(part, tools) for part in message.parts]
        if not is_taught:
            parts.insert(0, SystemPromptPart(tools.system("")))
            is_taught = True
        known.append(replace(message, parts=parts))
    return known


def _said(message: ModelResponse, tools: TextTools) -> ModelResponse:
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
    return replace(message, parts=[TextPart(tools.said(text, calls))])


def _call(part: ToolCallPart) -> Call:
    return Call(id=part.tool_call_id, name=part.tool_name, input=part.args_as_dict())


def _shown(part: Any, tools: TextTools) -> Any:
    if isinstance(part, ToolReturnPart):
        return UserPromptPart(tools.results([(part.tool_name, part.model_response_str())]))
    if part.part_kind.startswith("retry-"):
        name = getattr(part, "tool_name", None) or "this reply"
        return UserPromptPart(tools.results([(name, part.model_response())]))
    return part


def _parts(response: ModelResponse, tools: TextTools) -> list[Any]:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    prose, thoughts, calls = read_whole(tools, text)
    kept: list[Any] = [part for part in response.parts if not isinstance(part, TextPart)]
    if thoughts:
        kept.append(ThinkingPart(thoughts))
    if prose:
        kept.append(TextPart(prose))
    return [*kept, *(ToolCallPart(call.name, call.input, call.id) for call in calls)]


@dataclass
class _ReadStream(StreamedResponse):
    """The stream of a model, with calls in the place of the text that they are."""

    inner: StreamedResponse = field(kw_only=True)
    reader: ReplyReader = field(kw_only=True)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self.inner:
            for one in self.reader.feed(_text_of(event)):
                for made in self._events(one):
                    yield made
        for one in self.reader.close():
            for made in self._events(one):
                yield made
        self._usage = self.inner.usage
        self.finish_reason = self.inner.finish_reason

    def _events(self, reply: Reply) -> list[ModelResponseStreamEvent]:
        parts = self._parts_manager
        match reply:
            case Words(text=text):
                return list(
                    parts.handle_text_delta(
                        vendor_part_id="text", content=text, ignore_leading_whitespace=True
                    )
                )
            case Thought(text=text):
                return list(parts.handle_thinking_delta(vendor_part_id="thought", content=text))
            case Call():
                return [
                    parts.handle_tool_call_part(
                        vendor_part_id=reply.id,
                        tool_name=reply.name,
                        args=reply.input,
                        tool_call_id=reply.id,
                    )
                ]

    @property
    def model_name(self) -> str:
        return self.inner.model_name

    @property
    def provider_name(self) -> str | None:
        return self.inner.provider_name

    @property
    def provider_url(self) -> str | None:
        return self.inner.provider_url

    @property
    def timestamp(self) -> datetime:
        return self.inner.timestamp


def _text_of(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


_ANY = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class CallblocksToolset(AbstractToolset[Any]):
    """The tools of a registry for an agent, under a policy, one turn for all of its calls.

    `parts` are those of `Runtime`: who approves, a journal, the workspace.
    """

    def __init__(self, registry: Registry, policy: Policy, **parts: Any) -> None:
        self._runtime = Runtime(registry, policy, **parts)
        self._names = NativeNames(registry)
        self._turn = Turn()

    @property
    def id(self) -> str | None:
        return "callblocks"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            spec.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=spec.name,
                    description=spec.description,
                    parameters_json_schema={"type": "object", **spec.parameters},
                ),
                max_retries=1,
                args_validator=_ANY,
            )
            for spec in self._names.specs
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        call = Call(id=ctx.tool_call_id or name, name=self._names.own(name), input=tool_args)
        async for outcome in self._runtime.run((call,), self._turn):
            if outcome.error is None:
                return outcome.output
            return {"error": outcome.error.payload()}
        raise RuntimeError("a call has one outcome")

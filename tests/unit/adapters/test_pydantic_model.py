"""pydantic-ai with a model that knows no tools: it calls the agent's, and ours under a policy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callblocks.adapters.pydantic_model import CallblocksModel, CallblocksToolset
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


class Scripted:
    """A model that only writes text: what it was asked is kept."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[list[ModelMessage]] = []

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> str:
        assert info.function_tools == []
        self.asked.append(messages)
        return self.texts.pop(0)

    def model(self) -> CallblocksModel:
        async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart(self._next(messages, info))])

        async def pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
            text = self._next(messages, info)
            for at in range(0, len(text), 5):
                yield text[at : at + 5]

        inner = FunctionModel(whole, stream_function=pieces)
        return CallblocksModel(inner, dialect="hermes")


def weather(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


def test_a_model_without_tools_calls_a_tool() -> None:
    said = Scripted(f"I look.\n{CALL}", "It rains.")
    agent = Agent(said.model(), tools=[weather], instructions="You help.")
    result = asyncio.run(agent.run("Oslo?"))
    assert result.output == "It rains."
    assert "weather" in str(said.asked[0])
    assert "rain in Oslo" in str(said.asked[1])


def test_a_stream_has_the_call_too() -> None:
    said = Scripted(CALL, "It rains in Oslo.")

    async def run() -> str:
        agent = Agent(said.model(), tools=[weather])
        async with agent.run_stream("Oslo?") as stream:
            return "".join([piece async for piece in stream.stream_text(delta=True)])

    assert asyncio.run(run()) == "It rains in Oslo."


@pytest.mark.parametrize("allowed", [True, False])
def test_our_tools_are_a_toolset_under_a_policy(allowed: bool) -> None:
    @tool
    def tide(place: str) -> str:
        """Tell the tide."""
        return f"low in {place}"

    rules = (Rule(decide="allow", tool=("tide",)),) if allowed else ()
    toolset: Any = CallblocksToolset(Registry([tide]), Policy(rules))
    said = Scripted(CALL.replace("weather", "tide").replace("city", "place"), "Done.")
    asyncio.run(Agent(said.model(), toolsets=[toolset]).run("Oslo?"))
    assert ("low in Oslo" in str(said.asked[1])) is allowed
    assert ("policy_off" in str(said.asked[1])) is not allowed

"""Frameworks that talk through a gateway, in a Python that has them.

    python frameworks.py litellm http://127.0.0.1:1234 hermes streamed

Prints one JSON object: the texts of the model, and the inputs that the tool was given. It imports
nothing of callblocks or of its tests: `make test-clients` runs it in an environment of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

NAME = "run_command"
DESCRIPTION = "Run a command in a shell."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "the command"},
        "lines": {"type": "integer", "description": "how many lines of its output to give"},
    },
    "required": ["command", "lines"],
    "additionalProperties": False,
}
QUESTION = "Run it."

# It would fetch a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

inputs: list[dict[str, Any]] = []


def run_command(command: str, lines: int) -> str:
    """Run a command in a shell.

    Args:
        command: the command
        lines: how many lines of its output to give
    """
    inputs.append({"command": command, "lines": lines})
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    return "\n".join(done.stdout.splitlines()[:lines])


def litellm_chat(url: str, model: str, streams: bool) -> list[str]:
    import litellm

    return _litellm(litellm, f"openai/{model}", f"{url}/v1", streams)


def litellm_messages(url: str, model: str, streams: bool) -> list[str]:
    import litellm

    return _litellm(litellm, f"anthropic/{model}", url, streams)


def _litellm(litellm: Any, model: str, base: str, streams: bool) -> list[str]:
    function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
    tools = [{"type": "function", "function": function}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    texts: list[str] = []
    while True:
        reply = litellm.completion(
            model=model,
            messages=messages,
            tools=tools,
            api_base=base,
            api_key="none",
            stream=streams,
        )
        if streams:
            reply = litellm.stream_chunk_builder([*reply], messages=messages)
        message = reply.choices[0].message
        messages.append(message.model_dump())
        texts.append(message.content or "")
        if not message.tool_calls:
            return texts
        for call in message.tool_calls:
            output = run_command(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def langchain_chat(url: str, model: str, streams: bool) -> list[str]:
    from langchain_openai import ChatOpenAI

    return _langchain(ChatOpenAI(model=model, base_url=f"{url}/v1", api_key="none"), streams)


def langchain_responses(url: str, model: str, streams: bool) -> list[str]:
    from langchain_openai import ChatOpenAI

    base: Any = {"base_url": f"{url}/v1", "api_key": "none"}
    return _langchain(ChatOpenAI(model=model, use_responses_api=True, **base), streams)


def langchain_messages(url: str, model: str, streams: bool) -> list[str]:
    from langchain_anthropic import ChatAnthropic

    return _langchain(ChatAnthropic(model=model, base_url=url, api_key="none"), streams)


def _langchain(chat: Any, streams: bool) -> list[str]:
    from langchain_core.messages import HumanMessage, ToolMessage

    bound = chat.bind_tools([run_command])
    messages: list[Any] = [HumanMessage(QUESTION)]
    texts: list[str] = []
    while True:
        if streams:
            reply: Any = None
            for chunk in bound.stream(messages):
                reply = chunk if reply is None else reply + chunk
        else:
            reply = bound.invoke(messages)
        messages.append(reply)
        texts.append(reply.text if isinstance(reply.text, str) else reply.text())
        if not reply.tool_calls:
            return texts
        for call in reply.tool_calls:
            output = run_command(**call["args"])
            messages.append(ToolMessage(output, tool_call_id=call["id"]))


def agents_chat(url: str, model: str, streams: bool) -> list[str]:
    from agents import OpenAIChatCompletionsModel

    return asyncio.run(_agents(OpenAIChatCompletionsModel, url, model, streams))


def agents_responses(url: str, model: str, streams: bool) -> list[str]:
    from agents import OpenAIResponsesModel

    return asyncio.run(_agents(OpenAIResponsesModel, url, model, streams))


async def _agents(kind: Any, url: str, model: str, streams: bool) -> list[str]:
    from agents import Agent, ItemHelpers, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
    agent = Agent(
        name="agent",
        model=kind(model=model, openai_client=client),
        tools=[function_tool(run_command)],
    )
    if streams:
        result: Any = Runner.run_streamed(agent, QUESTION)
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, QUESTION)
    items = [item for item in result.new_items if item.type == "message_output_item"]
    return [ItemHelpers.text_message_output(item) for item in items]


def inspect_chat(url: str, model: str, streams: bool) -> list[str]:
    os.environ["GATEWAY_BASE_URL"], os.environ["GATEWAY_API_KEY"] = f"{url}/v1", "none"
    return asyncio.run(_inspect(f"openai-api/gateway/{model}", streams))


async def _inspect(name: str, streams: bool) -> list[str]:
    from inspect_ai.model import ChatMessageUser, get_model
    from inspect_ai.tool import tool

    @tool(name=NAME)
    def command_tool() -> Any:
        async def execute(command: str, lines: int) -> str:
            """Run a command in a shell.

            Args:
                command: the command
                lines: how many lines of its output to give
            """
            return run_command(command, lines)

        return execute

    model = get_model(name, stream=streams)
    messages, _ = await model.generate_loop([ChatMessageUser(content=QUESTION)], [command_tool()])
    return [message.text for message in messages if message.role == "assistant"]


FRAMEWORKS: dict[str, Callable[[str, str, bool], list[str]]] = {
    "litellm-chat": litellm_chat,
    "litellm-messages": litellm_messages,
    "langchain-chat": langchain_chat,
    "langchain-responses": langchain_responses,
    "langchain-messages": langchain_messages,
    "agents-chat": agents_chat,
    "agents-responses": agents_responses,
    "inspect-chat": inspect_chat,
}


def main(name: str, url: str, models: str) -> None:
    """Print one JSON list: what each model, streamed or not, gave to a framework."""
    rows: list[dict[str, Any]] = []
    for model in models.split(","):
        for streams in (False, True):
            inputs.clear()
            row: dict[str, Any] = {"model": model, "streams": streams, "texts": [], "error": ""}
            try:
                row["texts"] = FRAMEWORKS[name](url, model, streams)
            # Whatever a framework raises is what is told of it.
            except Exception as error:
                row["error"] = f"{type(error).__name__}: {error}"
            rows.append({**row, "inputs": [*inputs]})
    sys.stdout.write(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

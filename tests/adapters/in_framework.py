"""One framework with its adapter, in an environment of its own: `in_framework.py NAME`.

A model that knows no tools is asked about the weather; it writes a call as text, the framework runs
its tool, and the model answers. What is printed last is JSON: what the model was asked, the inputs
of the tool, and the answer, whole and streamed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

CALL = 'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
ANSWER = "It rains in Oslo."
inputs: list[str] = []
asked: list[str] = []


def weather(city: str) -> str:
    """Tell the weather."""
    inputs.append(city)
    return f"rain over {city}"


def reply(question: str) -> str:
    """What the model writes: a call first, and the answer once it has a result."""
    asked.append(question)
    return ANSWER if "rain over" in question else CALL


def pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), 7):
        yield text[at : at + 7]


def run_llm() -> list[str]:
    import llm
    from callblocks.adapters.llm_plugin import CallblocksModel

    class Plain(llm.Model):
        model_id = "plain"
        can_stream = True

        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
            yield from pieces(reply(f"{prompt.system}\n{prompt.prompt}"))

    model = CallblocksModel(Plain(), "hermes")
    tool = llm.Tool.function(weather)
    return [model.chain("Oslo?", tools=[tool], stream=stream).text() for stream in (True, False)]


def run_timeline() -> list[str]:
    """Read a timeline in the log of llm: `made_timeline` of real_packages.py has one."""
    from click.testing import CliRunner
    from llm.cli import cli

    runner = CliRunner()
    for _ in range(2):  # the second time adds nothing
        told = runner.invoke(cli, ["callblocks", "trip"])
        assert told.exit_code == 0, told.output
    missing = runner.invoke(cli, ["callblocks", "nowhere"])
    assert missing.exit_code == 1, missing.output
    shown = runner.invoke(cli, ["logs", "--cid", "callblocks.trip"]).output
    assert shown.count("**weather**") == 2, shown
    assert shown.count(ANSWER) == 1, shown
    inputs.extend(["Oslo"] * 2)
    asked.append("weather rain over")
    return [ANSWER, ANSWER]


def run_langchain() -> list[str]:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

    from callblocks.adapters.langchain_model import CallblocksChat

    class Plain(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "plain"

        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **k: Any
        ) -> Any:
            assert not k.get("tools")
            text = reply("\n".join(str(one.content) for one in messages))
            return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

        def _stream(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **k: Any
        ) -> Any:
            for piece in pieces(reply("\n".join(str(one.content) for one in messages))):
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))

    model = CallblocksChat(inner=Plain(), dialect="hermes").bind_tools([weather])
    answers: list[str] = []
    for streams in (False, True):
        messages: list[Any] = [HumanMessage("Oslo?")]
        for _ in range(3):
            if streams:
                said = None
                for chunk in model.stream(messages):
                    said = chunk if said is None else said + chunk
            else:
                said = model.invoke(messages)
            assert said is not None
            messages.append(said)
            if not said.tool_calls:
                break
            messages += [
                ToolMessage(weather(**call["args"]), tool_call_id=call["id"])
                for call in said.tool_calls
            ]
        answers.append(str(messages[-1].content))
    return answers


def run_agents() -> list[str]:
    import agents
    import httpx2
    from openai import AsyncOpenAI

    from callblocks.adapters.text_tools import agents_provider

    def answer(request: Any) -> Any:
        body = json.loads(request.content)
        assert not body.get("tools")
        text = reply("\n".join(str(one["content"]) for one in body["messages"]))
        head = {"id": "c", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}}
            whole = {**head, "object": "chat.completion"}
            return httpx2.Response(
                200, json={**whole, "choices": [{**choice, "finish_reason": "stop"}]}
            )
        chunk = {**head, "object": "chat.completion.chunk"}
        deltas = [{"delta": {"content": one}, "finish_reason": None} for one in pieces(text)]
        deltas.append({"delta": {}, "finish_reason": "stop"})
        lines = [
            f"data: {json.dumps({**chunk, 'choices': [{'index': 0, **d}]})}\n\n" for d in deltas
        ]
        content = "".join((*lines, "data: [DONE]\n\n")).encode()
        return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})

    async def run() -> list[str]:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        client = AsyncOpenAI(base_url="http://model/v1", api_key="none", http_client=http)
        agent = agents.Agent(name="a", model="m", tools=[agents.function_tool(weather)])
        config = agents.RunConfig(
            model_provider=agents_provider(client, dialect="hermes"), tracing_disabled=True
        )
        whole = await agents.Runner.run(agent, "Oslo?", run_config=config)
        streamed = agents.Runner.run_streamed(agent, "Oslo?", run_config=config)
        async for _ in streamed.stream_events():
            pass
        return [whole.final_output, streamed.final_output]

    return asyncio.run(run())


def run_inspect() -> list[str]:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    from callblocks.adapters import inspect_provider

    @tool(name="weather")
    def weather_tool() -> Any:
        async def execute(city: str) -> str:
            """Tell the weather.

            Args:
                city: A city.
            """
            return weather(city)

        return execute

    def written(messages: Any, tools: Any, *given: Any) -> ModelOutput:
        assert not tools
        output = ModelOutput.from_content("m", reply("\n".join(one.text for one in messages)))
        output.usage = ModelUsage()  # it would be counted by what is downloaded
        return output

    answers: list[str] = []
    for _ in range(2):
        model = get_model(
            "callblocks/mockllm/model", memoize=False, dialect="hermes", custom_outputs=written
        )
        assert isinstance(model.api, inspect_provider.CallblocksAPI)
        task = Task(dataset=[Sample(input="Oslo?")], solver=[use_tools(weather_tool()), generate()])
        with tempfile.TemporaryDirectory() as folder:
            (log,) = eval(task, model=model, display="none", log_dir=folder)
            assert log.status == "success", log.error and log.error.message
            assert log.samples is not None
            answers.append(log.samples[0].output.completion)
    return answers


def run_litellm() -> list[str]:
    import litellm

    from callblocks.adapters.litellm_handler import CallblocksLLM

    class Plain(litellm.CustomLLM):
        def completion(self, model: str, messages: Any, *args: Any, **given: Any) -> Any:
            assert not (given.get("optional_params") or {}).get("tools")
            text = reply("\n".join(str(one["content"]) for one in messages))
            message = litellm.Message(role="assistant", content=text)
            choice = litellm.Choices(message=message, finish_reason="stop", index=0)
            return litellm.ModelResponse(choices=[choice], model=model)

    litellm.custom_provider_map = [
        {"provider": "plain", "custom_handler": Plain()},
        {"provider": "callblocks", "custom_handler": CallblocksLLM(dialect="hermes")},
    ]
    litellm.utils.custom_llm_setup()
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
    answers: list[str] = []
    for streams in (False, True):
        messages: list[Any] = [{"role": "user", "content": "Oslo?"}]
        for _ in range(3):
            got = litellm.completion(
                model="callblocks/plain/m", messages=messages, tools=tools, stream=streams
            )
            if streams:
                got = litellm.stream_chunk_builder(list(got))
            said = got.choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                break
            for call in said.tool_calls:
                output = weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
        answers.append(str(messages[-1]["content"]))
    return answers


def run_transformers() -> list[str]:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from callblocks.adapters.training import messages_from, spans_of, token_mask

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words)
    text = f"{CALL} That is all."
    tools = [{"name": "weather", "parameters": {"type": "object"}}]
    message = messages_from(text, tools, "hermes")
    weather(**message["tool_calls"][0]["function"]["arguments"])
    offsets = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    mask = token_mask(spans_of(text, tools, "hermes"), offsets)
    marked = "".join(text[a:b] for (a, b), use in zip(offsets, mask, strict=True) if use)
    assert marked.startswith("<tool_call>{"), marked
    assert marked.endswith("</tool_call>"), marked
    # A chat template takes the message as it is.
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role }}:{{ m.content }}"
        "{% for c in m.tool_calls or [] %}|{{ c.function.name }}"
        "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    )
    shown = tokenizer.apply_chat_template([message], tokenize=False)
    assert '|weather{"city": "Oslo"}' in shown, shown
    weather("Oslo")
    asked.append("weather rain over")
    return [ANSWER, ANSWER]


if __name__ == "__main__":
    told = globals()[f"run_{sys.argv[1]}"]()
    sys.stdout.write(json.dumps({"answers": told, "inputs": inputs, "asked": asked}) + "\n")

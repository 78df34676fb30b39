"""SmolLM2 in llama.cpp's own server, behind the gateway: demands are held by grammars.

The gateway has its default settings: it finds out by itself that the server takes grammars. The
model is asked once for each reply (`retries = 0`), so nothing but the grammar holds it.

`make test-llm` runs this: no other run collects it, since the weights are installed with it alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from callblocks.models.llama import smollm2_path
from support.gateway import gateway_of
from support.llama_server import llama_server

TIMES = 50
"""How often each demand is made; there are four."""
TOKENS = 60
CITIES = ("Oslo", "Lima", "Cairo")

FUNCTIONS: Any = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "enum": CITIES}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
    for name, description in (
        ("get_weather", "Tell the weather of a city."),
        ("get_time", "Tell the time in a city."),
    )
]
DEMANDS: dict[str, dict[str, Any]] = {
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "get_time"}}},
    "none": {"tool_choice": "none"},
    "one": {"tool_choice": "required", "parallel_tool_calls": False},
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    with llama_server(smollm2_path(), "smollm2") as address:
        config = f'[models.smollm2]\naddress = "{address}/v1"\nretries = 0\n'
        with (
            gateway_of(config, tmp_path_factory.mktemp("gateway")) as url,
            OpenAI(base_url=f"{url}/v1", api_key="none", timeout=600) as client,
        ):
            yield client


@pytest.mark.parametrize("demand", DEMANDS)
def test_a_demand_is_held_each_time(client: OpenAI, demand: str) -> None:
    cut = 0
    for seed in range(TIMES):
        messages: Any = [{"role": "user", "content": f"How is it in Oslo? ({seed})"}]
        reply = client.chat.completions.create(
            model="smollm2",
            messages=messages,
            tools=FUNCTIONS,
            seed=seed,
            temperature=0.8,
            max_tokens=TOKENS,
            **DEMANDS[demand],
        )
        choice = reply.choices[0]
        calls: list[Any] = choice.message.tool_calls or []
        names = {call.function.name for call in calls}
        # A model of this size may call on and on: only the last call may be cut, by the limit.
        ended = calls if choice.finish_reason == "tool_calls" else calls[:-1]
        cut += choice.finish_reason == "length"
        inputs = [json.loads(call.function.arguments) for call in ended]
        assert all(given.keys() == {"city"} and given["city"] in CITIES for given in inputs)
        match demand:
            case "none":
                assert not calls
            case "named":
                assert ended, (seed, choice)
                assert names == {"get_time"}, (seed, choice)
            case "one":
                assert len(calls) == len(ended) == 1, (seed, choice)
            case _:
                assert ended, (seed, choice)
    sys.stdout.write(f"{demand}: {TIMES} of {TIMES} held, {cut} cut at {TOKENS} tokens\n")

"""Model families: their servers' settings, and how each writes a call.

The texts are written by hand, as the models write them, and not by our own dialects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

__all__ = ("FAMILIES", "Arguments", "Family")

Arguments = Mapping[str, str]
Server = Literal["ollama", "llama.cpp", "vllm"]


class Family(NamedTuple):
    """A family: one of its models, who serves it, and what it writes.

    `thinks` is the field in which the model's reasoning arrives where the server has one, and
    `marks` stand around it where it has none. `dialect` is the family's own, in which a session
    writes its history.
    """

    title: str
    model: str
    server: Server
    dialect: str
    call: Callable[[str, Arguments], str]
    thinks: Literal["", "reasoning", "reasoning_content"] = ""
    marks: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    final: tuple[str, str] = ("", "")
    before: str = "I will write that down.\n\n"


def _hermes(name: str, given: Arguments) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': dict(given)})}\n</tool_call>"


def _fenced(name: str, given: Arguments) -> str:
    body = json.dumps({"name": name, "arguments": dict(given)}, indent=2)
    return f"```json\n{body}\n```"


def _qwen3_coder(name: str, given: Arguments) -> str:
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in given.items())
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


def _deepseek_v3(name: str, given: Arguments) -> str:
    return (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
        f"{name}\n```json\n{json.dumps(dict(given))}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    )


def _deepseek_v31(name: str, given: Arguments) -> str:
    return (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>"
        f"{json.dumps(dict(given))}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    )


def _gpt_oss(name: str, given: Arguments) -> str:
    return (
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{json.dumps(dict(given))}<|call|>"
    )


def _llama3(name: str, given: Arguments) -> str:
    return json.dumps({"name": name, "parameters": dict(given)})


def _pythonic(name: str, given: Arguments) -> str:
    words = ", ".join(f"{key}={json.dumps(value)}" for key, value in given.items())
    return f"[{name}({words})]"


def _mistral_v11(name: str, given: Arguments) -> str:
    return f"[TOOL_CALLS]{name}[ARGS]{json.dumps(dict(given))}"


def _mistral_old(name: str, given: Arguments) -> str:
    return f"[TOOL_CALLS] {json.dumps([{'name': name, 'arguments': dict(given)}])}"


def _glm45(name: str, given: Arguments) -> str:
    inner = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"
        for key, value in given.items()
    )
    return f"<tool_call>{name}\n{inner}</tool_call>"


def _kimi_k2(name: str, given: Arguments) -> str:
    return (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0"
        f"<|tool_call_argument_begin|>{json.dumps(dict(given))}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )


def _minimax_m2(name: str, given: Arguments) -> str:
    inner = "".join(
        f'<parameter name="{key}">{value}</parameter>\n' for key, value in given.items()
    )
    return f'<minimax:tool_call>\n<invoke name="{name}">\n{inner}</invoke>\n</minimax:tool_call>'


def _gemma4(name: str, given: Arguments) -> str:
    inner = ",".join(f'{key}:<|"|>{value}<|"|>' for key, value in given.items())
    return f"<|tool_call>call:{name}{{{inner}}}<tool_call|>"


def _phi4_mini(name: str, given: Arguments) -> str:
    return f"functools{json.dumps([{'name': name, 'arguments': dict(given)}])}"


def _granite3(name: str, given: Arguments) -> str:
    return f"<|tool_call|>{json.dumps([{'name': name, 'arguments': dict(given)}])}"


def _lfm2(name: str, given: Arguments) -> str:
    return f"<|tool_call_start|>{_pythonic(name, given)}<|tool_call_end|>"


FAMILIES = (
    Family("Qwen3", "qwen3:8b", "ollama", "hermes", _hermes, "reasoning"),
    Family("Qwen2.5-Coder", "qwen2.5-coder:7b", "ollama", "hermes", _fenced),
    Family("Qwen3-Coder", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "vllm", "qwen3_coder", _qwen3_coder),
    Family("Hermes", "hermes3:8b", "llama.cpp", "hermes", _hermes),
    Family("Llama 3", "llama3.2:3b", "ollama", "llama3_json", _llama3, before=""),
    Family(
        *("Llama 4", "meta-llama/Llama-4-Scout-17B-16E-Instruct", "vllm", "pythonic", _pythonic),
        before="",
    ),
    Family("Mistral", "mistral:7b", "llama.cpp", "mistral_old", _mistral_old, before=""),
    Family("Devstral", "devstral-small-2507", "llama.cpp", "mistral_v11", _mistral_v11),
    Family(
        *("DeepSeek V3 and R1", "deepseek-ai/DeepSeek-R1-0528", "vllm", "deepseek_v3"),
        *(_deepseek_v3, "reasoning_content"),
    ),
    Family("DeepSeek V3.1", "deepseek-ai/DeepSeek-V3.1", "vllm", "deepseek_v31", _deepseek_v31),
    Family(
        *("gpt-oss", "gpt-oss-20b", "llama.cpp", "gpt_oss", _gpt_oss, "reasoning_content"),
        marks=("<|channel|>analysis<|message|>", "<|end|>"),
        final=("<|start|>assistant<|channel|>final<|message|>", "<|return|>"),
        before="",
    ),
    Family("GLM-4.5", "zai-org/GLM-4.5-Air", "vllm", "glm45", _glm45, "reasoning"),
    Family("Kimi K2", "moonshotai/Kimi-K2-Instruct", "vllm", "kimi_k2", _kimi_k2),
    Family("MiniMax M2", "MiniMaxAI/MiniMax-M2", "vllm", "minimax_m2", _minimax_m2, "reasoning"),
    Family("Gemma 4", "gemma-4-12b-it", "llama.cpp", "gemma4", _gemma4),
    Family("Phi-4-mini", "phi4-mini:3.8b", "ollama", "phi4_mini", _phi4_mini, before=""),
    Family("Granite 3", "granite3.3:8b", "ollama", "granite3", _granite3, before=""),
    Family("LFM2", "LFM2-1.2B-Q8_0.gguf", "llama.cpp", "lfm2", _lfm2, before=""),
)

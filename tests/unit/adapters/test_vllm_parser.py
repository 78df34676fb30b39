"""The vLLM parser against the interfaces that vLLM had, as stubs: its wheels need a GPU."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from callblocks.adapters.vllm_parser import parser_class, register

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL = 'I look. <tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
REQUEST = SimpleNamespace(tools=[TOOL])

_ABSTRACT = "vllm.entrypoints.openai.tool_parsers.abstract_tool_parser"
# Where the classes were, and what the constructor took: 0.10, 0.15 and 0.20.
VERSIONS = {
    "0.10": (_ABSTRACT, "vllm.entrypoints.openai.protocol", False),
    "0.15": ("vllm.tool_parsers", "vllm.entrypoints.openai.protocol", False),
    "0.20": ("vllm.tool_parsers", "vllm.entrypoints.openai.engine.protocol", True),
}


class Named(SimpleNamespace):
    """Any of vLLM's values: its fields by name."""


@pytest.fixture(params=VERSIONS)
def manager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    parsers, protocol, takes_tools = VERSIONS[request.param]

    class Old:
        def __init__(self, tokenizer: Any) -> None:
            self.model_tokenizer = tokenizer

    class New:
        def __init__(self, tokenizer: Any, tools: Any = None) -> None:
            self.model_tokenizer = tokenizer

    class Manager:
        known: ClassVar[dict[str, Any]] = {}

        @classmethod
        def register_module(cls, name: str, force: bool, module: Any) -> None:
            cls.known[name] = module

    values = ("ExtractedToolCallInformation", "FunctionCall", "ToolCall")
    deltas = ("DeltaMessage", "DeltaFunctionCall", "DeltaToolCall")
    held = {
        parsers: {"ToolParser": New if takes_tools else Old, "ToolParserManager": Manager},
        protocol: dict.fromkeys((*values, *deltas), Named),
    }
    for path, names in held.items():
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            if name not in sys.modules:
                module = ModuleType(name)
                module.__path__ = []
                monkeypatch.setitem(sys.modules, name, module)
        for name, value in names.items():
            monkeypatch.setattr(sys.modules[path], name, value, raising=False)
    return Manager


def test_every_dialect_that_models_write_is_a_parser(manager: Any) -> None:
    register()
    assert {"callblocks", "callblocks:hermes", "callblocks:qwen3_coder"} <= manager.known.keys()


def test_a_whole_reply_has_its_calls(manager: Any) -> None:
    parser = parser_class("hermes")(None, tools=[TOOL])
    found = parser.extract_tool_calls(CALL, REQUEST)
    assert found.tools_called
    assert found.content == "I look."
    assert found.tool_calls[0].function.name == "weather"
    assert parser.extract_tool_calls("Only words.", REQUEST).content == "Only words."


def test_a_stream_has_words_and_then_the_call(manager: Any) -> None:
    parser = parser_class("hermes")(None)
    text, deltas = "", []
    for char in CALL:
        deltas.append(
            parser.extract_tool_calls_streaming(text, text + char, char, [], [], [], REQUEST)
        )
        text += char
    known = [one for one in deltas if one is not None]
    words = "".join(getattr(one, "content", "") or "" for one in known)
    calls = [call for one in known for call in getattr(one, "tool_calls", ())]
    assert words.strip() == "I look."
    assert [call.function.arguments for call in calls] == ['{"city":"Oslo"}']
    assert calls[0].index == 0


def test_without_vllm_it_says_so() -> None:
    with pytest.raises(ImportError, match="vLLM has no ToolParser"):
        parser_class("hermes")

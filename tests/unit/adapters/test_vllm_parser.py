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
# Where the classes were, and what the constructor took.
VERSIONS = {
    "0.12": (_ABSTRACT, "vllm.entrypoints.openai.protocol", False),
    "0.19": ("vllm.tool_parsers", "vllm.entrypoints.openai.engine.protocol", False),
    "0.33": ("vllm.tool_parsers", "vllm.entrypoints.generate.base.protocol", True),
}
TOKENIZER = SimpleNamespace(eos_token_id=2)


class Named(SimpleNamespace):
    """Any of vLLM's values: its fields by name."""


@pytest.fixture(params=VERSIONS)
def manager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    parsers, protocol, takes_tools = VERSIONS[request.param]

    class Old:
        def __init__(self, tokenizer: Any) -> None:
            self.model_tokenizer = tokenizer

        def adjust_request(self, request: Any) -> Any:
            return request

    class New(Old):
        def __init__(self, tokenizer: Any, tools: Any = None) -> None:
            super().__init__(tokenizer)

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


def streamed(parser: Any, text: str, *, last: int = 2) -> tuple[str, list[Any]]:
    """Return the words and calls of a stream; `last` is its last token."""
    before, deltas = "", []
    for at, char in enumerate(text):
        ids = [last if at == len(text) - 1 else 7]
        deltas.append(
            parser.extract_tool_calls_streaming(before, before + char, char, [], [], ids, REQUEST)
        )
        before += char
    if parser.engine_based_streaming:
        deltas.append(parser.finish_streaming())
    known = [one for one in deltas if one is not None]
    words = "".join(getattr(one, "content", "") or "" for one in known)
    return words, [call for one in known for call in getattr(one, "tool_calls", ())]


def test_a_stream_has_words_and_then_the_call(manager: Any) -> None:
    parser = parser_class("hermes")(TOKENIZER)
    for _ in range(2):  # one parser may read several streams
        words, calls = streamed(parser, CALL)
        assert words.strip() == "I look."
        assert [call.function.arguments for call in calls] == ['{"city":"Oslo"}']
        assert calls[0].index == 0


@pytest.mark.parametrize("last", [2, 7])
def test_a_call_that_the_end_of_a_stream_ends_is_read(manager: Any, last: int) -> None:
    # By the token that ends a reply, or where vLLM asks what is left.
    call = '{"name": "weather", "parameters": {"city": "Oslo"}}'
    words, calls = streamed(parser_class("llama3_json")(TOKENIZER), call, last=last)
    assert (words, len(calls)) == ("", 1)


def test_thoughts_stay_in_the_text_where_nobody_else_reads_them(manager: Any) -> None:
    text = f"<think>Rain?</think>{CALL}"
    words, calls = streamed(parser_class("hermes")(TOKENIZER), text)
    assert (words.strip(), len(calls)) == ("<think>Rain?</think>I look.", 1)
    assert (
        parser_class("hermes")(TOKENIZER).extract_tool_calls(text, REQUEST).content == words.strip()
    )


def test_markers_that_are_special_tokens_are_asked_for(manager: Any) -> None:
    for tools, choice, skips in (
        ([TOOL], "auto", False),
        ([TOOL], "none", True),
        (None, None, True),
    ):
        asked = SimpleNamespace(tools=tools, tool_choice=choice, skip_special_tokens=True)
        assert parser_class("hermes")(None).adjust_request(asked).skip_special_tokens is skips


def test_tools_that_the_server_runs_are_no_names_to_call(manager: Any) -> None:
    parser = parser_class("hermes")(None)
    found = parser.extract_tool_calls(CALL, SimpleNamespace(tools=[TOOL, {"type": "web_search"}]))
    assert len(found.tool_calls) == 1


def test_without_vllm_it_says_so() -> None:
    with pytest.raises(ImportError, match="vLLM has no ToolParser"):
        parser_class("hermes")

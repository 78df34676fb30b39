"""The SGLang detector against stubs of its interface: the package needs a GPU's libraries."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

TOOL = SimpleNamespace(
    type="function",
    model_dump=lambda **options: {
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    },
)
CALL = 'I look. <tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


class Result(SimpleNamespace):
    """What a detector returns; empty where nothing is given."""

    def __init__(self, normal_text: str = "", calls: Any = ()) -> None:
        super().__init__(normal_text=normal_text, calls=list(calls))


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    known: dict[str, Any] = {}
    held = {
        "base_format_detector": {"BaseFormatDetector": type("BaseFormatDetector", (), {})},
        "core_types": {"StreamingParseResult": Result, "ToolCallItem": SimpleNamespace},
        "function_call_parser": {"FunctionCallParser": SimpleNamespace(ToolCallParserEnum=known)},
    }
    for name in ("sglang", "sglang.srt", "sglang.srt.function_call"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, values in held.items():
        module = ModuleType(f"sglang.srt.function_call.{name}")
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "callblocks.adapters.sglang_detector", raising=False)
    from callblocks.adapters.sglang_detector import register

    register()
    monkeypatch.delitem(sys.modules, "callblocks.adapters.sglang_detector")
    return known


def streamed(detector: Any, text: str) -> tuple[str, list[Any]]:
    results = [detector.parse_streaming_increment(char, [TOOL]) for char in text]
    results.append(detector.finish([TOOL]))
    return "".join(one.normal_text for one in results), [c for one in results for c in one.calls]


def test_every_dialect_that_models_write_is_in_the_table(table: dict[str, Any]) -> None:
    assert {"callblocks", "callblocks:hermes", "callblocks:qwen3_coder"} <= table.keys()


def test_a_reply_has_its_calls_whole_and_streamed(table: dict[str, Any]) -> None:
    whole = table["callblocks:hermes"]().detect_and_parse(CALL, [TOOL])
    words, calls = streamed(table["callblocks:hermes"](), CALL)
    assert whole.normal_text == words == "I look. "
    assert [one.parameters for one in (*whole.calls, *calls)] == ['{"city":"Oslo"}'] * 2


def test_calls_are_numbered_and_the_last_ends_with_the_stream(table: dict[str, Any]) -> None:
    call = '{"name": "weather", "parameters": {"city": "Oslo"}}'
    _, calls = streamed(table["callblocks:llama3_json"](), f"{call}; {call}")
    assert [one.tool_index for one in calls] == [0, 1]


@pytest.mark.parametrize("text", ["Only words.", "<think>Rain?</think>1 < 2"])
def test_a_reply_without_calls_stays_as_it_is(table: dict[str, Any], text: str) -> None:
    detector = table["callblocks"]()
    assert detector.detect_and_parse(text, [TOOL]).normal_text == text
    assert streamed(detector, text) == (text, [])
    assert detector.has_tool_call(text) == ("<" in text)


def test_demanded_calls_are_left_to_sglang(table: dict[str, Any]) -> None:
    detector = table["callblocks"]()
    assert not detector.supports_structural_tag()
    with pytest.raises(NotImplementedError):
        detector.structure_info()

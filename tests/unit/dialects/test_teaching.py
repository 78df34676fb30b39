"""A prompt names every tool and shows a call that the dialect itself reads."""

from __future__ import annotations

import pytest

from callblocks import ToolSpec, dialects, parse
from callblocks.core.errors import BadSpec
from support.tools import TOOLS

TEACHING = [name for name in dialects if dialects[name].rules]


@pytest.mark.parametrize("dialect", TEACHING)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.no_cover  # other tests walk the same ways
def test_the_example_in_a_prompt_is_a_call_that_the_dialect_reads(
    dialect: str, tool: ToolSpec
) -> None:
    example = dialects[dialect].example([tool])
    assert example.strip("\n") in dialects[dialect].teach([tool])
    parsed = parse(example, dialect, tools=[tool])
    assert [call.name for call in parsed.calls] == [tool.name]
    assert parsed.calls[0].input.keys() >= set(tool.required)
    assert parsed.problems == []


@pytest.mark.parametrize("dialect", TEACHING)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_prompt_tells_every_tool_and_parameter(dialect: str) -> None:
    prompt = dialects[dialect].teach(TOOLS)
    for tool in TOOLS:
        assert f"## {tool.name}" in prompt
        assert tool.description in prompt
        for name in tool.properties:
            assert f"- {name} (" in prompt


def test_a_prompt_for_no_tools_is_the_callers_mistake() -> None:
    with pytest.raises(BadSpec, match="at least one tool"):
        dialects["emoji-bracket"].teach([])

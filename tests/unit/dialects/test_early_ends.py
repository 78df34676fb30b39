"""What would end an argument early is what ends an argument that the dialect itself writes."""

from __future__ import annotations

import pytest

from callblocks import Call, ToolSpec, dialects
from callblocks.parsing.engine.markers import Markers

TOOL = ToolSpec("keep", "", {"type": "object", "properties": {"content": {"type": "string"}}})
CALL = Call(id="k", name="keep", input={"content": "words"})
ENDED = [name for name, one in dialects.items() if one.rules and one.early_ends({"keep": TOOL})]


@pytest.mark.parametrize("name", ENDED)
def test_an_argument_that_is_written_ends_with_one_of_them(name: str) -> None:
    text = dialects[name].write([CALL], [TOOL])
    behind = text.index("words") + len("words")
    for tools in ({"keep": TOOL}, None):
        ends = Markers(*dialects[name].early_ends(tools))
        assert ends.final.search(text, behind)


@pytest.mark.parametrize("name", ["qwen3_coder", "seed_oss", "cline"])
def test_a_text_that_ends_with_a_lone_cr_is_written_as_it_is(name: str) -> None:
    call = Call(id="k", name="keep", input={"content": "words\r"})
    text = dialects[name].write([call], [TOOL])
    assert dialects[name].parsed(text, [TOOL]).calls[0].input == call.input


@pytest.mark.parametrize("tools", [{"keep": TOOL}, None])
def test_nothing_ends_a_quoted_argument_early(tools: dict[str, ToolSpec] | None) -> None:
    assert dialects["hermes"].early_ends(tools) == ()

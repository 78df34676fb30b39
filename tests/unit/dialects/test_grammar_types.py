"""A grammar holds a parameter to its type in every dialect's own way of writing it."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks import Call, ToolSpec, dialects
from callblocks.parsing.grammar import Kind
from support.guidance import accepts

CONSTRAINING = [name for name in dialects if name != "chat-blocks"]
SCHEMAS: dict[str, Any] = {"x": {"type": "number"}, "y": {}}
TOOL = ToolSpec("weigh", parameters={"type": "object", "properties": SCHEMAS, "required": ["x"]})


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.parametrize("value", [{"x": 1.5}, {"x": -2, "y": "any"}], ids=["number", "anything"])
def test_a_number_and_a_parameter_of_any_type_can_be_written(
    dialect: str, kind: Kind, value: dict[str, Any]
) -> None:
    text = dialects[dialect].write([Call(id="a", name="weigh", input=value)], [TOOL])
    assert accepts(dialects[dialect].grammar([TOOL], kind), kind, text)


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", CONSTRAINING)
def test_a_word_is_no_number(dialect: str, kind: Kind) -> None:
    text = dialects[dialect].write([Call(id="a", name="weigh", input={"x": 15})], [TOOL])
    assert not accepts(dialects[dialect].grammar([TOOL], kind), kind, text.replace("15", "much"))

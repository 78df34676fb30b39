"""A grammar holds a parameter to its type in every dialect's own way of writing it."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks import Call, ToolSpec, dialects
from callblocks.parsing.grammar.grammar import Kind
from support.guidance import accepts

CONSTRAINING = [name for name in dialects if name != "chat-blocks"]
SCHEMAS: dict[str, Any] = {"x": {"type": "number"}, "y": {}}
TOOL = ToolSpec("weigh", parameters={"type": "object", "properties": SCHEMAS, "required": ["x"]})


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.parametrize("value", [{"x": 1.5}, {"x": -2, "y": "any"}], ids=["number", "anything"])
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_number_and_a_parameter_of_any_type_can_be_written(
    dialect: str, kind: Kind, value: dict[str, Any]
) -> None:
    text = dialects[dialect].write([Call(id="a", name="weigh", input=value)], [TOOL])
    assert accepts(dialects[dialect].grammar([TOOL], kind), kind, text)


# JSON inside of a string is held to be a string.
TYPED = [name for name in CONSTRAINING if name != "openai_json_text"]


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", TYPED)
def test_a_word_is_no_number(dialect: str, kind: Kind) -> None:
    text = dialects[dialect].write([Call(id="a", name="weigh", input={"x": 15})], [TOOL])
    assert not accepts(dialects[dialect].grammar([TOOL], kind), kind, text.replace("15", "much"))


ROWS: dict[str, Any] = {
    "range": {"type": "string"},
    "values": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
}
PUT = ToolSpec("put", parameters={"properties": ROWS, "required": ["values"]}, body="values")
MAY_PUT = ToolSpec("put", parameters={"properties": ROWS}, body="values")
EMOJI = ("emoji-bracket", "emoji-bracket+")


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", EMOJI)
@pytest.mark.parametrize("tool", [PUT, MAY_PUT], ids=["required", "optional"])
def test_a_body_of_json_is_held_to_its_schema(dialect: str, kind: Kind, tool: ToolSpec) -> None:
    call = Call(id="a", name="put", input={"range": "A1", "values": [[1, 2], []]})
    text = dialects[dialect].write([call], [tool])
    grammar = dialects[dialect].grammar([tool], kind)
    assert accepts(grammar, kind, text)
    assert not accepts(grammar, kind, text.replace("[[1, 2], []]", "1, 2"))
    assert not accepts(grammar, kind, text.replace("[1, 2]", '["one"]'))


@pytest.mark.parametrize("kind", ["gbnf", "lark"])
@pytest.mark.parametrize("dialect", EMOJI)
def test_a_body_of_json_may_be_missing_where_it_is_optional(dialect: str, kind: Kind) -> None:
    text = dialects[dialect].write([Call(id="a", name="put", input={"range": "A1"})], [MAY_PUT])
    assert accepts(dialects[dialect].grammar([MAY_PUT], kind), kind, text)
    assert not accepts(dialects[dialect].grammar([PUT], kind), kind, text)

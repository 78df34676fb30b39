"""A run of what may begin an opener makes no blocks: what follows is looked at first.

A block that is made only to be refused costs a hundred times what a character of prose costs. The
blocks are counted, never timed, in every dialect, as prose and in a thought, with and without
tools.
"""

from __future__ import annotations

import pytest

from callblocks import Parser, ToolSpec, dialects, parse
from callblocks.core.events import CallReady, Event, Text
from callblocks.parsing.engine.block import Asking
from callblocks.parsing.engine.parse_state import ParseState
from support.text_pieces import NAMES

COUNT = 30
FEW = 5
TOOL = ToolSpec("look", "", {"properties": {"name": {"type": "string"}}})
SINGLE = tuple('{[<`"\\(|@&~#:*}\n✂🛠')
SHORT = (
    *("{ ", "[ ", "< ", "{{", "[[", "[{", "{[", "{}", "[]", "<<", "<|", "</", "**", "``", "~~"),
    *('{"', '["', "{x", "[x", "<x", "{'", "[1", '{"x"', '[{"x"', "{$", "\\frac{a}{b}", "}{", "]["),
    *('{"id": 17, "user": 1} ', '{"type": "row", "x": 1} '),
)
LINES = ("{\n", "[\n", "\n{", "\n[", "\n<", "<\n")
JSON_LINES = ("scissors-cat", "auto")
"""Where a line that begins with a bracket waits for the delimiter behind the JSON."""


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The opening of each block that was made."""
    made: list[str] = []
    init = Asking.__init__

    def counted(self: Asking, stage: ParseState, dialect: str, opening: str) -> None:
        made.append(opening)
        init(self, stage, dialect, opening)

    monkeypatch.setattr(Asking, "__init__", counted)
    return made


@pytest.mark.parametrize("tools", [(), (TOOL,)], ids=["any tools", "declared tools"])
@pytest.mark.parametrize("dialect", NAMES)
def test_a_run_in_prose_makes_hardly_any_blocks(
    dialect: str, tools: tuple[ToolSpec, ...], blocks: list[str]
) -> None:
    for unit in (*SINGLE, *SHORT, *LINES):
        blocks.clear()
        parse("a " + unit * COUNT, dialect, tools=tools)
        is_json_line = dialect in JSON_LINES and unit in LINES
        assert len(blocks) <= FEW + is_json_line * COUNT, unit


@pytest.mark.parametrize("dialect", NAMES)
def test_a_run_in_a_thought_makes_hardly_any_blocks(dialect: str, blocks: list[str]) -> None:
    pairs = dialects["hermes" if dialect == "auto" else dialect].reasoning
    for unit in (*SINGLE, *SHORT):
        blocks.clear()
        parse((pairs[0][0] if pairs else "") + "a " + unit * COUNT, dialect, tools=[TOOL])
        assert len(blocks) <= FEW, unit


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_brace_opens_a_call_when_its_first_key_has_grown_across_pieces(cut: int) -> None:
    text = '{"name": "look", "arguments": {"name": "x"}}'
    parser = Parser("hermes", tools=[TOOL])
    waiting = parser.feed("Set {a} and " + text[:cut])
    events = [*waiting, *parser.feed(text[cut:]), *parser.close()]
    assert [event.call.input for event in events if isinstance(event, CallReady)] == [{"name": "x"}]
    assert _shown(waiting) == "Set {a} and "


@pytest.mark.parametrize("text", ["{", "{ ", '{"', '{"nam', '{"name', "{{", '{{"id'])
def test_a_brace_waits_no_longer_than_its_first_key_takes(text: str) -> None:
    parser = Parser("hermes")
    assert _shown(parser.feed(f"a {text}")) == "a "
    assert _shown(parser.feed("! b")).endswith("! b")


def test_a_first_key_may_be_written_with_escapes() -> None:
    (call,) = parse('{"n\\u0061me": "look", "arguments": {}}', "llama3_json").calls
    assert call.name == "look"


@pytest.mark.parametrize("key", ["nam", "names", "x", "arg", "idx"])
def test_a_brace_before_another_key_stays_text_and_asks_nobody(key: str, blocks: list[str]) -> None:
    text = f'{{"{key}": "look", "arguments": {{}}}}'
    assert parse(text, "hermes").text == text
    assert not blocks


def _shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))

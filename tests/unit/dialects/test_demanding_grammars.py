"""A grammar can demand a call, exactly one, or one of a named tool, in every dialect."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from callblocks import Call, ToolSpec, dialects, parse
from callblocks.core.errors import BadSpec, CallerError, UnknownTool, Unsupported
from callblocks.core.specs import ToolSpecs
from callblocks.dialects.hermes import Hermes
from callblocks.parsing.grammar.expressions import lit, many
from callblocks.parsing.grammar.grammar import Calls, Grammar, Kind
from support.guidance import accepts

CONSTRAINING = [name for name in dialects if name != "chat-blocks"]
KINDS: tuple[Kind, ...] = ("gbnf", "lark")
# Both are printed of the same rules: the other one is tried with each form of a root.
ROOTS = ("tool-fence", "scissors-cat", "gpt_oss", "react", "hermes", "kimi_k2", "qwen3_coder")
CASES = [(name, kind) for name in CONSTRAINING for kind in KINDS if kind == "lark" or name in ROOTS]
TOOLS = (
    ToolSpec("find", parameters={"properties": {"q": {"type": "string"}}, "required": ["q"]}),
    ToolSpec("now"),
)
INPUTS: dict[str, dict[str, Any]] = {"find": {"q": "a b"}, "now": {}}
PROSE = "Just words.\n"
AFTER, BETWEEN = (PROSE, "find", "\nSo.\n"), ("find", "\nAnd then.\n", "now")


@cache
def written(dialect: str, *items: str) -> str:
    said = [
        Call(id=f"c{at}", name=item, input=INPUTS[item]) if item in INPUTS else item
        for at, item in enumerate(items)
    ]
    return dialects[dialect].write(said, TOOLS)


def taken(
    dialect: str,
    kind: Kind,
    *items: str,
    calls: Calls | None = None,
    tool: str | None = None,
    prose: bool = True,
) -> bool:
    """Whether the grammar takes the items as the dialect writes them."""
    made = grammar(dialect, kind, calls, tool, prose)
    return accepts(made, kind, written(dialect, *items))


@cache
def grammar(
    dialect: str, kind: Kind, calls: Calls | None, tool: str | None, prose: bool = True
) -> str:
    return dialects[dialect].grammar(TOOLS, kind, calls=calls, tool=tool, prose=prose)


@pytest.mark.parametrize(("dialect", "kind"), CASES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_any_number_of_calls_is_taken_where_none_is_demanded(dialect: str, kind: Kind) -> None:
    for items in [(), (PROSE,), ("find",), (PROSE, "now"), ("find", "now", "find")]:
        assert taken(dialect, kind, *items)


@pytest.mark.parametrize(("dialect", "kind"), CASES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_required_call_may_stand_in_prose_and_have_others_beside_it(
    dialect: str, kind: Kind
) -> None:
    assert not taken(dialect, kind, calls="required")
    assert not taken(dialect, kind, PROSE, calls="required")
    for items in [("find",), (PROSE, "now"), ("find", "now"), (PROSE, "now", "now", "find")]:
        assert taken(dialect, kind, *items, calls="required")
    if dialects[dialect].keeps_order:
        for items in [AFTER, BETWEEN]:
            assert taken(dialect, kind, *items, calls="required")


@pytest.mark.parametrize(("dialect", "kind"), CASES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_where_one_call_is_demanded_a_second_is_refused(dialect: str, kind: Kind) -> None:
    for items in [(), (PROSE,), ("find", "now"), ("now", "now"), (PROSE, "find", "find")]:
        assert not taken(dialect, kind, *items, calls="one")
    for items in [("find",), ("now",), (PROSE, "find")]:
        assert taken(dialect, kind, *items, calls="one")
    if dialects[dialect].keeps_order:
        assert taken(dialect, kind, *AFTER, calls="one")
        assert not taken(dialect, kind, *BETWEEN, calls="one")


@pytest.mark.parametrize(("dialect", "kind"), CASES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_named_tool_is_the_only_one_that_may_be_called(dialect: str, kind: Kind) -> None:
    assert taken(dialect, kind, PROSE, "find", "find", tool="find")
    for items in [(), (PROSE,), ("now",), ("find", "now"), ("now", "find")]:
        assert not taken(dialect, kind, *items, tool="find")
    assert taken(dialect, kind, "find", calls="one", tool="find")
    assert not taken(dialect, kind, "find", "find", calls="one", tool="find")
    assert not taken(dialect, kind, "now", calls="one", tool="find")


@pytest.mark.parametrize(("dialect", "kind"), CASES)
def test_without_prose_a_text_has_nothing_but_calls(dialect: str, kind: Kind) -> None:
    for items in [(), (PROSE,), (PROSE, "find")]:
        assert not taken(dialect, kind, *items, calls="required", prose=False)
    for items in [("find",), ("find", "now"), ("now", "now", "find")]:
        assert taken(dialect, kind, *items, calls="required", prose=False)
    assert taken(dialect, kind, "now", calls="one", prose=False)
    assert not taken(dialect, kind, "now", "now", calls="one", prose=False)


@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_structural_tag_without_prose_has_nothing_but_calls(dialect: str) -> None:
    assert taken(dialect, "structural_tag", "find", calls="one", prose=False)
    for items in [(), (PROSE,), (PROSE, "find"), ("find", "now")]:
        assert not taken(dialect, "structural_tag", *items, calls="one", prose=False)


@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_structural_tag_demands_one_call_of_one_tool(dialect: str) -> None:
    assert taken(dialect, "structural_tag", PROSE, "find", calls="one", tool="find")
    for items in [(), (PROSE,), ("now",), ("find", "find")]:
        assert not taken(dialect, "structural_tag", *items, calls="one", tool="find")


# Tags and triggers; further markers that prose lacks; a form of its own; markers in markers.
@pytest.mark.parametrize("dialect", ["hermes", "gemma4", "kimi_k2", "tool-fence", "inkling"])
def test_a_structural_tag_demands_calls_or_none(dialect: str) -> None:
    for items in [("find",), (PROSE, "find", "now"), AFTER, BETWEEN]:
        assert taken(dialect, "structural_tag", *items)
        assert taken(dialect, "structural_tag", *items, calls="required")
    assert taken(dialect, "structural_tag", PROSE)
    assert not taken(dialect, "structural_tag", PROSE, calls="required")


def test_a_named_tool_need_not_be_called_where_that_is_said() -> None:
    assert grammar("cline", "lark", "required", "find") == grammar("cline", "lark", None, "find")
    assert taken("cline", "lark", PROSE, calls="any", tool="find")
    assert not taken("cline", "lark", "now", calls="any", tool="find")


@pytest.mark.parametrize("dialect", CONSTRAINING)
def test_what_is_taken_as_one_call_is_read_as_one(dialect: str) -> None:
    (call,) = parse(written(dialect, PROSE, "find"), dialect, tools=TOOLS).calls
    assert (call.name, call.input) == ("find", {"q": "a b"})


def test_a_tool_that_is_not_there_and_an_unknown_demand_are_refused() -> None:
    dialect, odd = dialects["hermes"], "some"
    with pytest.raises(UnknownTool, match="no tool 'rm'; there are: find, now"):
        dialect.grammar(TOOLS, "gbnf", tool="rm")
    with pytest.raises(CallerError, match="'some'; choose from: any, required, one"):
        dialect.grammar(TOOLS, "gbnf", calls=odd)  # pyright: ignore[reportArgumentType] the point
    with pytest.raises(BadSpec, match="at least one tool"):
        dialect.grammar((), "gbnf", tool="find")


def test_a_dialect_that_counts_no_calls_has_no_grammar_that_demands_them() -> None:
    class Careless(Hermes):
        name = "careless"

        def constrain(self, grammar: Grammar, tools: Any) -> None:
            grammar.rule("root", many(lit("call")))

    careless = Careless()
    assert accepts(careless.grammar(TOOLS, "gbnf"), "gbnf", "callcall")
    with pytest.raises(Unsupported, match="careless has no grammar that demands calls"):
        careless.grammar(TOOLS, "gbnf", calls="one")


def test_a_structural_tag_has_a_tag_for_each_way_to_begin() -> None:
    tools: ToolSpecs = [ToolSpec("now"), ToolSpec("then")]
    (now, then), triggers = _tags(json.loads(dialects["gemma4"].grammar(tools, "structural_tag")))
    assert (now["begin"], now["end"]) == ("<|tool_call>call:now", "<tool_call|>")
    assert then["begin"] == "<|tool_call>call:then"
    assert triggers == ["<|tool_call>"]


def _tags(tag: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    return tag["format"]["tags"], tag["format"]["triggers"]


@pytest.mark.parametrize("dialect", CONSTRAINING)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_tool_that_takes_nothing_is_enough_for_a_grammar(dialect: str) -> None:
    tool = ToolSpec("now")
    text = dialects[dialect].write([Call(id="c1", name="now", input={})], [tool])
    assert accepts(dialects[dialect].grammar([tool], "lark", calls="one"), "lark", text)

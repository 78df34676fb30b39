"""A named dialect reads its siblings, and bodies in another notation; `strict` reads neither."""

from __future__ import annotations

import json

import pytest

from callblocks import Call, ToolSpec, dialects, parse
from callblocks.dialects.table import _SIBLINGS
from callblocks.parsing.dialect import Parsed
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.tags import begun

TOOLS = [
    ToolSpec("look", "", {"type": "object", "properties": {"place": {"type": "string"}}}),
    ToolSpec("wait", "", {"type": "object", "properties": {}}),
]
INPUT = {"place": "the hall"}
PAIRS = [
    (name, other)
    for group in _SIBLINGS
    for name in group
    for other in group
    if name != other and dialects[other].rules
]
FOREIGN = {"foreign-body", "repaired-list"}
FALLBACKS = {"sibling-dialect", "misspelt-tag", *FOREIGN}
# The notations of a body, with a place for the name of the tool.
NOTATIONS = {
    "an object": json.dumps({"name": "%s", "arguments": INPUT}),
    "a list": json.dumps([{"name": "%s", "arguments": INPUT}]),
    "a python call": '%s(place="the hall")',
    "a python list": '[%s(place="the hall")]',
    "a name and an object": '%s\n{"place": "the hall"}',
}
BODIES = {name: one.bodies_between for name, one in dialects.items() if one.bodies_between}

# In its wrapper a call says its name first: it is one whatever the name.
SURE_BY_WRAPPER = {"hy_v3", "hy_v4"}


def said(parsed: Parsed) -> list[tuple[str, object]]:
    return [(call.name, call.input) for call in parsed.calls]


def framed(bodies: Bodies, body: str) -> str:
    """A body between the first markers of a dialect."""
    opening = bodies.opening[0]
    marker = opening if isinstance(opening, str) else begun(opening)
    # A header that names its recipient ends with what is not always the same.
    marker = "<|message|><atem:function_calls>" if marker.startswith("<|start|>") else marker
    return f"{''.join(bodies.section[:1])}{marker}{body}{''.join(bodies.closing[-1:])}"


def codes(parsed: Parsed) -> set[str]:
    return {problem.code for problem in parsed.problems}


@pytest.mark.parametrize(("name", "other"), PAIRS)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_sibling_is_read_and_named(name: str, other: str) -> None:
    text = dialects[other].write([Call(id="c1", name="look", input=INPUT)], TOOLS)
    parsed, strict = parse(text, name, tools=TOOLS), parse(text, name, tools=TOOLS, strict=True)
    assert said(parsed) == [("look", INPUT)]
    assert not parsed.text.strip()
    (call,) = parsed.calls
    if call.dialect == name:
        return
    assert "sibling-dialect" in codes(parsed)
    assert "sibling-dialect" not in codes(strict)
    assert {one.dialect for one in strict.calls} <= {name}


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_body_in_any_notation_is_read(name: str, notation: str) -> None:
    bodies = BODIES[name]
    assert bodies is not None
    is_word = bodies.begins_as_prose and notation in ("a python call", "a name and an object")
    text = framed(bodies, NOTATIONS[notation] % "look")
    # An object whose only key is the name has other members for another dialect.
    if bodies.keys.single and notation in ("an object", "a list"):
        text = framed(bodies, json.dumps({"look": INPUT}))
    parsed = parse(text, name, tools=TOOLS)
    assert said(parsed) == ([] if is_word else [("look", INPUT)])


@pytest.mark.parametrize("notation", ["a python call", "a name and an object"])
@pytest.mark.parametrize("name", sorted(BODIES.keys() - SURE_BY_WRAPPER))
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_body_names_a_declared_tool_where_there_are_any(name: str, notation: str) -> None:
    bodies = BODIES[name]
    assert bodies is not None
    text = framed(bodies, NOTATIONS[notation] % "other")
    # A sibling may have the notation as its own: there, the markers make sure of a call.
    for dialect in (name, "auto"):
        assert not FOREIGN & codes(parse(text, dialect, tools=TOOLS))


@pytest.mark.parametrize("name", BODIES)
def test_strict_reads_no_foreign_body(name: str) -> None:
    bodies = BODIES[name]
    assert bodies is not None
    for body in NOTATIONS.values():
        parsed = parse(framed(bodies, body % "look"), name, tools=TOOLS, strict=True)
        assert not FALLBACKS & codes(parsed)


def test_without_tools_any_name_is_read_where_the_dialect_is_named() -> None:
    text = "<|tool_call_start|>look(place='the hall')<|tool_call_end|>"
    assert said(parse(text, "lfm2")) == [("look", INPUT)]
    assert parse(text).calls == []


def test_siblings_of_named_dialects_are_no_dialects_of_their_own() -> None:
    text = '<tool_call>\n{"name": "look", "arguments": {"place": "the hall"}}\n</tool_call>'
    (call,) = parse(text, ["qwen3_coder", "hermes"], tools=TOOLS).calls
    assert call.dialect == "hermes"
    assert parse(text, ["qwen3_coder", "hermes"], tools=TOOLS).problems == []

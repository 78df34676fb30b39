"""What a block says of the calls in it: ids, limits, and where each begins and ends."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks import Call, Limits, ToolSpec, dialects, parse
from callblocks.core.events import CallReady, CallStarted, Malformed, Problem
from callblocks.parsing.dialect import Parsed

ONE_CALL = {
    "tool-fence": "```tool search a\ninput:\n  q: [1]\n```\n",
    "scissors-cat": '{"type":"search","id":"a","operation":"","parameters":{"q":[1]}}✂️🐱',
    "chat-blocks": '<tool id="a">search(q=[1])</tool>',
    "emoji-bracket": "🛠️[search q]\n[1]🛠️[/end]",
    "emoji-bracket+": "🛠️[search [1 /]",
}
SEARCH = ToolSpec("search", parameters={"properties": {"q": {"type": "string"}}})
each = pytest.mark.parametrize("dialect", dialects)


def one_call(dialect: str) -> str:
    """A text of one call: by hand, or as the dialect writes it."""
    call = Call(id="a", name="search", input={"q": "[1]"})
    return ONE_CALL.get(dialect) or dialects[dialect].write([call], [SEARCH])


def read_one(dialect: str, **options: Any) -> Parsed:
    tools = () if dialect in ONE_CALL else [SEARCH]
    return parse(one_call(dialect), dialect, tools=tools, **options)


@each
@pytest.mark.no_cover  # other tests walk the same ways
def test_the_span_of_a_call_is_its_block(dialect: str) -> None:
    (call,) = read_one(dialect).calls
    assert call.span == (0, len(one_call(dialect)))
    assert call.ended
    assert call.dialect == dialect


@each
@pytest.mark.no_cover  # other tests walk the same ways
def test_an_input_beyond_the_limit_is_malformed_and_its_text_kept(dialect: str) -> None:
    parsed = read_one(dialect, limits=Limits(input_size=1))
    assert parsed.calls == []
    (fault,) = (event for event in parsed.events if isinstance(event, Malformed))
    assert fault.code == "too-large"
    assert fault.index == 0
    assert fault.text in one_call(dialect)
    assert "search" in fault.text


@each
@pytest.mark.no_cover  # other tests walk the same ways
def test_calls_beyond_the_limit_are_malformed_and_never_started(dialect: str) -> None:
    parsed = read_one(dialect, limits=Limits(calls=0))
    assert parsed.calls == []
    assert not any(isinstance(event, CallStarted) for event in parsed.events)
    (fault,) = (event for event in parsed.events if isinstance(event, Malformed))
    assert (fault.code, fault.index) == ("too-many-calls", None)


@pytest.mark.parametrize("dialect", ["tool-fence", "chat-blocks", "emoji-bracket"])
def test_a_limit_on_calls_lets_the_first_ones_through(dialect: str) -> None:
    parsed = parse(ONE_CALL[dialect] * 3, dialect, limits=Limits(calls=2))
    assert len(parsed.calls) == 2
    assert [fault.code for fault in parsed.problems if isinstance(fault, Malformed)] == [
        "too-many-calls"
    ]


@pytest.mark.parametrize("dialect", ["tool-fence", "scissors-cat"])
def test_nesting_beyond_the_limit_is_malformed(dialect: str) -> None:
    parsed = parse(ONE_CALL[dialect], dialect, limits=Limits(depth=1))
    assert [fault.code for fault in parsed.problems] == ["too-deep"]
    assert parsed.calls == []


def test_an_id_that_the_body_may_still_name_is_not_made_too_early() -> None:
    events = parse("```tool ls\nid: b\n```\n", "tool-fence").events
    (started,) = (event for event in events if isinstance(event, CallStarted))
    (ready,) = (event for event in events if isinstance(event, CallReady))
    assert (started.id, ready.call.id) == (None, "b")


def test_a_duplicate_that_the_body_names_is_told_after_the_call() -> None:
    events = parse("```tool ls a\n```\n```tool ls\nid: a\n```\n", "tool-fence").events
    (problem,) = (event for event in events if isinstance(event, Problem))
    assert (problem.code, problem.index) == ("duplicate-id", 1)


def test_a_block_that_the_text_did_not_end_says_so() -> None:
    (call,) = parse("🛠️[ls a]\nbody", "emoji-bracket").calls
    assert not call.ended
    assert call.input == {"args": "a", "body": "body"}

"""Dialects that give input as JSON say it while it comes: the name at once, then each piece.

Those whose arguments stand in tags say the name before the first argument has its own.
"""

from __future__ import annotations

import json
from itertools import accumulate

import pytest

from callblocks import Call, Parser, ToolSpec, dialects
from callblocks.core.events import CallInput, CallReady, CallStarted, Event
from callblocks.parsing.shapes.json_calls import JsonCalls, NamedJson
from callblocks.parsing.shapes.xml_parameters import XmlParameters

LIVE = [name for name, one in dialects.items() if isinstance(one, JsonCalls | NamedJson)]
INPUT = {"path": 'a "quoted" path ' * 4, "lines": ["one\n", {"deep": [True, None, -1.5]}], "é": ""}
IN_TAGS = [name for name, one in dialects.items() if isinstance(one, XmlParameters)]
CREATE = ToolSpec("create", parameters={"properties": {"path": {"type": "string"}}})
each = pytest.mark.parametrize("dialect", LIVE)


def said(dialect: str) -> tuple[str, list[list[Event]]]:
    """A call as it is written, and what each of its characters made the parser say."""
    text = dialects[dialect].write([Call(id="call-1", name="create", input=INPUT)])
    parser = Parser(dialect)
    return text, [*map(parser.feed, text), parser.close()]


@each
def test_what_is_said_of_the_input_is_the_input_as_written(dialect: str) -> None:
    text, steps = said(dialect)
    events = [event for step in steps for event in step]
    written = "".join(event.text for event in events if isinstance(event, CallInput))
    value = json.loads(written)
    assert (json.loads(value) if isinstance(value, str) else value) == INPUT
    assert written in text
    (ready,) = (event for event in events if isinstance(event, CallReady))
    assert ready.call.input == INPUT


@each
def test_a_call_starts_before_its_input_comes_and_only_the_first_of_it_waits(dialect: str) -> None:
    text, steps = said(dialect)
    starts = [at for at, step in enumerate(steps) if any(isinstance(e, CallStarted) for e in step)]
    first, last = text.index("{", text.index("create")), text.rindex("é")
    assert len(starts) == 1
    assert starts[0] <= first
    # Short arguments wait for their end, so up to 64 characters. Of longer ones less than an
    # escape has not been said.
    sizes = (sum(len(e.text) for e in step if isinstance(e, CallInput)) for step in steps)
    for at, size in enumerate(accumulate(sizes)):
        if first + 64 <= at < last:
            assert at + 1 - first - size <= 2, text[: at + 1]


@pytest.mark.parametrize("dialect", IN_TAGS)
def test_a_call_in_tags_starts_before_its_first_argument_is_named(dialect: str) -> None:
    call = Call(id="call-1", name="create", input={"path": "x"})
    text, parser = dialects[dialect].write([call], [CREATE]), Parser(dialect, tools=[CREATE])
    events = [event for char in text[: text.index("path") + 1] for event in parser.feed(char)]
    assert any(isinstance(event, CallStarted) for event in events)

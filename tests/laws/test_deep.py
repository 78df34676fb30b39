"""No text is too deep to be read: what opens and opens again is text or a problem, never an error.

The runs are longer than Python's stack is deep, and are read where that is already used: a parser
is called from within servers and loops, not from the top of a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from callblocks import Call, ToolSpec, dialects
from callblocks.core.events import Event
from callblocks.parser import AUTO
from support.event_verifier import verify
from support.sampling import sample
from support.soup import markers
from support.text_pieces import alike, cut, read

TIMES = 1500
FRAMES = 300
LEVELS = 90
PIECE = 700
OPENERS = (
    *("{", "[", "(", "{{", '"', "'", "<a>", '{"', "[{", "[(", "a(", "{'a':", '{"a":', "{a:"),
    *('\\"', "- ", "```\n"),
)
FOR_ALL = ("{", '{"a":', "[{")
INNER = {"$ref": "#/$defs/inner"}
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "options": INNER},
    "$defs": {
        "inner": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"here": INNER, "a": INNER},
                    "additionalProperties": INNER,
                },
                {"type": "array", "items": INNER},
                {"type": "integer"},
            ]
        }
    },
}
TOOLS = (ToolSpec("search", "", SCHEMA),)


def written(dialect: str, value: Any) -> str:
    call = Call(id="tool-call-1", name="search", input={"query": "text", "options": value})
    return dialects[dialect].write([call], TOOLS)


def frames(dialect: str) -> list[tuple[str, str]]:
    """What stands before and after a run: a marker and nothing, a call that it is the value in."""
    text = written(dialect, {"here": 1})
    at = text.index("here")
    start = max(text.rfind("{", 0, at), text.index("text"))
    return [*((one, "") for one in markers(dialect)[:1]), (text[:start], text[at + 4 :])]


def below(frames: int, action: Callable[[], list[Event]]) -> list[Event]:
    return action() if frames == 0 else below(frames - 1, action)


def read_below(dialect: str, pieces: list[str]) -> list[Event]:
    return below(FRAMES, lambda: read(dialect, pieces, tools=TOOLS))


@pytest.mark.no_cover  # the same ways as of any other text, many times
@pytest.mark.parametrize("dialect", dialects)
def test_a_run_of_openers_is_read_whatever_it_stands_behind(dialect: str) -> None:
    for before, after in frames(dialect):
        for opener in sample(OPENERS, of=2, seed=dialect + before):
            text = f"{before}{opener * TIMES}"
            closed = f"{text}{after}"
            verify(closed, read_below(dialect, [closed]), ())
            verify(text, read_below(dialect, cut(text, range(PIECE, len(text), PIECE))), ())


@pytest.mark.no_cover
@pytest.mark.parametrize("dialect", dialects)
def test_a_run_of_openers_is_read_without_a_dialect(dialect: str) -> None:
    for before, after in frames(dialect):
        for opener in FOR_ALL:
            text = f"{before}{opener * TIMES}{after}"
            verify(text, read_below(AUTO, [text]), ())


@pytest.mark.no_cover
@pytest.mark.parametrize("dialect", dialects)
def test_a_deep_value_reads_the_same_however_deep_the_reader_is_called(dialect: str) -> None:
    value: Any = 1
    for _ in range(LEVELS):
        value = {"a": value}
    text = written(dialect, value)
    # What was written was read again, from here.
    assert alike(read_below(dialect, [text]), read(dialect, [text], tools=TOOLS))

"""A call whose words went to the wrong places is told how to write it."""

from __future__ import annotations

import pytest

from callblocks import parse
from callblocks.core.calls import Call
from callblocks.core.outcomes import Failure
from callblocks.runtime.approval_gate import Approving
from callblocks.runtime.checked_call import Judgement
from callblocks.runtime.gate import Gate
from callblocks.runtime.turn_scope import Turn
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.tool_runtime import ALLOW_ALL

QUOTES = "in this dialect a text of several words stands in quotes: 'left pump'"


@tool(read_only=True)
def search(query: str, limit: int = 10, deep: bool = False) -> str:
    """Search."""
    return query


@tool(read_only=True, body="text")
def note(title: str, text: str) -> str:
    """Note."""
    return title


@tool(read_only=True)
def now() -> str:
    """Tell the time."""
    return ""


@tool(read_only=True)
def run(args: int, body: str) -> str:
    """Run."""
    return body


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


KNOWN = Registry([search, note, now, run, add])


def weigh(call: Call) -> Judgement | Failure:
    return Gate(KNOWN, ALLOW_ALL, Approving()).weigh(call, Turn())


def told(text: str, dialect: str = "emoji-bracket+") -> str:
    found = weigh(parse(text, dialect, tools=KNOWN).calls[0])
    assert isinstance(found, Failure)
    assert found.code == "invalid_input"
    return found.message


def test_a_word_after_the_first_that_does_not_fit_may_be_half_a_text() -> None:
    fault = 'search: limit: must be an integer, got "pump"'
    assert told("🛠️[search left pump /]") == f"{fault}\n{QUOTES}"
    assert told("🛠️[search left pump]🛠️[/end]", "emoji-bracket") == f"{fault}\n{QUOTES}"


@pytest.mark.parametrize(
    "text", ["🛠️[search /]", "🛠️[note text=x /]", "🛠️[run one]x🛠️[/end]", "🛠️[add 2 three /]"]
)
def test_nothing_is_said_of_quotes_where_they_are_not_the_fault(text: str) -> None:
    assert QUOTES not in told(text)


def test_another_dialect_has_no_such_hint() -> None:
    found = weigh(Call(id="c", name="search", input={"query": "left", "limit": "pump"}))
    assert isinstance(found, Failure)
    assert found.message == 'search: limit: must be an integer, got "pump"'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "🛠️[search the left pump now /]",
            "search: these words do not fit: it takes query, limit, deep, in this order, each "
            f"once; {QUOTES}",
        ),
        (
            "🛠️[search query=a query=b /]",
            "search: these words do not fit: it takes query, limit, deep, in this order, each "
            f"once; {QUOTES}",
        ),
        (
            "🛠️[now and then /]",
            f"now: these words do not fit: it takes none; {QUOTES}",
        ),
        (
            "🛠️[search a]b🛠️[/end]",
            "search: no parameter is left for the body; leave it empty",
        ),
        (
            "🛠️[note a text=b]c🛠️[/end]",
            "note: no parameter is left for the body; leave it empty",
        ),
    ],
)
def test_words_that_are_too_many_are_told_and_not_how_they_were_kept(text: str, words: str) -> None:
    assert told(text) == words


def test_raw_words_that_nobody_bound_are_fields_that_the_tool_does_not_have() -> None:
    raw = {"args": "a", "body": ""}
    found = weigh(Call(id="c", name="search", input=raw, dialect="emoji-bracket"))
    assert isinstance(found, Failure)
    assert "args: not a field of this tool" in found.message

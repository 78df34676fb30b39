"""Laws 1 to 3 and 5 of what a model thinks, where its dialect says how.

A dialect that names its markers stands in for all that do: emoji brackets, whose calls end a
thought, and the same without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callblocks import Limits, Parser, dialects
from callblocks.dialects.emoji_bracket import EmojiBracket
from callblocks.model.errors import CallerError
from callblocks.model.events import Event, Reasoning, Text
from callblocks.model.specs import ToolSpec
from callblocks.parser import AUTO
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import Shape
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.spelling import damaged
from support.corpus import texts_of
from support.reading import NAMES, alike, cut, read
from support.soup import COMMON, soup, texts
from support.verifying import verify
from support.work import work

GROWTH = 2.2
PAIRS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))
TOOLS = (ToolSpec("ls"), ToolSpec("rm"))
CORPUS_TOOLS = (ToolSpec("get_weather"), ToolSpec("ping"), ToolSpec("ls"), ToolSpec("search"))
CALL = "🛠️[ls]🛠️[/end]"
PARTS = (
    *("<think>", "</think>", "[THINK]", "[/THINK]", "</thi", "🛠️[", "🛠️[ls]", "🛠️[/end]", CALL),
    *("🛠️[cp]🛠️[/end]", "🛠️[ls]</think>🛠️[/end]", "🛠️[/end]</think>", "🛠️[ls\n", "so ", "rm"),
)


class Patient(EmojiBracket):
    name = "patient"
    reasoning = PAIRS


class Hasty(Patient):
    name = "hasty"
    calls_end_reasoning: ClassVar = True


class Shaped(Hasty):
    """Its marker may begin where another one stands."""

    name = "shaped"

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (Shape(("ð", ".{0,9}", "!")),)


def told(text: str, **options: object) -> list[tuple[str, str]]:
    """What was thought, said and called, in order."""
    parsed = Parsed(read(Hasty(), [text], **{"tools": TOOLS, **options}))
    kinds: dict[type[Event], str] = {Text: "text", Reasoning: "thought"}
    said = [(kinds[type(e)], e.text) for e in parsed.events if isinstance(e, Text | Reasoning)]
    return [*said, *(("call", call.name) for call in parsed.calls)]


@given(
    texts((*PARTS * 3, *COMMON)),
    st.sampled_from([Patient(), Hasty(), [Hasty(), "tool-fence"]]),
    st.booleans(),
    st.sampled_from([(), TOOLS]),
    st.lists(st.integers(0, 80), max_size=6),
)
@settings(max_examples=max(300, settings().max_examples))
@example("<think>🛠️[ls]🛠️[/end]</think>", Hasty(), False, TOOLS, [])
@example("🛠️[ls]</think>🛠️[/end]", Hasty(), True, TOOLS, [])
def test_cuts_do_not_matter_and_nothing_is_lost(text, dialect, opened, tools, places) -> None:
    options = {"in_reasoning": opened, "tools": tools}
    whole = read(dialect, [text], **options)
    verify(text, whole, PAIRS)
    for pieces in (cut(text, [at for at in places if at < len(text)]), list(text)):
        events = read(dialect, pieces, **options)
        verify(text, events, PAIRS)
        assert alike(events, whole)


@pytest.mark.parametrize("piece", [1, 4, 0], ids=["by one", "by four", "whole"])
@pytest.mark.parametrize(
    "repeated", ["🛠️[ls]", "🛠️[", "🛠️[ls]x</think><think>", "<think>" + CALL, "</thin", "🛠️[cp]"]
)
def test_twice_the_thought_is_twice_the_work(repeated: str, piece: int) -> None:
    times = 1000 // len(repeated)
    rows = ["<think>" + repeated * count for count in (times, 2 * times)]
    once, twice = (
        work(Hasty(), cut(row, range(piece, len(row), piece) if piece else ()), tools=TOOLS)
        for row in rows
    )
    assert twice <= GROWTH * once


def test_a_complete_call_of_a_known_tool_ends_a_thought() -> None:
    text = f"<think>Hm.{CALL}Done."
    assert told(text) == [("thought", "Hm."), ("text", "Done."), ("call", "ls")]


def test_the_closing_marker_after_such_a_call_is_markup_once() -> None:
    text = f"<think>Hm.{CALL}</think>A</think>B"
    kinds = [("thought", "Hm."), ("thought", ""), ("text", "A</think>B"), ("call", "ls")]
    assert told(text) == kinds


@pytest.mark.parametrize(
    "thought",
    [
        "I could write 🛠️[ls] here.",
        "🛠️[ls",
        "🛠️[",
        "🛠️[/end]",
        "🛠️[cp]🛠️[/end]",
        "🛠️[ls]🛠️[/end",
    ],
)
def test_a_mention_in_a_thought_is_no_call(thought: str) -> None:
    assert told(f"<think>{thought}</think>No.") == [("thought", thought), ("text", "No.")]


def test_no_call_ends_a_thought_where_no_tool_is_known_or_its_dialect_waits() -> None:
    text = f"<think>{CALL}</think>No."
    assert told(text, tools=()) == [("thought", CALL), ("text", "No.")]
    assert not Parsed(read(Patient(), [text], tools=TOOLS)).calls


def test_a_call_that_the_closing_marker_breaks_is_a_thought() -> None:
    text = "<think>🛠️[ls]</think>🛠️[/end]"
    assert [kind for kind, _ in told(text)] == ["thought", "text"]


def test_a_call_beyond_the_limit_is_a_thought() -> None:
    text = f"<think>{CALL}</think>No."
    assert told(text, limits=Limits(calls=0)) == [("thought", CALL), ("text", "No.")]


def test_a_call_is_seen_where_another_marker_may_still_come() -> None:
    text = f"<think>{damaged('🛠️')[0]}[ls]🛠️[/end]"
    for pieces in ([text], list(text)):
        assert Parsed(read([Shaped(), Hasty()], pieces, tools=TOOLS)).calls[0].name == "ls"


def test_a_thought_that_the_prompt_opened_goes_on() -> None:
    for text in ("Hm.</think>Yes.", "<think>Hm.[/THINK]Yes."):
        assert told(text, in_reasoning=True) == [("thought", "Hm."), ("text", "Yes.")]


def test_the_end_of_a_thought_that_the_prompt_opened_may_come_first() -> None:
    assert told(" </think>Yes.</think>") == [
        ("text", " "),
        ("thought", ""),
        ("text", "Yes.</think>"),
    ]


def test_a_thought_that_was_opened_needs_a_marker_to_end_it() -> None:
    with pytest.raises(CallerError, match="in_reasoning needs `reasoning`"):
        Parser("emoji-bracket", in_reasoning=True)


THINKING = [name for name in NAMES if name == AUTO or dialects[name].reasoning]


@pytest.mark.parametrize("dialect", THINKING)
@given(data=st.data())
@settings(max_examples=max(20, settings().max_examples // 4))
def test_each_dialect_that_thinks_keeps_the_laws(dialect: str, data: st.DataObject) -> None:
    known = dialects.values() if dialect == AUTO else [dialects[dialect]]
    own = [marker for one in known for pair in one.reasoning for marker in pair]
    call = st.sampled_from(texts_of("hermes" if dialect == AUTO else dialect))
    parts = data.draw(st.lists(st.sampled_from(own) | call | soup(dialect), max_size=5))
    options = {"in_reasoning": data.draw(st.booleans()), "tools": CORPUS_TOOLS}
    text = "".join(parts)
    whole = read(dialect, [text], **options)
    verify(text, whole, [(marker, marker) for marker in own])
    for pieces in (parts, list(text)):
        assert alike(read(dialect, pieces, **options), whole)


def test_where_the_dialect_is_guessed_only_the_start_of_a_text_is_a_thought() -> None:
    several = [Hasty(), "tool-fence"]
    first = Parsed(read(several, [" <think>Hm.</think>Yes. <think>No.</think>"]))
    assert (first.reasoning, first.text) == ("Hm.", " Yes. <think>No.</think>")

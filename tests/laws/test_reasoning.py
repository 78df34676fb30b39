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
from callblocks.core.errors import CallerError
from callblocks.core.events import Event, Problem, Reasoning, Text
from callblocks.core.specs import ToolSpec
from callblocks.dialects.emoji_bracket import EmojiBracket
from callblocks.parser import AUTO
from callblocks.parsing.dialect import Parsed
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape, damaged
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting
from support.corpus import texts_of
from support.event_verifier import verify
from support.sampling import share
from support.soup import COMMON, soup, texts
from support.text_pieces import NAMES, alike, cut, read
from support.work_counter import work

GROWTH = 2.2
PAIRS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))
TOOLS = (ToolSpec("ls"), ToolSpec("rm"))
CORPUS_TOOLS = (ToolSpec("get_weather"), ToolSpec("ping"), ToolSpec("ls"), ToolSpec("search"))
CALL = "🛠️[ls]🛠️[/end]"
PARTS = (
    *("`", "``", "\n\n", "\n```\n", "<|im_end|>", "🛠️[\n"),
    *("<think>", "</think>", "[THINK]", "[/THINK]", "</thi", "🛠️[", "🛠️[ls]", "🛠️[/end]", CALL),
    *("🛠️[cp]🛠️[/end]", "🛠️[ls]</think>🛠️[/end]", "🛠️[/end]</think>", "🛠️[ls\n", "so ", "rm"),
)


class Patient(EmojiBracket):
    name = "patient"
    reasoning = PAIRS
    turn_ends = ("<|im_end|>",)


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
@pytest.mark.no_cover  # other tests walk the same ways
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
    "repeated",
    [
        "🛠️[ls]",
        "🛠️[",
        "🛠️[ls]x</think><think>",
        "<think>" + CALL,
        "</thin",
        "🛠️[cp]",
        CALL,
        "`" + CALL,
        "``" + CALL,
        "`🛠️[``",
        "<|im_end|>",
    ],
)
@pytest.mark.parametrize("dialect", [Patient(), Hasty()], ids=["patient", "hasty"])
@pytest.mark.no_cover  # other tests walk the same ways
def test_twice_the_thought_is_twice_the_work(dialect: Patient, repeated: str, piece: int) -> None:
    times = 1000 // len(repeated)
    rows = ["<think>" + repeated * count for count in (times, 2 * times)]
    once, twice = (
        work(dialect, cut(row, range(piece, len(row), piece) if piece else ()), tools=TOOLS)
        for row in rows
    )
    assert twice <= GROWTH * once


def test_a_complete_call_of_a_known_tool_interrupts_a_thought() -> None:
    text = f"<think>Hm.{CALL}So.{CALL}</think>Done."
    thoughts = [("thought", "Hm."), ("thought", "So."), ("thought", "")]
    assert told(text) == [*thoughts, ("text", "Done."), ("call", "ls"), ("call", "ls")]


def test_only_its_closing_marker_ends_a_thought() -> None:
    assert told(f"<think>Hm.{CALL}So.") == [("thought", "Hm."), ("thought", "So."), ("call", "ls")]
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


def test_no_call_is_read_in_a_closed_thought_where_no_tool_is_known_or_its_dialect_waits() -> None:
    text = f"<think>{CALL}</think>No."
    assert told(text, tools=()) == [("thought", CALL), ("text", "No.")]
    parsed = Parsed(read(Patient(), [text], tools=TOOLS))
    assert (parsed.reasoning, parsed.text, parsed.problems) == (CALL, "No.", [])


def test_a_patient_dialect_reads_the_calls_of_a_thought_that_is_never_closed() -> None:
    parsed = Parsed(read(Patient(), [f"<think>Hm.{CALL}So.{CALL}<|im_end|>\n"], tools=TOOLS))
    assert [call.name for call in parsed.calls] == ["ls", "ls"]
    assert (parsed.reasoning, parsed.text, parsed.problems) == ("Hm.So.", "", [])


@pytest.mark.parametrize("dialect", [Patient(), Hasty()], ids=["patient", "hasty"])
@pytest.mark.parametrize("quoted", ["`{}`", "``{}``", "`a\n{}`", "\n```\n{}\n```\n", "`{} b` c"])
def test_a_call_quoted_as_code_in_a_thought_is_a_mention(dialect: Patient, quoted: str) -> None:
    text = quoted.format(CALL)
    for pieces in ([f"<think>{text}"], list(f"<think>{text}")):
        parsed = Parsed(read(dialect, pieces, tools=TOOLS))
        assert (parsed.reasoning, parsed.calls, parsed.problems) == (text, [], [])


@pytest.mark.parametrize("dialect", [Patient(), Hasty()], ids=["patient", "hasty"])
@pytest.mark.parametrize(
    "text", ["don`t {}", "`a {}\n\nb`", "`a {} `` b", "``a {} b` {} c", "`a`` {}", "`{}</think>`"]
)
def test_a_backtick_that_nothing_closes_quotes_no_call(dialect: Patient, text: str) -> None:
    whole = "<think>" + text.format(CALL, CALL)
    is_call = "</think>" not in text or dialect.calls_end_reasoning
    for pieces in ([whole], list(whole)):
        assert bool(Parsed(read(dialect, pieces, tools=TOOLS)).calls) == is_call


@pytest.mark.parametrize(
    "thought",
    ["🛠️[ls]", "a 🛠️[ls]🛠️[/en", "🛠️[\nls 🛠️[ " + "x" * 70, "🛠️[ls] x <|im_end|>", "🛠️[\n - ls."],
)
def test_a_call_that_breaks_off_in_an_unclosed_thought_is_a_problem(thought: str) -> None:
    whole = f"<think>{thought}"
    for pieces in ([whole], list(whole)):
        parsed = Parsed(read(Hasty(), pieces, tools=TOOLS))
        (problem,) = parsed.problems
        assert (problem.code, parsed.calls, parsed.text) == ("unread-call", [], "")
        assert "'ls'" in problem.detail
        assert isinstance(problem, Problem)
        start, end = problem.place
        assert whole[start:end].startswith("🛠️[")
        assert "ls" in whole[start:end]


@pytest.mark.parametrize(
    "thought", ["🛠️[cp]", "ls", "🛠️[\n" + "x" * 70 + " ls", "🛠️[\n🛠️[cp]🛠️[/end]", "`🛠️[ls`"]
)
def test_a_thought_that_names_no_declared_tool_behind_an_opener_has_no_problem(thought) -> None:
    parsed = Parsed(read(Hasty(), [f"<think>{thought}"], tools=TOOLS))
    assert (parsed.reasoning, parsed.problems) == (thought, [])


def test_what_ends_a_turn_is_no_thought() -> None:
    for tools in ((), TOOLS):
        assert told("<think>Hm.<|im_end|>", tools=tools) == [("thought", "Hm."), ("text", "")]
        kept = "Say <|im_end|><|im_end|>."
        assert told(f"<think>{kept}", tools=tools) == [("thought", kept)]


class Wary(Hasty):
    """It takes no call that a tag follows."""

    name = "wary"

    def read(self, block: Block) -> Reading[Refused | None]:
        yield from block.until(Markers("🛠️[/end]"))
        if (yield from block.peek()) == "<":
            return block.refuse()
        block.started("ls")
        block.ready({}, size=0)
        return None


def test_a_call_that_only_the_trial_saw_is_a_thought() -> None:
    parsed = Parsed(read(Wary(), [f"<think>{CALL}</think>No."], tools=TOOLS))
    assert (parsed.reasoning, parsed.text, parsed.calls) == (CALL, "No.", [])


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
@settings(max_examples=share(max(20, settings().max_examples // 4), of=2))
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

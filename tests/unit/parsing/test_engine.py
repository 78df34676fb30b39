"""Text never raises, in any state; a caller's mistake always does, and breaks nothing."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks import Limits, Parser
from callblocks.core.errors import CallerError, NotText, ParserClosed
from callblocks.core.events import Problem, Reasoning, Text
from support.text_pieces import alike, read

# Each leaves a parser waiting for something else.
STATES = (
    *(("auto", text) for text in ("", "a", "a\n", "a\n[", "a\n``", "a<")),
    *(
        ("tool-fence", text)
        for text in ("\n", "```t", "```tool a\n", "```tool\n", "```tool a\nb\n`")
    ),
    *(("scissors-cat", text) for text in ("[", '["a', "[t", "[1", "[1]", "[{x", "✂", "[]✂️🐱")),
    *(("chat-blocks", text) for text in ("<tool>", "<tool>a\nb", "&am", "<tool>a</", "🔧")),
    *(("emoji-bracket", text) for text in ("🛠", "🛠️[", "🛠️[a]", "🛠️[a]b", "🛠️[a]b🛠", "🛠️[a]\r")),
)
in_any_state = pytest.mark.parametrize(("dialect", "text"), STATES)


@in_any_state
def test_an_empty_piece_settles_nothing(dialect: str, text: str) -> None:
    assert alike(read(dialect, [text, "", "\nand on"]), read(dialect, [text, "\nand on"]))


@in_any_state
@pytest.mark.parametrize("piece", [b"", b"x", bytearray(b"x"), None, 5, [], ["a"], ()], ids=repr)
def test_a_piece_that_is_no_text_is_refused_and_changes_nothing(
    dialect: str, text: str, piece: Any
) -> None:
    parser = Parser(dialect)
    seen = parser.feed(text)
    with pytest.raises(NotText):
        parser.feed(piece)
    seen += parser.feed(" and on") + parser.close()
    assert alike(seen, read(dialect, [text, " and on"]))


@in_any_state
def test_a_closed_parser_takes_nothing_more(dialect: str, text: str) -> None:
    parser = Parser(dialect)
    parser.feed(text)
    parser.close()
    with pytest.raises(ParserClosed, match="a new text needs a new parser"):
        parser.feed("")
    with pytest.raises(ParserClosed, match="a new text needs a new parser"):
        parser.close()


@in_any_state
def test_an_empty_piece_says_nothing_and_changes_nothing(dialect: str, text: str) -> None:
    parser = Parser(dialect)
    seen = parser.feed(text)
    assert parser.feed("") == []
    seen += parser.feed("") + parser.feed("x") + parser.close()
    assert alike(seen, read(dialect, [text, "x"]))


def test_the_message_names_the_piece_and_the_way_out() -> None:
    with pytest.raises(NotText, match=r"a piece is a str, not bytes: b'x'; decode bytes first"):
        Parser().feed(b"x")  # pyright: ignore[reportArgumentType] the mistake


def test_a_text_without_pieces_has_no_events() -> None:
    assert Parser().close() == []


def test_a_subclass_of_str_is_text() -> None:
    class Piece(str):
        __slots__ = ()

    assert read("emoji-bracket", [Piece("a"), Piece("b")]) == [Text("a", (0, 1)), Text("b", (1, 2))]


def test_reasoning_is_told_apart_and_holds_no_calls() -> None:
    text = "a<think>🛠️[ls]🛠️[/end]</think>b"
    events = read("emoji-bracket", [text], reasoning=[("<think>", "</think>")])
    assert [event.text for event in events if isinstance(event, Reasoning)] == [
        "",
        "🛠️[ls]🛠️[/end]",
        "",
    ]
    assert [event.text for event in events if isinstance(event, Text)] == ["a", "b"]


def test_reasoning_may_be_given_as_lists_and_may_never_end() -> None:
    events = read("emoji-bracket", ["<t>a"], reasoning=[["<t>", "</t>"]])
    assert events == [Reasoning("", (0, 3)), Reasoning("a", (3, 4))]


@pytest.mark.parametrize("pairs", [[("", "b")], [("a", "")], [("a",)], [("a", "b", "c")]])
def test_reasoning_needs_two_markers_that_are_not_empty(pairs: Any) -> None:
    with pytest.raises(CallerError, match="reasoning is pairs"):
        Parser(reasoning=pairs)


def test_an_owner_that_refused_a_stretch_lets_others_read_it() -> None:
    """The emoji marker bars its line for its own dialect only."""
    text = "🛠️[<tool>ls()</tool>\n"
    events = read("auto", [text])
    assert [event.call.name for event in events if hasattr(event, "call")] == ["ls"]  # pyright: ignore[reportAttributeAccessIssue] it has one


def test_a_problem_owns_no_text() -> None:
    events = read("emoji-bracket", ["a🛠️[/end]b"])
    assert [event for event in events if isinstance(event, Problem)] == [
        Problem("emoji-bracket.stray-end", "no block is open here", (9, 9), (1, 9))
    ]


def test_limits_are_limits() -> None:
    with pytest.raises(CallerError, match=r"limits are `Limits\(…\)`, not \{'depth': 1\}"):
        Parser(limits={"depth": 1})  # pyright: ignore[reportArgumentType] the mistake


@pytest.mark.parametrize("name", ["depth", "input_size", "calls"])
@pytest.mark.parametrize("value", [-1, 1.5, "1", None])
def test_a_limit_is_a_number_from_0_on(name: str, value: Any) -> None:
    with pytest.raises(CallerError, match=f"the limit `{name}` is a number from 0 on"):
        Limits(**{name: value})


def test_prose_streams_on_after_the_last_dialect_has_nothing_more_to_open() -> None:
    parser = Parser("scissors-cat")
    parser.feed("[]✂️🐱\n\n")
    for piece in ("a", "\n[", "✂", "️🐱", "b"):
        (event,) = parser.feed(piece)
        assert isinstance(event, Text)
        assert event.text == piece
    assert parser.close() == []

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from callblocks.core.specs import ToolSpec, ToolSpecs
from callblocks.parser import Parser
from callblocks.views.rows import Row, plain
from callblocks.views.text.listing import Listing
from support.transcripts import EXAMPLES, cut, places


def draw(*pieces: str, width: int = 100, dialect: str = "auto", tools: ToolSpecs = ()) -> list[str]:
    listing, parser = Listing(width), Parser(dialect, tools=tools)
    rows: list[Row] = []
    for piece in pieces:
        rows += listing.feed(piece, parser.feed(piece))
    rows += listing.feed("", parser.close())
    return [plain(row).rstrip() for row in [*rows, *listing.close()]]


def test_each_event_has_its_line() -> None:
    text = (
        "Look.\n\n```tool read c1\ninput: {path: a, n: 2}\noutput: |\n  one\n  two\n```\n\nDone.\n"
    )
    assert draw(text) == [
        "    1  prose    Look.",
        "    3  call     read  c1  tool-fence",
        "                path  a",
        "                n     2",
        "       result   one",
        "                two",
        "   10  prose    Done.",
        "",
        "  1 call, 1 result",
    ]


@pytest.mark.parametrize("size", [1, 9, 99])
def test_a_problem_that_is_reported_late_has_the_number_of_its_line(size: int) -> None:
    text = "Well.\n<tool_call read(path=1)\nSo.\nAnd.\nEnd."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert draw(*pieces, dialect="hermes", tools=[ToolSpec("read")]) == [
        "    1  prose    Well.",
        "    2           <tool_call read(path=1)",
        "    3           So.",
        "                … 2 more lines",
        "    2  problem  unread-call: read stands here in the form of a call, and was not read "
        "as one",
        "",
        "  0 calls, 1 problem",
    ]


def test_an_error_is_one_and_an_empty_result_too() -> None:
    text = "<tool>a()\n❌ no</tool><tool>b()\n</tool>"
    assert draw(text)[2:5] == [
        "       error    no",
        "    2  call     b  tool-call-2  chat-blocks",
        '                shown  ""',
    ]
    assert draw(text)[5:] == ["       result   ✓", "", "  2 calls, 1 result, 1 failure"]


def test_long_prose_and_values_show_their_first_lines() -> None:
    body = "".join(f"{n}\n" for n in range(9))
    drawn = draw("a\nb\n\nc\nd\ne\n🛠️[w]\n" + body + "🛠️[/end]")
    assert drawn[2:4] == ["    4           c", "                … 2 more lines"]
    assert drawn[-4:-2] == ["                      3", "                      … 5 more lines"]


def test_a_problem_in_prose_follows_its_line() -> None:
    assert draw("What ends? 🛠️[/end] Nothing.\n")[:2] == [
        "    1  prose    What ends? 🛠️[/end] Nothing.",
        "    1  problem  emoji-bracket.stray-end: no block is open here",
    ]


def test_a_problem_of_a_block_names_the_line_of_the_block() -> None:
    text = "\n\n```tool a x\n" + "# long\n" * 5 + "input: {\n```\n"
    assert draw(*text)[0].startswith("    3  problem  tool-fence.yaml")


def test_thoughts_are_told_from_prose() -> None:
    listing, parser = Listing(80), Parser(reasoning=[("<think>", "</think>")])
    text = "<think>so\n</think>yes\n."
    drawn = [plain(row) for row in listing.feed(text, parser.feed(text))]
    assert drawn == ["    1  thought  so", "    2  prose    yes"]


def test_secrets_are_not_shown() -> None:
    drawn = draw(
        "```tool login\ninput: {password: hunter22, note: ghp_0123456789abcdefghij}\n```\n"
    )
    assert "hunter22" not in "".join(drawn)
    assert "ghp_" not in "".join(drawn)


def test_a_call_that_never_ended_says_so() -> None:
    assert draw("🛠️[a]\nrest")[0] == "    1  call     a  tool-call-1  emoji-bracket  not ended"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
@given(marks=places)
def test_cuts_do_not_matter(example: Path, marks: list[int]) -> None:
    text = example.read_text("utf-8")
    assert draw(*cut(text, marks)) == draw(text)

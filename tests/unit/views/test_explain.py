from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from callblocks.core.specs import ToolSpec
from callblocks.parser import Parser
from callblocks.views.rows import Row, columns, plain, runs
from callblocks.views.text.explain import AttemptLog, Explained
from support.transcripts import EXAMPLES, cut, places


def rows(*pieces: str, width: int = 100) -> list[Row]:
    view, parser = Explained(width), Parser(reasoning=[("<think>", "</think>")])
    found: list[Row] = []
    for piece in pieces:
        found += view.feed(piece, parser.feed(piece))
    found += view.feed("", parser.close())
    return [*found, *view.close()]


def draw(*pieces: str, width: int = 100) -> list[str]:
    return [plain(row).rstrip() for row in rows(*pieces, width=width)]


def test_a_call_says_which_marker_opened_it_and_where_it_stands() -> None:
    assert draw("Look.\n\n```tool read c1\ninput: {path: a}\n```\n") == [
        "    1 │ Look.",
        "    2 │",
        "    3 ┃ ```tool read c1",
        "    4 ┃ input: {path: a}",
        "    5 ┃ ```",
        "      ╰ call read, id c1: tool-fence, opened by ```tool read c1 at 3:1, ends at 5:3, "
        "span 6–44",
        "",
        "  1 call",
    ]


def test_a_problem_is_drawn_under_its_place() -> None:
    assert draw("Well 🛠️[/end] then\n") == [
        "    1 │ Well 🛠️[/end] then",
        "      │      ^^^^^^^^",
        "      │      ⚠ emoji-bracket.stray-end: no block is open here",
        "",
        "  0 calls, 1 problem",
    ]


def test_a_call_that_was_not_read_is_drawn_at_its_line_however_the_text_comes() -> None:
    text = "Well.\n<tool_call read(path=1)\nSo.\nEnd.\n"
    for size in (1, 7, len(text)):
        view, parser = Explained(100, has_tools=True), Parser("hermes", tools=[ToolSpec("read")])
        for at in range(0, len(text), size):
            assert view.feed(text[at : at + size], parser.feed(text[at : at + size])) == []
        found = [*view.feed("", parser.close()), *view.close()]
        assert [plain(row).rstrip() for row in found] == [
            "    1 │ Well.",
            "    2 │ <tool_call read(path=1)",
            "      │            ^^^^",
            "      │            ⚠ unread-call: read stands here in the form of a call, and was not "
            "read as one",
            "    3 │ So.",
            "    4 │ End.",
            "",
            "  0 calls, 1 problem",
        ]


def test_carets_count_columns_not_characters() -> None:
    assert draw("漢字 🛠️[/end]\n")[1] == "      │      ^^^^^^^^"


def test_carets_stand_under_the_row_they_mean() -> None:
    drawn = draw("word " * 6 + "🛠️[/end] word\n", width=38)
    assert drawn[:3] == [
        "    1 │ word word word word word word",
        "      │ 🛠️[/end] word",
        "      │ ^^^^^^^^",
    ]


def test_faults_of_one_place_share_their_carets() -> None:
    fence = "```tool a x\n```\n```tool a x\nstate: odd\n```\n"
    drawn = [line[8:] for line in draw(fence)]
    at = drawn.index("^" * 11)
    assert drawn[at + 1].startswith("⚠ duplicate-id")
    assert drawn[at + 2].startswith("⚠ unknown-state")


def test_a_block_that_breaks_is_wrong_from_its_start() -> None:
    drawn = rows("a\n```tool x\ninput: {\n```\nb\n")
    assert plain(drawn[1]) == "    2 ┃ ```tool x"
    assert drawn[1][-1] == ("error", "```tool x")
    assert plain(drawn[2]) == "      ┃ ^^^^^^^^^"
    assert drawn[4][2] == ("error", "input: {")


def test_a_blank_line_inside_a_block_belongs_to_it() -> None:
    drawn = draw("🛠️[a]\n\nx\n🛠️[/end]\n\n")
    assert [line[6:7] for line in drawn[:6]] == ["┃", "┃", "┃", "┃", "╰", "│"]


def test_results_are_named() -> None:
    drawn = draw("🛠️[a]🛠️[/end]\n🛠️[/result 1 error]\nno\n🛠️[/end]\n")
    assert drawn[5] == "      ╰ error of tool-call-1"


def test_a_call_that_never_ended_says_so() -> None:
    assert "not ended, span 0–10" in "".join(draw("🛠️[a]\nrest"))


def test_thoughts_look_like_thoughts() -> None:
    row = runs(rows("<think>so</think>yes")[0])
    assert row[1:] == (("reasoning", "<think>so</think>"), ("plain", "yes"))


def test_a_text_without_line_ends_is_drawn_in_parts() -> None:
    view, parser = Explained(100), Parser("emoji-bracket")
    piece = "word " * 2_000
    assert len(view.feed(piece, parser.feed(piece))) > 50


def test_nothing_steers_the_terminal() -> None:
    drawn = "".join(draw("\x1b[31m 🛠️[a\x1b \x9b]\n\u202e🛠️[/end] 🛠️[/end]"))
    assert not set(drawn) & set("\x1b\x9b\u202e")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
@given(marks=places)
def test_cuts_do_not_matter(example: Path, marks: list[int]) -> None:
    text = example.read_text("utf-8")
    assert draw(*cut(text, marks)) == draw(text)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("width", [40, 60, 100])
def test_all_of_the_text_is_drawn_within_the_width(example: Path, width: int) -> None:
    text = example.read_text("utf-8")
    drawn = draw(text, width=width)
    assert max(map(columns, drawn)) <= width
    said = "".join(line[8:] for line in drawn if line[6:7] in "│┃").replace(" ", "")
    assert [word for word in text.split() if word not in said] == []


def test_a_further_call_of_an_array_is_opened_by_its_own_bracket() -> None:
    call = '{"type": "search", "operation": "", "parameters": {}}'
    drawn = "\n".join(plain(row) for row in rows(f"[{call},\n {call}]\n✂️🐱\n"))
    assert "opened by [ at 1:1" in drawn
    assert "opened by { at 2:2" in drawn


def test_a_dialect_that_refuses_twice_gives_its_first_reason() -> None:
    parser = Parser("auto", tools=[ToolSpec("now")])
    parser.attempts = []
    parser.feed("<tool_call>now: soon</tool_call>")
    parser.close()
    told = ["".join(text for _, text in row) for _, _, row in AttemptLog(parser.attempts).tell(99)]
    assert told[0].count("hermes expected") == 1
    assert "hermes expected `{` or `[`" in told[0]

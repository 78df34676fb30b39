from __future__ import annotations

from callblocks.views.rows import plain
from callblocks.views.terminal.terminal import Prose


def test_markdown_keeps_its_marks_and_gets_weight() -> None:
    rows = Prose().draw("so **very** `good` it is", 80)
    assert rows == [
        (
            ("plain", "so "),
            ("strong", "**very**"),
            ("plain", " "),
            ("code", "`good`"),
            ("plain", " it is"),
        )
    ]


def test_a_heading_is_one() -> None:
    assert Prose().draw("## Plan", 80) == [(("heading", "## Plan"),)]


def test_thoughts_have_no_weights() -> None:
    assert Prose().draw("**so**", 80, "reasoning") == [(("reasoning", "**so**"),)]


def test_a_code_fence_stands_as_it_is_until_it_ends() -> None:
    prose = Prose()
    lines = ["```py", "x = '**no**'", "", "```", "**yes**"]
    drawn = [prose.draw(line, 80) for line in lines]
    assert drawn[1] == [(("code", "x = '**no**'"),)]
    assert drawn[2] == [()]
    assert drawn[4] == [(("strong", "**yes**"),)]


def test_a_fence_ends_only_with_its_own_kind() -> None:
    prose = Prose()
    for line in ["~~~~", "```", "~~~"]:
        prose.draw(line, 80)
    assert prose.in_fence
    prose.draw("~~~~", 80)
    assert not prose.in_fence


def test_a_list_hangs_under_its_words() -> None:
    rows = Prose().draw("- one two three four", 12)
    assert [plain(row) for row in rows] == ["- one two", "  three four"]


def test_a_copy_goes_its_own_way() -> None:
    prose = Prose()
    prose.copy().draw("```", 80)
    assert not prose.in_fence

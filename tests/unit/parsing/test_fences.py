"""Code fences are followed as CommonMark follows them."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks import parse
from callblocks.parsing.engine.fences import Fence, closes, read_fence

CALL = "🛠️[call]🛠️[/end]"
ROWS = (
    *("```", "````", "~~~", "~~~~", "```py", "~~~ py `x`", "```a`b", "``", "~~", "   ```"),
    *("    ```", "\t```", "``` ", "```\t", "   ~~~  ", "text", "", " ", "> ```", "- ```", CALL),
)
OPENING = re.compile(r" {0,3}(?:(`{3,})([^`]*)|(~{3,})(.*))")
CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")


def calls_outside(rows: list[str]) -> int:
    """The model: line by line, as the specification tells it."""
    fence, calls = "", 0
    for row in rows:
        opening, closing = OPENING.fullmatch(row), CLOSING.fullmatch(row)
        if not fence and opening:
            fence = opening[1] or opening[3]
        elif fence and closing and closing[1].startswith(fence):
            fence = ""
        elif not fence:
            calls += row == CALL
    return calls


@given(
    st.lists(st.sampled_from((*ROWS, *[CALL] * 6)), max_size=12), st.sampled_from(["\n", "\r\n"])
)
@example(["```", "~~~", CALL, "```", CALL], "\n")
@example(["````", "```", CALL], "\n")
@example(["   ```", CALL, "   ```", CALL], "\n")
def test_a_call_in_a_fence_is_prose_where_the_caller_says_so(rows: list[str], end: str) -> None:
    text = end.join(rows)
    parsed = parse(text, "emoji-bracket", in_code_fences=False)
    assert len(parsed.calls) == calls_outside(rows)
    assert parsed.text == text.replace(CALL, "") or len(parsed.calls) < rows.count(CALL)
    assert len(parse(text, "emoji-bracket").calls) == rows.count(CALL)


@pytest.mark.parametrize(
    ("line", "fence"),
    [
        ("```", Fence("```", "")),
        ("  ~~~~ tool a ", Fence("~~~~", "tool a")),
        ("```tool a=~", Fence("```", "tool a=~")),
        ("~~~ `a`", Fence("~~~", "`a`")),
        ("``` `a`", None),
        ("``", None),
        ("", None),
        ("aaa", None),
    ],
)
def test_an_opening_line_is_a_run_and_an_info_string(line: str, fence: Fence | None) -> None:
    assert read_fence(line) == fence


@pytest.mark.parametrize(
    ("line", "run", "is_closing"),
    [
        ("```", "```", True),
        (" `````  ", "```", True),
        ("``", "```", False),
        ("```", "````", False),
        ("~~~", "```", False),
        ("``` a", "```", False),
    ],
)
def test_a_closing_line_is_at_least_as_long_and_nothing_else(
    line: str, run: str, is_closing: bool
) -> None:
    assert closes(line, run) is is_closing

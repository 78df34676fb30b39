"""Laws 1 to 3, over random text: cuts do not matter, text never raises, nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from callblocks import Limits
from callblocks.core.specs import ToolSpec
from support.event_verifier import verify
from support.example_counts import try_each
from support.soup import soup
from support.text_pieces import NAMES, alike, cut, read

EXAMPLES = max(60, settings().max_examples)
THINKING = (("<think>", "</think>"), ("<a", "a>"))
TOOLS = (
    ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
    ToolSpec("nothing", "", {}),
)
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "in_code_fences": st.booleans(),
        "tools": st.just(TOOLS),
        "limits": st.builds(
            Limits, depth=st.integers(0, 3), input_size=st.integers(0, 30), calls=st.integers(0, 2)
        ),
    },
)


@pytest.mark.parametrize("dialect", NAMES)
def test_any_cut_of_any_text_says_the_same_and_loses_nothing(dialect: str) -> None:
    def check(case: tuple[str, dict[str, Any], list[int]]) -> None:
        text, options, places = case
        whole = read(dialect, [text], **options)
        verify(text, whole)
        for pieces in (cut(text, [at for at in places if at < len(text)]), list(text)):
            events = read(dialect, pieces, **options)
            verify(text, events)
            assert alike(events, whole), pieces

    places = st.lists(st.integers(0, 80), max_size=8)
    try_each(dialect, EXAMPLES, st.tuples(soup(dialect), OPTIONS, places), check)


@pytest.mark.parametrize("dialect", NAMES)
def test_reasoning_is_cut_out_the_same_way(dialect: str) -> None:
    thought = st.sampled_from(["<think>", "</think>", "<a", "a>", "<"])

    def check(parts: list[str]) -> None:
        text, whole = "".join(parts), read(dialect, ["".join(parts)], reasoning=THINKING)
        verify(text, whole, THINKING)
        for pieces in (parts, list(text)):
            events = read(dialect, pieces, reasoning=THINKING)
            verify(text, events, THINKING)
            assert alike(events, whole), pieces

    try_each(dialect, EXAMPLES // 2, st.lists(soup(dialect) | thought, max_size=6), check)

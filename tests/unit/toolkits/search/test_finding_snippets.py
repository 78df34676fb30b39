from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.search.find_passages import snippet
from callblocks.toolkits.search.query import read_query, words_of


def show(text: str, query: str, width: int = 280) -> str:
    return snippet(text, read_query(query).words, width)


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("the low tide", "tide", "the low «tide»"),
        ("the low\n\n tide's end", "LOW tide", "the «low» «tide»'s end"),
        ("tides and tide", "tide", "tides and «tide»"),
        ("tides and tide", "tid*", "«tides» and «tide»"),
        ("Crème brûlée", "creme", "«Crème» brûlée"),
        ("東京都庁", "京都", "東«京都»庁"),
        ("« tide »", "tide", "‹ «tide» ›"),
        ("«tide» «ebb»", "ebb", "‹tide› ‹«ebb»›"),
        ("nothing here", "tide", "nothing here"),
        ("", "tide", ""),
    ],
)
def test_found_words_are_marked(text: str, query: str, shown: str) -> None:
    assert show(text, query) == shown


def test_the_place_with_most_of_the_words_is_shown() -> None:
    text = "low " + "x " * 300 + "then low tide is at six " + "y " * 300
    shown = show(text, "low tide", 100)
    assert "«low» «tide» is at six" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < 120


def test_the_end_of_a_text_fills_the_width() -> None:
    shown = show("x " * 300 + "tide", "tide", 100)
    assert shown.endswith("«tide»")
    assert len(shown) > 90


@given(
    st.text(st.sampled_from("ab «»‹›\n東é"), max_size=400), st.sampled_from(("a", "ab", "東", "é*"))
)
def test_marks_are_paired_and_stand_for_found_words_only(text: str, query: str) -> None:
    shown = show(text, query, 60)
    words = read_query(query).words
    depth = 0
    for at, sign in enumerate(shown):
        depth += (sign == "«") - (sign == "»")
        assert depth in (0, 1), at
    assert depth == 0
    assert "\n" not in shown
    for piece in shown.split("«")[1:]:
        assert all(words.fit(word) for word in words_of(piece.partition("»")[0]))

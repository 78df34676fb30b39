from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callblocks.timeline.timeline import Tokens


def test_without_a_tokenizer_four_characters_are_a_token() -> None:
    tokens = Tokens()
    assert tokens.name == "chars/4"
    assert [tokens.text(text) for text in ("", "a", "abcd", "abcde", "ä" * 8)] == [0, 1, 1, 2, 2]


def test_the_callers_tokenizer_counts_under_its_name() -> None:
    tokens = Tokens(lambda text: len(text.split()), name="words")
    assert (tokens.name, tokens.text("one two three")) == ("words", 3)
    assert Tokens(len).name == "custom"


def test_pictures_and_pages_are_estimated_and_what_is_not_shown_costs_nothing() -> None:
    tokens = Tokens()
    assert tokens.binary(5_000_000, "image/png") == tokens.binary(100, "image/jpeg") == 1_600
    assert tokens.binary(1, "application/pdf") == 2_000
    assert tokens.binary(100_001, "application/pdf") == 6_000
    assert tokens.binary(1 << 40, "application/pdf") == 200_000
    assert tokens.binary(100, "application/zip") == 0
    assert tokens.binary(0, "image/png") == 0


@given(st.text(), st.text())
def test_a_longer_text_never_costs_less(text: str, more: str) -> None:
    assert Tokens().text(text) <= Tokens().text(text + more)

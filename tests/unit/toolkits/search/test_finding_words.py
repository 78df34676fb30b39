from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.toolkits.search.query import LONGEST, fold, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Crème BRÛLÉE, fine_tuned!", ["creme", "brulee", "fine", "tuned"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ﬁne ½ ＡＢＣ", ["fine", "1", "2", "abc"]),
        ("e-mail it's 3.14", ["e", "mail", "it", "s", "3", "14"]),
        ("東京都 ガ カ", ["東", "京", "都", "ガ", "カ"]),
        ("iPhone東京", ["iphone", "東", "京"]),
        ("한국어", ["한", "국", "어"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("Ψυχή й Й", ["ψυχη", "и", "и"]),
        ("שָׁלוֹם", ["שלום"]),
        ("a\u00adb\u200bc", ["abc"]),
        ("🐱 ✂️ — …", []),
        ("", []),
    ],
)
def test_words_are_without_case_accents_and_signs(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text())
@example("ᾳ̈ʼn")
@example("ΐ")
@example("ℌ̈")
def test_a_word_is_its_own_word(text: str) -> None:
    for word in words_of(text):
        assert words_of(word) == [word]


@given(st.text())
def test_only_letters_and_digits_reach_the_index(text: str) -> None:
    for word in words_of(text):
        assert 0 < len(word) <= LONGEST
        assert not set(word) & set(" \"'*:()^-+{}_\0\n")
        word.encode()


@given(st.text())
def test_case_does_not_count(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_a_long_word_is_known_by_its_start() -> None:
    assert words_of("a" * 1000) == ["a" * LONGEST]

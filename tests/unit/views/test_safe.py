from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.views.rows import visible, visible_line

any_text = st.text(st.characters(codec=None))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with an ümlaut", "plain, with an ümlaut"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("abc\u202edef\u2066", "abc⟨U+202E⟩def⟨U+2066⟩"),
        ("half \ud800", "half ⟨U+D800⟩"),
        ("a\tb", "a    b"),
        ("a\x7f", "a␡"),
        ("one\r\ntwo\rthree\n", "one\ntwo␍three\n"),
    ],
)
def test_what_would_steer_a_terminal_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_line_is_one_line() -> None:
    assert visible_line("one\ntwo\u2028three") == "one two three"


@given(any_text)
def test_nothing_unsafe_is_left(text: str) -> None:
    shown = visible(text)
    assert not [
        char for char in shown if char != "\n" and unicodedata.category(char) in {"Cc", "Cs"}
    ]
    assert not set(shown) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    )
    shown.encode()


@given(any_text)
def test_a_line_never_breaks(text: str) -> None:
    assert len(visible_line(text).splitlines()) <= 1


@given(any_text)
def test_what_is_safe_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)

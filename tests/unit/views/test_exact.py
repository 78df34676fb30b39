from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.views.rows import exact, exact_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words\n  and lines\n", "plain words\n  and lines\n"),
        ("a" + " " * 19 + "b", "a" + " " * 19 + "b"),
        ("a" + " " * 60 + "b", "a⟨60 blanks⟩b"),
        ("a\t\t\t\t\t\tb", "a⟨24 blanks⟩b"),
        ("a\tb", "a    b"),
        ("a\n\n\n\nb", "a\n\n\n\nb"),
        ("a" + "\n" * 10 + "b", "a\n⟨9 empty lines⟩\nb"),
        ("a\n" + "  \t\n" * 9 + "b", "a\n⟨9 empty lines⟩\nb"),
        ("a\n" + " " * 80 + "\n\n\n\nb", "a\n⟨4 empty lines⟩\nb"),
        ("a\r\n" + "\r\n" * 6 + "b", "a␍\n⟨6 empty lines⟩\nb"),
        ("naïve café, 日本語, 👍🏽, ✂️", "naïve café, 日本語, 👍🏽, ✂️"),
    ],
)
def test_what_pushes_the_rest_away_is_folded_and_the_rest_stays(text: str, shown: str) -> None:
    assert exact(text) == shown


@pytest.mark.parametrize(
    "char",
    [
        *("\u00a0", "\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180e"),
        *("\u2003", "\u200b", "\u200d", "\u202e", "\u2060", "\u2066", "\u2800", "\u3000"),
        *("\u3164", "\ufe00", "\ufe0e", "\ufeff", "\uffa0", "\ue000", "\U000e0041"),
        *("\U000e0100", "\x85", "\u2028", "\ud800"),
    ],
)
def test_what_cannot_be_seen_is_named(char: str) -> None:
    assert exact(f"rm{char}x") == f"rm⟨U+{ord(char):04X}⟩x"


def test_controls_are_shown_as_pictures() -> None:
    assert exact("\x1b[2J\x07\r") == "␛[2J␇␍"


def test_a_line_has_no_line_ends() -> None:
    assert exact_line("a\nb\r\n" + "\n" * 9) == "a␊b␍␊⟨9 empty lines⟩␊"


@given(st.text())
def test_nothing_is_out_of_sight(text: str) -> None:
    shown = exact(text)
    assert " " * 20 not in shown
    assert "\n" * 6 not in shown
    assert all(char.isprintable() or char == "\n" for char in shown)


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S"))))
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert exact(text) == text

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.cli.chat.chat_screen import COMMANDS, Order, help_rows, read_line
from callblocks.views.rows import columns, plain


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("  Hello there.\n", "Hello there."),
        ("/help", Order("help")),
        ("/HELP ", Order("help")),
        ("/attach  my file.txt ", Order("attach", "my file.txt")),
        ("/model\nscripted", Order("model", "scripted")),
        ("/etc/hosts is odd", "/etc/hosts is odd"),
        ("/ alone", "/ alone"),
        ("// twice", "// twice"),
        ("/5 of them", "/5 of them"),
        ("look at /help", "look at /help"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_only_letters_after_a_slash_make_a_command(typed: str, meant: str | Order) -> None:
    assert read_line(typed) == meant


@given(st.text())
def test_a_prompt_is_what_was_typed_without_blanks_around(text: str) -> None:
    line = read_line(text)
    assert isinstance(line, Order) or line == text.strip()


def test_every_command_is_in_the_help_and_the_help_fits() -> None:
    rows = [plain(row) for row in help_rows(60)]
    assert all(any(f"  /{name}" in row for row in rows) for name in COMMANDS)
    assert max(map(columns, rows)) <= 60

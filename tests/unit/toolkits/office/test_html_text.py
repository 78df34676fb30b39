"""HTML as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.office.mail_text import html_text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("plain &amp; simple", "plain & simple"),
        ("<p>One<p>Two</p>", "One\n\nTwo"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n\n- two"),
        ("<tr><td>a</td><td>b</td></tr>", "a b"),
        ("<head><title>x</title><STYLE>p{}</Style></head>y", "y"),
        ("<script>if (a < b) alert('</p>')</script>z", "z"),
        ("a<!-- <b>hidden</b> -->b", "ab"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ('<a href="https://x.example/?a=1&amp;b=2">go</a>', "go <https://x.example/?a=1&b=2>"),
        ("<a href='https://x.example/'>https://x.example/</a>", "https://x.example/"),
        ('<a href="javascript:alert(1)">go</a>', "go"),
        ('<img src="x.png" alt="A cat">', "A cat"),
        ("a <b", "a <b"),
        ("a <!-- b", "a"),
        ("x<script>y", "x"),
        ("a \n\n\n  b&nbsp;c\u200b", "a b c"),
    ],
)
def test_a_page_is_read(page: str, text: str) -> None:
    assert html_text(page) == text


@given(st.lists(st.sampled_from(("<", ">", "<a href='", '"', "<!--", "-->", "<p>", "x", "&#"))))
def test_any_page_gives_text(pieces: list[str]) -> None:
    text = html_text("".join(pieces))
    assert text == text.strip()


@pytest.mark.parametrize("piece", ["<", "< ", "<a ", "<!--", "<script>", '<a href="', "</", "&"])
def test_a_broken_page_is_read_in_one_go(piece: str) -> None:
    # In quadratic time this would take minutes.
    html_text(piece * 100_000 + ">")

from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.views.html.page_markdown import markdown
from callblocks.views.rows import visible

LINK = '<a href="{0}" rel="noopener noreferrer nofollow" target="_blank" title="{0}">{1}</a>'
LETTERS = st.text(st.sampled_from("ab<>&\"'`*_[]()!#|-:~> \n\\1."), max_size=60)


def words(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("**a** _b_ ~~c~~ `d`", "<strong>a</strong> <em>b</em> <s>c</s> <code>d</code>"),
        ("<b>a</b> &amp;", "&lt;b&gt;a&lt;/b&gt; &amp;"),
        ("[a](https://b.example)", LINK.format("https://b.example", "a")),
        ("[a](mailto:x@b.example)", LINK.format("mailto:x@b.example", "a")),
        ("![a](https://b.example/c.png)", LINK.format("https://b.example/c.png", "a")),
        ("![](https://b.example/c.png)", LINK.format(*["https://b.example/c.png"] * 2)),
        ("see https://b.example/c.", f"see {LINK.format(*['https://b.example/c'] * 2)}."),
        ("`https://b.example`", "<code>https://b.example</code>"),
        (
            "[a.example](https://b.example)",
            LINK.format("https://b.example", "a.example (b.example)"),
        ),
        (
            "[www.B.example/x](https://b.example)",
            LINK.format("https://b.example", "www.B.example/x"),
        ),
        ("[a](javascript:b)", "[a](javascript:b)"),
        ("[a](data:text/html,b)", "[a](data:text/html,b)"),
        ("[a](//b.example)", "[a](//b.example)"),
        ("[a](b.md)", "[a](b.md)"),
        ("[a](https://user@b.example)", "[a](https://user@b.example)"),
        ("https://[b", "https://[b"),
        ("[a](https:b)", "[a](https:b)"),
        ("https://user@b.example", "https://user@b.example"),
        ("&#x202e;a &#27;", "⟨U+202E⟩a \ufffd"),
    ],
)
def test_what_stands_in_a_line(said: str, shown: str) -> None:
    assert markdown(said) == f"<p>{shown}</p>\n"


def test_headings_follow_that_of_the_turn_without_gaps() -> None:
    assert re.findall(r"<(h\d) data-depth=\"(\d)\"", markdown("### a\n# b\n###### c\n## d")) == [
        ("h3", "3"),
        ("h3", "1"),
        ("h4", "6"),
        ("h4", "2"),
    ]


def test_a_table_scrolls_and_its_cells_stand_where_they_should_without_a_style() -> None:
    page = markdown("| a | b | c |\n|:--|--:|:-:|\n| 1 | 2 | 3 |")
    assert page.startswith(
        '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
    )
    assert '<td>1</td>\n<td class="num">2</td>\n<td class="mid">3</td>' in page
    assert "style=" not in page


def test_code_is_named_after_its_language() -> None:
    page = markdown('```py"on x\n<b>\n```')
    assert '<div class="code-head"><span>py&quot;on</span></div>' in page
    assert 'aria-label="Code, py&quot;on"><code>&lt;b&gt;\n</code></pre>' in page
    assert 'aria-label="Code"><code>a\n</code>' in markdown("    a")


@pytest.mark.parametrize("said", [">" * 500 + "a", "- " * 500 + "a", "1. " * 500 + "a"])
def test_what_is_nested_too_deep_is_shown_as_written(said: str) -> None:
    assert words(markdown(said)).strip() == said


@given(LETTERS)
@example("a\n***\nb")
@example("[a]: https://b.example\n")
def test_no_letter_is_lost(said: str) -> None:
    """But for what explains a link, which stands nowhere."""
    if re.search(r"\]:|&|```|~~~", said):
        return
    left = re.sub(r"[^ab]", "", words(markdown(said)))
    assert left == re.sub(r"[^ab]", "", visible(said))

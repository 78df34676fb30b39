"""Ends of labels in Markdown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt, helpers

from callblocks.core import text as link_labels


@pytest.fixture
def reader() -> MarkdownIt:
    made = MarkdownIt()
    vars(made)["helpers"] = SimpleNamespace(
        **(vars(helpers) | {"parseLinkLabel": link_labels.label_end})
    )
    return made


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[a](b)", '<p><a href="b">a</a></p>\n'),
        ("[a [b] c](d)", '<p><a href="d">a [b] c</a></p>\n'),
        ("[a [b](c) d](e)", '<p>[a <a href="c">b</a> d](e)</p>\n'),
        ("![a [b](c)](d)", '<p><img src="d" alt="a b" /></p>\n'),
        ("[a", "<p>[a</p>\n"),
    ],
)
def test_labels_end_where_the_standard_says(reader: MarkdownIt, text: str, html: str) -> None:
    assert reader.render(text) == html


def test_a_paragraph_has_so_many_steps(reader: MarkdownIt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_labels, "_EACH", 0)
    monkeypatch.setattr(link_labels, "_LEAST", 1)
    assert "<a" not in reader.render("[abc `d` e](f)")

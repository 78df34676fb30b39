"""A page of the web: its title, its date and its main text, without menus and advertisements."""

from __future__ import annotations

from collections.abc import Iterator

from trafilatura import bare_extraction

from callblocks.toolkits.finding.apart import Said
from callblocks.toolkits.finding.html import read_html

__all__ = ("read_page",)

_TITLE = 300


def read_page(content: bytes) -> Iterator[Said]:
    """What a page says of itself, then its text; `content` is UTF-8.

    Where no main text can be told from the rest, as on a page of a few lines, all of it is given.
    """
    document = bare_extraction(
        content.decode("utf-8", "replace"),
        fast=True,
        with_metadata=True,
        include_comments=False,
        include_formatting=True,
        output_format="markdown",
    )
    text = "" if document is None else _text(getattr(document, "text", ""))
    if text:
        title, date = getattr(document, "title", ""), getattr(document, "date", "")
        yield Said(title=" ".join(_text(title).split())[:_TITLE], date=_text(date)[:40])
        yield Said(text=text)
    else:
        yield from read_html(content)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

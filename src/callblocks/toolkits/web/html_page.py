"""A page of the web: its title, its date and its main text, without menus and advertisements."""

from __future__ import annotations

from collections.abc import Iterator

from trafilatura import extract_with_metadata

from callblocks.toolkits.finding.apart import Said
from callblocks.toolkits.finding.html import read_html

__all__ = ("read_page",)

_TITLE = 300
# Bytes beyond which to tell the main text from the rest would take many seconds.
_LONGEST = 1_000_000


def read_page(content: bytes) -> Iterator[Said]:
    """What a page says of itself, then its text; `content` is UTF-8.

    Where no main text can be told from the rest, as on a page of a few lines, all of it is given.
    """
    if len(content) > _LONGEST:
        yield from read_html(content)
        return
    document = extract_with_metadata(
        _marked(content.decode("utf-8", "replace")),
        fast=True,
        include_comments=False,
        include_formatting=True,
        output_format="markdown",
    )
    # Before the text stands what else is known of the page, as YAML between two lines.
    text = "" if document is None else _text(document.text).partition("\n---\n")[2].strip()
    if document is None or not text:
        yield from read_html(content)
        return
    title = " ".join(_text(document.title).split()) or next(read_html(content)).title
    yield Said(title=title[:_TITLE], date=_text(document.date)[:40])
    yield Said(text=text)


def _marked(page: str) -> str:
    """A page whose body begins somewhere: HTML may leave that out, and the parser misses it."""
    return page if "<body" in page.lower() else f"<html><body>{page}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

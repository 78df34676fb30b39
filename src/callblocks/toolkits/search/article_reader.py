"""Extraction of title, date and main text from a web page, without menus and advertisements."""

from __future__ import annotations

from collections.abc import Iterator

from trafilatura import extract_with_metadata

from callblocks.toolkits.search.html_reader import read_html
from callblocks.toolkits.search.reader_process import ReaderLine

__all__ = ("read_page",)

_TITLE = 300
# The extraction is superlinear; above this many bytes it would take many seconds.
_LONGEST = 1_000_000


def read_page(content: bytes) -> Iterator[ReaderLine]:
    """Yield the page's metadata, then its text; `content` is UTF-8.

    If no main text can be told from the rest, as on a page of a few lines, all text is given.
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
    # With metadata the extractor puts a YAML header between two `---` lines before the text.
    text = "" if document is None else _text(document.text).partition("\n---\n")[2].strip()
    if document is None or not text:
        yield from read_html(content)
        return
    title = " ".join(_text(document.title).split()) or next(read_html(content)).title
    yield ReaderLine(title=title[:_TITLE], date=_text(document.date)[:40])
    yield ReaderLine(text=text)


def _marked(page: str) -> str:
    """Return a page with a `<body>` tag: HTML may omit it, and the extractor then finds no text."""
    return page if "<body" in page.lower() else f"<html><body>{page}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

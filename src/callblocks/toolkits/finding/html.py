"""HTML: its text, a part for each heading; scripts, styles and comments are no text."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from callblocks.toolkits.finding.apart import Said
from callblocks.toolkits.finding.unreadable import Unreadable

__all__ = ("read_html",)

_SILENT = frozenset(("script", "style", "template", "noscript", "svg", "head"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "footer"),
        *("form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table"),
        *("tr", "ul", *_HEADINGS),
    )
)
_HEADING_LENGTH = 120


def read_html(content: bytes) -> Iterator[Said]:
    """The title, then the text under each heading."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    if "\0" in text:
        raise Unreadable("it is no HTML: it has NUL characters")
    page = _Page()
    page.feed(text)
    page.close()
    yield Said(title=" ".join("".join(page.title).split())[:_HEADING_LENGTH])
    for heading, pieces in page.sections:
        yield Said(heading=heading, text=_tidy("".join(pieces)))


class _Page(HTMLParser):
    """Gathers text in sections; `title` is what the page calls itself."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.sections: list[tuple[str, list[str]]] = [("", [])]
        self._silent: list[str] = []
        self._in_title = False
        self._heading: list[str] | None = None

    def parse_html_declaration(self, i: int) -> int:
        """A section such as `<![if IE]>` is passed over; the parser itself would break at some."""
        if self.rawdata.startswith("<![", i):
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._in_title = tag == "title"
        if tag == "body":
            self._silent.clear()
        elif tag in _SILENT:
            self._silent.append(tag)
        if tag in _HEADINGS:
            self._heading = []
            self.sections.append(("", []))
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        if tag in _HEADINGS and self._heading is not None:
            words = " ".join("".join(self._heading).split())[:_HEADING_LENGTH]
            self.sections[-1] = (words, self.sections[-1][1])
            self._heading = None
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._silent:
            self.sections[-1][1].append(data)
            if self._heading is not None:
                self._heading.append(data)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.sections[-1][1].append("\n\n" if tag != "br" else "\n")
        elif tag in ("td", "th"):
            self.sections[-1][1].append(" ")


def _tidy(text: str) -> str:
    """Lines without blanks around them, and at most one empty line between."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(kept).strip()

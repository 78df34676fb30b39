"""HTML: its text, one part for each heading; scripts, styles and comments are dropped."""

from __future__ import annotations

from collections.abc import Iterator

from callblocks.toolkits.office.mail_text import Kind, break_of, name_of, pieces, plain, tidy
from callblocks.toolkits.search.chunks import Unreadable
from callblocks.toolkits.search.reader_process import ReaderLine

__all__ = ("read_html",)

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_HEADING_LENGTH = 120


def read_html(content: bytes) -> Iterator[ReaderLine]:
    """Yield the title, then the text under each heading."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Every byte but five has a meaning in Windows-1252, so a page without UTF-8 is always
        # readable.
        text = content.decode("cp1252", "replace")
    if "\0" in text:
        raise Unreadable("it is no HTML: it has NUL characters")
    page = _Page()
    for kind, piece in pieces(text):
        page.take(kind, piece)
    yield ReaderLine(title=page.title)
    for heading, written in page.sections:
        yield ReaderLine(heading=heading, text=tidy("".join(written)))


class _Page:
    """A collector of sections; `title` is the text of the `<title>` element."""

    def __init__(self) -> None:
        self.title = ""
        self.sections: list[tuple[str, list[str]]] = [("", [])]
        self._in_heading = False

    def take(self, kind: Kind, piece: str) -> None:
        """Add the next piece of the page."""
        if kind == "title":
            self.title = self.title or _line(piece)
        elif kind == "text":
            self.sections[-1][1].append(plain(piece))
        else:
            name = name_of(piece)
            if name in _HEADINGS:
                self._turn(begins=not piece.startswith("/"))
            self.sections[-1][1].append(break_of(name, piece))

    def _turn(self, *, begins: bool) -> None:
        """Begin a section at a heading's start; take its text as the name at its end."""
        if begins:
            self.sections.append(("", []))
        elif self._in_heading:
            written = self.sections[-1][1]
            self.sections[-1] = (_line("".join(written)), written)
        self._in_heading = begins


def _line(text: str) -> str:
    return " ".join(plain(text).split())[:_HEADING_LENGTH]

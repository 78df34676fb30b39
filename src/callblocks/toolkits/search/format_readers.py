"""Readers of DOCX, HTML, articles of the web, and PDF: each gives the text of a file in parts.

The packages of other makers are imported by the reader that needs them: they are in different
extras, and a process reads one kind of file.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias
from xml.parsers.expat import ExpatError, ParserCreate

from callblocks.toolkits.office.mail_text import Kind, break_of, name_of, pieces, plain, tidy
from callblocks.toolkits.search.chunks import Unreadable
from callblocks.toolkits.search.reader_process import ReaderLine

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = (
    "MAX_PAGES",
    "MAX_UNPACKED",
    "Attributes",
    "DocxText",
    "Start",
    "parse_part",
    "read_docx",
    "read_html",
    "read_page",
    "read_pdf",
)

# --- DOCX: the text under each heading, tables row by row ---
#
# A DOCX is a ZIP of XML parts. Four of them are read: the relationships (which part is the
# document), the styles, the core properties (title) and the document. A part with a DOCTYPE is
# refused: no program writes one, and XML bombs need its entities.


# --- Incremental parsing of one XML part of a package, with names stripped of namespaces ---

Attributes: TypeAlias = dict[str, str]
Start: TypeAlias = Callable[[str, Attributes], object]

_PIECE = 64 * 1024
_APART = " "


def parse_part(
    package: zipfile.ZipFile,
    name: str,
    start: Start,
    end: Callable[[str], object] = lambda _: None,
    data: Callable[[str], object] = lambda _: None,
) -> Iterator[None]:
    """Call the handlers for elements and text; yield after each piece, so that work can stop."""
    parser = ParserCreate(namespace_separator=_APART)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, given: start(
        _local(name), {_local(key): value for key, value in given.items()}
    )
    parser.EndElementHandler = lambda name: end(_local(name))
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = _refuse
    try:
        with package.open(name) as part:
            while piece := part.read(_PIECE):
                parser.Parse(piece, False)
                yield
        parser.Parse(b"", True)
        yield
    except ExpatError as error:
        raise Unreadable(f"it is no DOCX: {error}") from error
    except KeyError as error:
        raise Unreadable("it is no DOCX: a part is missing") from error


def _local(name: str) -> str:
    return name.rpartition(_APART)[2]


def _refuse(*_: object) -> None:
    raise Unreadable("it has a document type, which no DOCX has; it may be made to harm")


# --- Collection of a DOCX's text from parser events: paragraphs, cells, rows and headings ---
#
# Tables nest in cells and paragraphs nest in text boxes, so open paragraphs, rows and cells are
# stacks. Text that is complete goes to the innermost open cell, else to the current section.

_HEADING = re.compile(r"heading [1-9]|title")
_HEADING_LENGTH = 120
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class DocxText:
    """A collector of sections: a heading, and the text below it with the heading as first line."""

    def __init__(self, styles: dict[str, str]) -> None:
        self.is_document = False
        self._styles = styles
        self._sections: list[tuple[str, list[str]]] = [("", [])]
        self._paragraphs: list[list[str]] = []
        self._style = ""
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._in_text = False

    def ready(self) -> list[tuple[str, str]]:
        """Return and remove the sections that are complete."""
        *done, last = self._sections
        self._sections = [last]
        return [_joined(section) for section in done]

    def rest(self) -> list[tuple[str, str]]:
        """Return the remaining sections at the end."""
        return [_joined(section) for section in self._sections]

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start of an element."""
        match name:
            case "body":
                self.is_document = True
            case "p":
                self._paragraphs.append([])
                self._style = ""
            case "pStyle":
                self._style = self._styles.get(attributes.get("val", ""), "")
            case "t":
                self._in_text = True
            case "tr":
                self._rows.append([])
            case "tc":
                self._cells.append([])
            case _ if name in _SIGNS and self._paragraphs:
                self._paragraphs[-1].append(_SIGNS[name])
            case _:
                pass

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        match name:
            case "t":
                self._in_text = False
            case "p" if self._paragraphs:
                self._paragraph("".join(self._paragraphs.pop()).strip())
            case "tc" if self._cells and self._rows:
                self._rows[-1].append(" ".join(self._cells.pop()))
            case "tr" if self._rows:
                self._take(" | ".join(self._rows.pop()))
            case _:
                pass

    def data(self, text: str) -> None:
        """Handle character data."""
        if self._in_text and self._paragraphs:
            self._paragraphs[-1].append(text)

    def _paragraph(self, text: str) -> None:
        # A paragraph in heading style inside of a table cell is formatting, not structure.
        if _HEADING.fullmatch(self._style) and text and not self._cells:
            self._sections.append((" ".join(text.split())[:_HEADING_LENGTH], []))
        self._take(text)

    def _take(self, text: str) -> None:
        """Add a complete text to the innermost cell, or to the section."""
        if not text:
            return
        if self._cells:
            self._cells[-1].append(text)
        else:
            self._sections[-1][1].append(text)


def _joined(section: tuple[str, list[str]]) -> tuple[str, str]:
    heading, pieces = section
    return heading, "\n\n".join(pieces)


# --- DOCX: the text under each heading, tables row by row ---

# Limit in bytes for all parts after unpacking.
MAX_UNPACKED = 100 * 1024 * 1024

_PARTS = 5_000
_TITLE = 120
_FAULTS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


def read_docx(content: bytes) -> Iterator[ReaderLine]:
    """Yield the title, then the text under each heading."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            _refuse_bomb(package)
            yield ReaderLine(title=_title(package)[:_TITLE])
            yield from _sections(package)
    except _FAULTS as error:
        # The message of the error is not passed on: it may quote text of the file.
        raise Unreadable(f"it is no DOCX that can be read ({type(error).__name__})") from error


def _refuse_bomb(package: zipfile.ZipFile) -> None:
    """Refuse archives by their declared sizes; `zipfile` never unpacks more than declared."""
    parts = package.infolist()
    if len(parts) > _PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise Unreadable(f"unpacked it has more than {MAX_UNPACKED >> 20} MiB or {_PARTS} parts")


def _sections(package: zipfile.ZipFile) -> Iterator[ReaderLine]:
    text = DocxText(_styles(package))
    for _ in parse_part(package, _main(package), text.start, text.end, text.data):
        yield from map(_said, text.ready())
    if not text.is_document:
        raise Unreadable("it is no DOCX: it has no text part")
    yield from map(_said, text.rest())


def _said(section: tuple[str, str]) -> ReaderLine:
    return ReaderLine(heading=section[0], text=section[1])


def _main(package: zipfile.ZipFile) -> str:
    """Return the name of the document's part."""
    found: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if attributes.get("Type", "").endswith("/officeDocument"):
            found.append(attributes.get("Target", "").lstrip("/"))

    _read(package, "_rels/.rels", start)
    return found[0] if found else "word/document.xml"


def _styles(package: zipfile.ZipFile) -> dict[str, str]:
    """Map style ids to names: `Überschrift1` is named `heading 1` in every language."""
    names: dict[str, str] = {}
    # A one-element list, because the handler must rebind it.
    current = [""]

    def start(name: str, attributes: Attributes) -> None:
        if name == "style":
            current[0] = attributes.get("styleId", "")
        elif name == "name" and current[0]:
            names.setdefault(current[0], attributes.get("val", "").lower())

    _read(package, "word/styles.xml", start)
    return names


def _title(package: zipfile.ZipFile) -> str:
    inside: list[str] = []
    said: list[str] = []

    def data(text: str) -> None:
        if inside and inside[-1] == "title":
            said.append(text)

    def start(name: str, _: Attributes) -> None:
        inside.append(name)

    if "docProps/core.xml" in package.namelist():
        for _ in parse_part(package, "docProps/core.xml", start, lambda _: inside.pop(), data):
            pass
    return " ".join("".join(said).split())


def _read(package: zipfile.ZipFile, part: str, start: Start) -> None:
    """Parse a part for its elements; a missing part has none."""
    if part in package.namelist():
        for _ in parse_part(package, part, start):
            pass


# --- HTML: its text, one part for each heading; scripts, styles and comments are dropped ---


_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


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


# --- Extraction of title, date and main text from a web page, without menus and advertisements ---


_LONGEST_TITLE = 300
# The extraction is superlinear; above this many bytes it would take many seconds.
_LONGEST = 1_000_000


def read_page(content: bytes) -> Iterator[ReaderLine]:
    """Yield the page's metadata, then its text; `content` is UTF-8.

    If no main text can be told from the rest, as on a page of a few lines, all text is given.
    """
    from trafilatura import extract_with_metadata

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
    yield ReaderLine(title=title[:_LONGEST_TITLE], date=_text(document.date)[:40])
    yield ReaderLine(text=text)


def _marked(page: str) -> str:
    """Return a page with a `<body>` tag: HTML may omit it, and the extractor then finds no text."""
    return page if "<body" in page.lower() else f"<html><body>{page}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- PDF: the text of each page ---


# Maximum pages that are read of one file.
MAX_PAGES = 2_000

_PAGE_LENGTH = 200_000


def read_pdf(content: bytes) -> Iterator[ReaderLine]:
    """Yield the title, then the pages; damaged pages are skipped."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(content))
        # Many PDFs are encrypted with an empty user password; readers open them without asking.
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is locked by a password; give a copy without one")
        pages = len(reader.pages)
    except PyPdfError as error:
        # The message of the error is not passed on: it may quote text of the file.
        raise Unreadable(f"it is no PDF that can be read ({type(error).__name__})") from error
    yield ReaderLine(title=_pdf_title(reader))
    for number in range(min(pages, MAX_PAGES)):
        yield ReaderLine(text=_page(reader, number), page=number + 1, of=pages)
    if pages > MAX_PAGES:
        yield ReaderLine(left_out=f"it has {pages} pages; the first {MAX_PAGES} were read")


def _pdf_title(reader: PdfReader) -> str:
    try:
        said = reader.metadata.title if reader.metadata else None
    except Exception:  # what a file says of itself may be anything
        return ""
    return said[:120] if isinstance(said, str) else ""


def _page(reader: PdfReader, number: int) -> str:
    try:
        return reader.pages[number].extract_text()[:_PAGE_LENGTH]
    except (MemoryError, RecursionError):
        raise
    except Exception:  # one damaged page must not hide the others
        return ""

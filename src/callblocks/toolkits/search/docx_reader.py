"""DOCX: the text under each heading, tables row by row.

A DOCX is a ZIP of XML parts. Four of them are read: the relationships (which part is the document),
the styles, the core properties (title) and the document. A part with a DOCTYPE is refused: no
program writes one, and XML bombs need its entities.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import TypeAlias
from xml.parsers.expat import ExpatError, ParserCreate

from callblocks.toolkits.search.chunks import Unreadable
from callblocks.toolkits.search.reader_process import ReaderLine

__all__ = (
    "MAX_UNPACKED",
    "Attributes",
    "DocxText",
    "Start",
    "parse_part",
    "read_docx",
)

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

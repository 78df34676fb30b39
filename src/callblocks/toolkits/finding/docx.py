"""DOCX: the text under each heading, tables row by row.

A DOCX is a zip of XML parts. Only four small things are read of it: which part is the document,
what the styles are called, the title, and the text. A part with a document type is refused: no
program writes one, and entities are what XML bombs are made of.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from callblocks.toolkits.finding.apart import Said
from callblocks.toolkits.finding.docx_text import DocxText
from callblocks.toolkits.finding.unreadable import Unreadable
from callblocks.toolkits.finding.xml_parts import Attributes, Start, parse_part

__all__ = ("MAX_UNPACKED", "read_docx")

# Bytes that the parts of a file may have once they are unpacked.
MAX_UNPACKED = 100 * 1024 * 1024

_PARTS = 5_000
_TITLE = 120
_FAULTS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


def read_docx(content: bytes) -> Iterator[Said]:
    """The title, then the text under each heading."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            _refuse_bomb(package)
            yield Said(title=_title(package)[:_TITLE])
            yield from _sections(package)
    except _FAULTS as error:
        # Not the words of the error: they may be words of the file.
        raise Unreadable(f"it is no DOCX that can be read ({type(error).__name__})") from error


def _refuse_bomb(package: zipfile.ZipFile) -> None:
    """Look at what the parts say of their size: no more than that is ever unpacked."""
    parts = package.infolist()
    if len(parts) > _PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise Unreadable(f"unpacked it has more than {MAX_UNPACKED >> 20} MiB or {_PARTS} parts")


def _sections(package: zipfile.ZipFile) -> Iterator[Said]:
    text = DocxText(_styles(package))
    for _ in parse_part(package, _main(package), text.start, text.end, text.data):
        yield from map(_said, text.ready())
    if not text.is_document:
        raise Unreadable("it is no DOCX: it has no text part")
    yield from map(_said, text.rest())


def _said(section: tuple[str, str]) -> Said:
    return Said(heading=section[0], text=section[1])


def _main(package: zipfile.ZipFile) -> str:
    """The name of the part that is the document."""
    found: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if attributes.get("Type", "").endswith("/officeDocument"):
            found.append(attributes.get("Target", "").lstrip("/"))

    _read(package, "_rels/.rels", start)
    return found[0] if found else "word/document.xml"


def _styles(package: zipfile.ZipFile) -> dict[str, str]:
    """What each style is called, by its id: `Überschrift1` is `heading 1` in every language."""
    names: dict[str, str] = {}
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
    """Read a part for its elements; one that is not there has none."""
    if part in package.namelist():
        for _ in parse_part(package, part, start):
            pass

"""DOCX: the text under each heading, tables row by row.

A DOCX is a ZIP of XML parts. Four of them are read: the relationships (which part is the document),
the styles, the core properties (title) and the document. A part with a DOCTYPE is refused: no
program writes one, and XML bombs need its entities.
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

# Limit in bytes for all parts after unpacking.
MAX_UNPACKED = 100 * 1024 * 1024

_PARTS = 5_000
_TITLE = 120
_FAULTS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)


def read_docx(content: bytes) -> Iterator[Said]:
    """Yield the title, then the text under each heading."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            _refuse_bomb(package)
            yield Said(title=_title(package)[:_TITLE])
            yield from _sections(package)
    except _FAULTS as error:
        # The message of the error is not passed on: it may quote text of the file.
        raise Unreadable(f"it is no DOCX that can be read ({type(error).__name__})") from error


def _refuse_bomb(package: zipfile.ZipFile) -> None:
    """Refuse archives by their declared sizes; `zipfile` never unpacks more than declared."""
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

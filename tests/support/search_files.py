"""Files for the search tools: PDF pages with words, DOCX of chosen parts."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docx import Document

from callblocks.guard.files.root import Root
from callblocks.toolkits.search_tools import finding_tools
from callblocks.tools.context import Context, running_as

__all__ = ("Finding", "age", "docx_of", "docx_with", "pdf_objects", "pdf_of")

_OLD = 1_700_000_000


class Finding:
    """The tools of one workspace, called as a runtime would; the last context is kept."""

    def __init__(self, root: Root, adapters: Iterable[Any] = ()) -> None:
        self.root = root
        engines = tuple(adapters)
        self.tools = {tool.name: tool for tool in finding_tools(root, lambda: engines)}
        self.context = Context()

    def __call__(self, name: str, context: Context | None = None, **given: Any) -> Any:
        tool = self.tools[name]
        checked = tool.check(given)
        assert not checked.faults, checked.faults
        assert tool.function is not None
        self.context = context or Context()
        with running_as(self.context):
            return tool.function(**checked.values, context=self.context)

    def paths(self, query: str, **given: Any) -> list[str]:
        """The files that a search finds, best first."""
        results = self("search", query=query, **given)["results"]
        return list(dict.fromkeys(result["path"] for result in results))

    @property
    def notices(self) -> list[str]:
        return [notice.code for notice in self.context.notices]


def age(folder: Path) -> None:
    """Let all that is there be old: what was written just now is looked at twice."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            os.utime(path, (_OLD, _OLD))


def pdf_objects(objects: Iterable[bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A PDF of these objects, numbered from 1."""
    body, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    table += b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n"
    return body + table + end % (len(places) + 1, trailer, len(body))


def pdf_of(*pages: str) -> bytes:
    """A PDF whose pages say this, one line each."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    kids = b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        font,
    ]
    for at, words in enumerate(pages):
        said = b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % words.encode("cp1252")
        objects += [
            b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >>"
            b" /MediaBox [0 0 612 792] >>" % (5 + 2 * at),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(said), said),
        ]
    return pdf_objects(objects)


def docx_of(
    *paragraphs: tuple[str, str], title: str = "", table: Iterable[list[str]] = ()
) -> bytes:
    """A DOCX of paragraphs with their styles, and a table at the end."""
    document = Document()
    document.core_properties.title = title
    for style, words in paragraphs:
        document.add_paragraph(words, style=style or None)
    rows = list(table)
    if rows:
        made = document.add_table(len(rows), len(rows[0]))
        for at, cells in enumerate(rows):
            for across, words in enumerate(cells):
                made.cell(at, across).text = words
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def docx_with(main: bytes) -> bytes:
    """A DOCX with another main part."""
    source = zipfile.ZipFile(io.BytesIO(docx_of(("", "words"))))
    file = io.BytesIO()
    with source, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name in source.namelist():
            made.writestr(name, main if name == "word/document.xml" else source.read(name))
    return file.getvalue()

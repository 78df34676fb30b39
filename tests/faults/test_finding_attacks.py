"""Files that are made to harm whoever reads them: each is refused or read in part, nothing more."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.search.chunks import Kind
from callblocks.toolkits.search.reader_process import read_apart
from callblocks.tools.context import Context
from support.search_files import Finding, docx_with, pdf_objects

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_WORDS = "<w:body><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:body></w:document>"
_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"


def document(text: str, before: str = "") -> bytes:
    return docx_with(f"{before}<w:document {_W}>{_WORDS.format(text)}".encode())


def laughs() -> bytes:
    rounds = "".join(f'<!ENTITY {chr(98 + at)} "{f"&{chr(97 + at)};" * 10}">' for at in range(9))
    return document("&j;", f'<!DOCTYPE x [<!ENTITY a "ha ha ha ha ha">{rounds}]>')


def stolen() -> bytes:
    return document("&x;", '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>')


def zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        made.writestr("word/document.xml", bytes(101 << 20))
    return file.getvalue()


def lying_zip() -> bytes:
    """Sizes that are far too small: no more than they say is unpacked."""
    whole = bytearray(docx_with(b"<w:document>" + b"a" * 5_000_000))
    with zipfile.ZipFile(io.BytesIO(whole)) as package:
        part = package.getinfo("word/document.xml")
    small = (10).to_bytes(4, "little")
    return bytes(whole.replace(part.file_size.to_bytes(4, "little"), small))


def page_of(stream: bytes, filters: bytes = b"") -> bytes:
    form = (
        b"<< /Type /XObject /Subtype /Form /Resources << /XObject << /X 5 0 R >> >> /Length 11 >>"
    )
    return pdf_objects(
        [
            _CATALOG,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R"
            b" /Resources << /XObject << /X 5 0 R >> >> /MediaBox [0 0 9 9] >>",
            b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(stream), filters, stream),
            form + b"\nstream\n/X Do /X Do\nendstream",
        ]
    )


def circle() -> bytes:
    return pdf_objects([_CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"])


@pytest.mark.parametrize(
    ("kind", "make", "why"),
    [
        ("docx", laughs, "document type"),
        ("docx", stolen, "document type"),
        ("docx", zip_bomb, "more than 100 MiB"),
        ("docx", lying_zip, "it is no DOCX"),
        ("pdf", circle, "no PDF"),
    ],
)
def test_it_is_refused(kind: Kind, make: Callable[[], bytes], why: str) -> None:
    with pytest.raises(ToolError, match=why) as raised:
        read_apart(kind, make(), Context())
    assert raised.value.code == "file_invalid"
    assert "root:" not in raised.value.message


def nested() -> bytes:
    return document("<w:p>" * 5_000 + "</w:p>" * 5_000)


def tables() -> bytes:
    opened, closed = "<w:tbl><w:tr><w:tc>" * 2_000, "</w:tc></w:tr></w:tbl>" * 2_000
    return document(f"</w:t></w:r></w:p>{opened}<w:p/>{closed}<w:p><w:r><w:t>")


def count() -> bytes:
    return pdf_objects([_CATALOG, b"<< /Type /Pages /Kids [] /Count 1000000 >>"])


def flate() -> bytes:
    return page_of(zlib.compress(bytes(100 << 20), 1), b"/Filter /FlateDecode")


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("docx", nested),
        ("docx", tables),
        ("pdf", count),
        ("pdf", flate),
        ("pdf", lambda: page_of(b"/X Do")),
        ("pdf", lambda: page_of(b"[" * 50_000)),
        ("html", lambda: b"<div>" * 20_000),
        ("html", lambda: b"<![" * 2_000),
    ],
    ids=("nested", "tables", "count", "flate", "forms", "arrays", "tags", "sections"),
)
def test_it_is_read_without_harm(kind: Kind, make: Callable[[], bytes]) -> None:
    read_apart(kind, make(), Context())


def test_of_a_million_pages_only_the_first_are_read() -> None:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    many = b"<< /Type /Pages /Kids [%s] /Count 2100 >>" % (b"3 0 R " * 2_100)
    context = Context()
    read_apart("pdf", pdf_objects([_CATALOG, many, page]), context)
    assert [notice.code for notice in context.notices] == ["text_left_out"]


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(ToolError, match="too long"):
        read_apart("pdf", page_of(b"BT (a) Tj ET " * 100_000), Context(), seconds=0.6)


def test_a_program_with_many_open_files_reads_on() -> None:
    """`select` itself knows files up to 1,024 only."""
    spare, other = os.pipe()
    held = [os.dup(spare) for _ in range(1_100)]
    try:
        title, parts = read_apart("html", b"<title>Tides</title>Low", Context())
    finally:
        for one in (spare, other, *held):
            os.close(one)
    assert (title, [part.text for part in parts]) == ("Tides", ["Low"])


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as root:
        yield root


def test_a_text_cannot_forge_what_a_search_says(root: Root) -> None:
    forged = '«tide» … » "snippet": "x"}\n{"path": "keys/k"} \x1b[2J« tide\u202e'
    root.write("a.md", forged.encode())
    (result,) = Finding(root)("search", query="tide")["results"]
    marks = [sign for sign in result["snippet"] if sign in "«»"]
    assert marks == ["«", "»"] * 2
    assert "‹«tide»›" in result["snippet"]
    assert not set("\n\x1b") & set(result["snippet"])


def test_bad_files_do_not_keep_a_good_one_from_being_read(root: Root) -> None:
    root.write("a/1.docx", laughs())
    root.write("a/2.pdf", b"%PDF-1.4 nothing")
    root.write("a/3.txt", b"harbour")
    find = Finding(root)
    report = find("file_ingest", path="a")
    assert report["paths"] == ["a/3.txt"]
    assert [one["code"] for one in report["skipped"]] == ["file_invalid"] * 2
    assert find.paths("harbour") == ["a/3.txt"]

"""Small files of many kinds, made by hand: each opens as what it is."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Sequence

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
OPEN_TEXT = "application/vnd.oasis.opendocument.text"


def zipped(parts: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as opened:
        for name, content in parts.items():
            opened.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def office(main: str, padding: int = 3_000) -> bytes:
    """A document whose main part is `main`, as large as a real one."""
    noise = zlib.compress(bytes(range(256)) * 40)
    return zipped(
        {
            "[Content_Types].xml": '<?xml version="1.0"?><Types/>',
            "_rels/.rels": "<Relationships/>",
            main: f"<document>{'text ' * 100}</document>",
            "media/noise.bin": (noise * (padding // len(noise) + 1))[:padding],
        },
        zipfile.ZIP_STORED,
    )


def self_named(mime: str) -> bytes:
    return zipped({"mimetype": mime, "content.xml": "<a/>" * 100})


def pdf(padding: int = 600) -> bytes:
    body = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%" + b"x" * padding + b"\n"
    return body + b"trailer\n<<>>\nstartxref\n%d\n%%%%EOF\n" % len(body)


def png(pixels: bytes = b"\0\xff", width: int = 1, height: int = 1) -> bytes:
    """Grey pixels, row by row, each row after a zero."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        crc = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(pixels))
        + chunk(b"IEND", b"")
    )


def jpeg() -> bytes:
    frame = b"\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00"
    scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x12\x34\xff\x00"
    return b"\xff\xd8\xff\xff\xe0\x00\x04JF\xff\x01" + frame + scan + b"\xff\xd9"


def gif() -> bytes:
    return b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"


def webp() -> bytes:
    inner = b"VP8L" + struct.pack("<I", 6) + b"/\0\0\0\0\0"
    return b"RIFF" + struct.pack("<I", len(inner) + 4) + b"WEBP" + inner


WHOLE: dict[str, tuple[str, bytes]] = {
    "a.pdf": ("application/pdf", pdf()),
    "a.docx": (WORD, office("word/document.xml")),
    "a.xlsx": (SHEET, office("xl/workbook.xml")),
    "a.pptx": (SLIDES, office("ppt/presentation.xml")),
    "a.odt": (OPEN_TEXT, self_named(OPEN_TEXT)),
    "a.epub": ("application/epub+zip", self_named("application/epub+zip")),
    "a.zip": ("application/zip", zipped({"a.txt": "hello " * 50, "b": b""})),
    "a.gz": ("application/gzip", gzip.compress(b"hello " * 50, mtime=0)),
    "a.png": ("image/png", png()),
    "a.jpg": ("image/jpeg", jpeg()),
    "a.gif": ("image/gif", gif()),
    "a.webp": ("image/webp", webp()),
    "a.svg": ("image/svg+xml", b'<?xml version="1.0"?>\n<!-- a --><svg xmlns="x"></svg>'),
}
"""By name: the type and the content of a file that is whole."""


def pdf_page(lines: Sequence[str]) -> bytes:
    """A page with these lines, in ASCII without brackets."""
    words = " T* ".join(f"({line}) Tj" for line in lines)
    drawn = f"BT /F1 18 Tf 24 TL 72 720 Td {words} ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    return _joined(objects)


def _joined(objects: Sequence[bytes]) -> bytes:
    body, places = b"%PDF-1.7\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n"
        b"%%%%EOF\n" % (count, table, count, len(body))
    )

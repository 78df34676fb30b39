"""A PDF that a viewer really draws: one page, some lines."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("paper",)


def paper(lines: Sequence[str]) -> bytes:
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

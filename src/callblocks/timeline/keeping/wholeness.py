"""Checks that a file opens as what it claims to be, and is not truncated or damaged.

A PDF has its header and its end; a zip has its directory and parts with right checksums; an office
document has the parts that its kind requires. However hostile a file is, this takes time in
proportion to its size, and never unpacks more than `UNPACKED` bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from callblocks.timeline.keeping.magic import CONTENT_TYPES, OFFICE_PARTS, content_type
from callblocks.timeline.keeping.mime import mime_of
from callblocks.timeline.keeping.whole_images import IMAGES
from callblocks.timeline.keeping.zips import Zip, read_zip

__all__ = ("UNPACKED", "fault_in")

# The most bytes of one file that are unpacked.
UNPACKED = 1 << 26

_PIECE = 1 << 16
_NO_ZIP = "it is no zip file, or it is cut off"


def fault_in(mime: str, content: bytes) -> str:
    """Return why content does not open as this type; "" if it does, or the type is unknown."""
    check = _CHECKS.get(mime)
    return check(content) if check else ""


def _pdf_fault(content: bytes) -> str:
    if b"%PDF-" not in content[:1024]:
        return "it does not begin as a PDF does"
    end = content[-2048:]
    return "" if b"startxref" in end and b"%%EOF" in end else "it is cut off"


def _office_fault(mime: str) -> Callable[[bytes], str]:
    def fault(content: bytes) -> str:
        opened = read_zip(content)
        if opened is None:
            return _NO_ZIP
        for name in (CONTENT_TYPES, OFFICE_PARTS[mime]):
            if name not in opened.parts:
                return f"the part {name} is missing"
        return _parts_fault(opened, first=(CONTENT_TYPES, OFFICE_PARTS[mime]))

    return fault


def _self_named_fault(mime: str) -> Callable[[bytes], str]:
    def fault(content: bytes) -> str:
        opened = read_zip(content)
        if opened is None:
            return _NO_ZIP
        if content_type(content) != mime:
            return "it does not say so in its part mimetype"
        return _parts_fault(opened, first=("mimetype",))

    return fault


def _zip_fault(content: bytes) -> str:
    opened = read_zip(content)
    return _NO_ZIP if opened is None else _parts_fault(opened)


def _parts_fault(opened: Zip, first: tuple[str, ...] = ()) -> str:
    """Return the fault of a part, as far as `UNPACKED` bytes go; `first` must be within that."""
    left = UNPACKED
    for name in dict.fromkeys((*first, *opened.parts)):
        # Encrypted or unusual parts cannot be judged and are no fault; the required ones in `first`
        # must be readable.
        if name not in first and (left <= 0 or not opened.parts[name].is_readable):
            continue
        size = opened.measure(name, max(0, left))
        if size is None:
            return f"the part {name[:100]} is damaged"
        if size > left and name in first:
            return f"the part {name} is larger than {UNPACKED >> 20} MiB unpacked"
        # Input counts as well as output: overlapping parts may share bytes that unpack to nothing.
        left -= max(size, opened.parts[name].packed)
    return ""


def _gzip_fault(content: bytes) -> str:
    inflate = zlib.decompressobj(zlib.MAX_WBITS + 16)
    at, left = 0, UNPACKED
    try:
        while left > 0 and not inflate.eof:
            waiting = inflate.unconsumed_tail or content[at : at + _PIECE]
            at += 0 if inflate.unconsumed_tail else len(waiting)
            piece = inflate.decompress(waiting, _PIECE)
            if not piece and not waiting:
                return "it is cut off"
            left -= len(piece)
    except zlib.error:
        return "it is no gzip file, or it is damaged"
    return ""


def _svg_fault(content: bytes) -> str:
    return "" if mime_of("", content) == "image/svg+xml" else "it does not begin as an SVG does"


_OPEN = "application/vnd.oasis.opendocument"

_CHECKS: dict[str, Callable[[bytes], str]] = {
    **IMAGES,
    **{mime: _office_fault(mime) for mime in OFFICE_PARTS},
    **{
        mime: _self_named_fault(mime)
        for mime in (
            f"{_OPEN}.text",
            f"{_OPEN}.spreadsheet",
            f"{_OPEN}.presentation",
            "application/epub+zip",
        )
    },
    "application/pdf": _pdf_fault,
    "application/zip": _zip_fault,
    "application/gzip": _gzip_fault,
    "image/svg+xml": _svg_fault,
}

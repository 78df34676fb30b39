"""Checks that a file opens as what it claims to be, and is not truncated or damaged.

A PDF has its header and its end; a zip has its directory and parts with right checksums; an office
document has the parts that its kind requires. However hostile a file is, this takes time in
proportion to its size, and never unpacks more than `UNPACKED` bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import msgspec

from callblocks.core.outcomes import Failure
from callblocks.core.text import brief
from callblocks.timeline.artifacts.media_types import (
    CONTENT_TYPES,
    OFFICE_PARTS,
    Zip,
    content_type,
    mime_of,
    named_type,
    read_zip,
)

__all__ = (
    "IMAGES",
    "UNPACKED",
    "UNUSUALLY_SMALL",
    "WrittenFile",
    "check_written",
    "fault_in",
)

# --- Structural checks of images: beginning, parts and end as the format requires ---
#
# Nothing is decoded, so that an image of a million million pixels costs no more than its bytes.

# More parts than any image has.
_CHUNKS = 100_000

_PNG = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_SCAN, _END = 0xDA, 0xD9


def _png_fault(content: bytes) -> str:
    if not content.startswith(_PNG):
        return "it does not begin as a PNG does"
    kinds: set[bytes] = set()
    for kind, size, is_right in _png_chunks(content):
        if not is_right:
            return "a check sum in it is wrong"
        if not kinds and (kind, size) != (b"IHDR", 13):
            return "it has no header"
        if kind == b"IEND":
            return "" if b"IDAT" in kinds else "it has no pixels"
        kinds.add(kind)
    return "it is cut off"


def _png_chunks(content: bytes) -> Iterator[tuple[bytes, int, bool]]:
    """Yield each complete chunk: its kind, its size, and whether its checksum is right."""
    at = len(_PNG)
    for _ in range(_CHUNKS):
        size, kind = int.from_bytes(content[at : at + 4]), content[at + 4 : at + 8]
        end = at + 8 + size
        if end + 4 > len(content):
            return
        crc = zlib.crc32(memoryview(content)[at + 4 : end])
        yield kind, size, crc == int.from_bytes(content[end : end + 4])
        at = end + 4


def _jpeg_fault(content: bytes) -> str:
    if not content.startswith(b"\xff\xd8\xff"):
        return "it does not begin as a JPEG does"
    at, framed = 2, False
    for _ in range(_CHUNKS):
        if at + 4 > len(content) or content[at] != 0xFF:
            return "it is cut off, or damaged"
        marker = content[at + 1]
        if marker == _SCAN:
            return _scan_fault(content, at, framed)
        framed = framed or marker in _FRAMES
        # Markers without a length, and fill bytes between markers.
        alone = marker in _ALONE or marker == 0xFF
        at += (1 if marker == 0xFF else 2) if alone else 2 + _length(content, at)
    return "it has too many parts"


def _length(content: bytes, at: int) -> int:
    # A length includes itself, so less than two is damage; advancing by two detects it.
    return max(2, int.from_bytes(content[at + 2 : at + 4]))


def _scan_fault(content: bytes, at: int, framed: bool) -> str:
    if not framed:
        return "it has no size"
    # Pixel data never contains the end marker: 0xFF is escaped in it.
    return "" if content.find(b"\xff\xd9", at) > 0 else "it is cut off"


def _gif_fault(content: bytes) -> str:
    if not content.startswith((b"GIF87a", b"GIF89a")):
        return "it does not begin as a GIF does"
    if len(content) < 14 or b"," not in content[13:]:
        return "it has no pixels"
    return "" if content.rstrip(b"\0").endswith(b";") else "it is cut off"


def _webp_fault(content: bytes) -> str:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return "it does not begin as a WebP does"
    if content[12:16] not in (b"VP8 ", b"VP8L", b"VP8X"):
        return "it has no pixels"
    size = int.from_bytes(content[4:8], "little")
    inner = int.from_bytes(content[16:20], "little")
    return "" if inner + 20 <= size + 8 <= len(content) else "it is cut off"


# By MIME type: a function that returns why an image does not open; "" if it does.
IMAGES: dict[str, Callable[[bytes], str]] = {
    "image/png": _png_fault,
    "image/jpeg": _jpeg_fault,
    "image/gif": _gif_fault,
    "image/webp": _webp_fault,
}


# --- Checks that a file opens as what it claims to be, and is not truncated or damaged ---

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


# --- The check of a file that a tool was to write, before anybody is told that it exists ---
#
#     check_written("report.pdf", None)     error file_not_found
#     check_written("report.pdf", b"")      error empty_file
#     check_written("report.docx", b"hi")   error file_invalid, warning file_unusually_small
#
# A name claims a type by its ending; where it claims no known one, the content decides.

# The warning: a file of that kind has more bytes, even with little in it.
UNUSUALLY_SMALL = "file_unusually_small"

_LEAST = {".pdf": 500, ".docx": 1_000, ".pptx": 2_000, ".xlsx": 1_000}


class WrittenFile(msgspec.Struct, frozen=True):
    """The file as found: its size and type, and its warning or error."""

    size: int
    mime: str
    warning: str = ""
    error: Failure | None = None


# Judged by the claimed type: a `.docx` that holds plain text is a failure of the tool, even though
# the text itself is readable.
def check_written(name: str, content: bytes | None) -> WrittenFile:
    """Check the file that a tool wrote as `name`; `None` is a file that does not exist."""
    mime = mime_of(name, content or b"")
    if content is None:
        return WrittenFile(0, mime, error=_failure("file_not_found", name, "was not written"))
    if not content:
        return WrittenFile(
            0, mime, error=_failure("empty_file", name, "was written with no content")
        )
    fault = fault_in(named_type(name) or mime, content)
    error = _failure("file_invalid", name, f"does not open: {fault}") if fault else None
    return WrittenFile(len(content), mime, _warning(name, len(content)), error)


def _warning(name: str, size: int) -> str:
    small = any(name.lower().endswith(end) and size < least for end, least in _LEAST.items())
    return UNUSUALLY_SMALL if small else ""


def _failure(code: str, name: str, problem: str) -> Failure:
    return Failure(code=code, message=f"{brief(name, 200)} {problem}; write it again")

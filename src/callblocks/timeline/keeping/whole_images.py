"""Structural checks of images: beginning, parts and end as the format requires.

Nothing is decoded, so that an image of a million million pixels costs no more than its bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

__all__ = ("IMAGES",)

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

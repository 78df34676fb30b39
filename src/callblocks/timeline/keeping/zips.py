"""The directory of a zip, and its parts, however hostile the file is.

Only requested parts are unpacked, a piece at a time and never beyond a limit; the directory is read
up to `MAX_PARTS` rows. A file that is no zip gives `None`, never an exception. `zipfile` is not
used, because it trusts sizes and raises many kinds of exceptions on damaged input.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import msgspec

__all__ = ("MAX_PARTS", "Part", "Zip", "read_zip")

MAX_PARTS = 20_000
_PIECE = 1 << 16
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1

_END = struct.Struct("<4sHHHHIIH")
_END64_PLACE = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_ROW = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
# The longest comment, which stands at the very end of the file.
_COMMENT = 0xFFFF


class Part(msgspec.Struct, frozen=True):
    """A row of the directory: compression, sizes, checksum, and the place of the part."""

    method: int
    flags: int
    crc: int
    packed: int
    size: int
    start: int

    @property
    def is_readable(self) -> bool:
        """Return whether it can be unpacked: not encrypted, and stored or deflated."""
        return not self.flags & _ENCRYPTED and self.method in (_STORED, _DEFLATED)


class Zip:
    """A zip with a readable directory."""

    def __init__(self, content: bytes, parts: dict[str, Part]) -> None:
        self.parts = parts
        self._content = content

    def read(self, name: str, limit: int) -> bytes | None:
        """Return a part, if it exists, is undamaged, and not longer than `limit`."""
        part = self.parts.get(name)
        if part is None or part.size > limit:
            return None
        pieces = list(self._pieces(part, limit))
        content = b"".join(piece for piece in pieces if piece is not None)
        return content if _is_whole(part, len(content), zlib.crc32(content), pieces) else None

    def measure(self, name: str, limit: int) -> int | None:
        """Return the unpacked size of a part, as far as `limit`; `None` if it is damaged.

        Beyond the limit nothing is checked, so such a part does not count as damaged.
        """
        part = self.parts.get(name)
        if part is None:
            return None
        size = crc = 0
        last: bytes | None = b""
        for last in self._pieces(part, limit):
            if last is not None:
                size, crc = size + len(last), zlib.crc32(last, crc)
        if size > limit or _is_whole(part, size, crc, [last]):
            return size
        return None

    def _pieces(self, part: Part, limit: int) -> Iterator[bytes | None]:
        """Yield the part piece by piece, until there are more than `limit` bytes; `None`:
        damaged.
        """
        packed = self._packed(part)
        if packed is None or not part.is_readable:
            yield None
        elif part.method == _STORED:
            stored = packed[: limit + 1]
            for at in range(0, len(stored), _PIECE):
                yield bytes(stored[at : at + _PIECE])
        else:
            yield from _inflate(packed, limit)

    def _packed(self, part: Part) -> memoryview | None:
        content = self._content
        if part.start < 0 or part.start + _LOCAL.size > len(content):
            return None
        # Only the lengths of name and extra field are read from the local header. Sizes and
        # checksum come from the directory: a file whose two copies differ is a known attack on
        # scanners.
        sign, *_, name, extra = _LOCAL.unpack_from(content, part.start)
        start = part.start + _LOCAL.size + name + extra
        if sign != b"PK\x03\x04" or start + part.packed > len(content):
            return None
        return memoryview(content)[start : start + part.packed]


def read_zip(content: bytes) -> Zip | None:
    """Open a zip; `None` if it is none, or its directory is damaged."""
    try:
        return Zip(content, dict(_rows(content)))
    except (struct.error, ValueError):
        return None


def _is_whole(part: Part, size: int, crc: int, pieces: list[bytes | None]) -> bool:
    return None not in pieces and (size, crc) == (part.size, part.crc)


def _inflate(packed: memoryview, limit: int) -> Iterator[bytes | None]:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    at, left = 0, limit + 1
    try:
        while left > 0 and not inflate.eof:
            waiting = inflate.unconsumed_tail or bytes(packed[at : at + _PIECE])
            at += 0 if inflate.unconsumed_tail else len(waiting)
            piece = inflate.decompress(waiting, min(_PIECE, left))
            if not piece and not waiting:
                yield None  # it is cut off
                return
            left -= len(piece)
            yield piece
    except zlib.error:
        yield None


def _rows(content: bytes) -> Iterator[tuple[str, Part]]:
    count, start, shift = _table(content)
    for _ in range(min(count, MAX_PARTS)):
        row = _ROW.unpack_from(content, start)
        sign, flags, method = row[0], row[3], row[4]
        crc, packed, size, name, extra, comment = row[7:13]
        if sign != b"PK\x01\x02":
            raise ValueError("the table of contents is damaged")
        start += _ROW.size
        label = content[start : start + name].decode("utf-8", "replace")
        fields = content[start + name : start + name + extra]
        size, packed, place = _large(fields, size, packed, row[16])
        yield label, Part(method, flags, crc, packed, size, place + shift)
        start += name + extra + comment


def _table(content: bytes) -> tuple[int, int, int]:
    """Return the number of rows, the place of the first, and the offset of prepended data."""
    # The last one within the longest possible comment, as all programs do; a comment may contain
    # another signature.
    end = content.rfind(b"PK\x05\x06", max(0, len(content) - _END.size - _COMMENT))
    if end < 0:
        raise ValueError("no end of a table of contents")
    _, _, _, _, count, size, start, _ = _END.unpack_from(content, end)
    place = end - _END64_PLACE.size
    if place >= 0 and content.startswith(b"PK\x06\x07", place):
        end = _END64_PLACE.unpack_from(content, place)[2]
        row = _END64.unpack_from(content, min(end, len(content)))
        if row[0] != b"PK\x06\x06":
            raise ValueError("the end of the table of contents is damaged")
        count, size, start = row[7:10]
    # Data before the zip (a self-extracting program) shifts every offset by the same amount.
    shift = end - size - start
    if shift < 0 or size > len(content):
        raise ValueError("the table of contents is cut off")
    return count, start + shift, shift


def _large(fields: bytes, size: int, packed: int, place: int) -> tuple[int, int, int]:
    """Return sizes of more than 32 bits, which stand in a field of their own, in this order."""
    values = [size, packed, place]
    at = 0
    while at + 4 <= len(fields):
        kind, length = struct.unpack_from("<HH", fields, at)
        at += 4
        if kind == 1:
            for number, value in enumerate(values):
                if value == 0xFFFFFFFF:
                    (values[number],) = struct.unpack_from("<Q", fields, at)
                    at += 8
            break
        at += length
    return values[0], values[1], values[2]

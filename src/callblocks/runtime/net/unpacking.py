"""Incremental decompression of a response, never beyond the limit.

    Content-Encoding: gzip | deflate | identity

A small body may expand to any size (a zip bomb): output is requested with a limit, and the first
byte beyond it ends the response. Other encodings were not requested and are refused.
"""

from __future__ import annotations

import zlib
from typing import NoReturn

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError

__all__ = ("Unpacker",)

_GZIP = zlib.MAX_WBITS | 16
_GZIP_START = b"\x1f\x8b"
# Files of many gzip members exist; a body of nothing but empty members is an attack, because each
# costs time and yields no byte that the limit could count.
_PARTS = 1000


class Unpacker:
    """A decoder of a body in pieces. `feed` and `close` raise `ToolError`; `close` returns the
    whole.

    `taken` counts the received bytes, before decompression.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(
                "network_error", f"the response is encoded as {brief(coding)}, which was not asked"
            )
        self._limit = limit
        self._gzip = coding.endswith("gzip")
        self._packed = self._gzip or coding == "deflate"
        self._inflater = zlib.decompressobj(_GZIP)
        self._start = b""
        self._parts = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self.taken = 0

    def expect(self, length: int) -> None:
        """Refuse a body that is announced as too large, before any of it is taken."""
        if length > self._limit:
            self._refuse()

    def feed(self, piece: bytes) -> None:
        """Process the next piece as it came over the wire."""
        self.taken += len(piece)
        # Compressed bytes that expand to nothing count as well.
        if self.taken > self._limit:
            self._refuse()
        if not self._packed:
            self._add(piece)
            return
        try:
            self._unpack(piece)
        except zlib.error as error:
            raise ToolError("network_error", f"the response cannot be unpacked: {error}") from error

    def close(self) -> bytes:
        """Return the whole body, once nothing more comes."""
        if self._start or (self._parts and not self._inflater.eof):
            raise ToolError("network_error", "the packed response broke off before its end")
        return b"".join(self._pieces)

    def _unpack(self, piece: bytes) -> None:
        if not self._parts:
            piece = self._start + piece
            self._start = piece if len(piece) < 2 else b""
            if self._start or not piece:
                return
            self._begin(piece)
        while piece:
            if self._inflater.eof:
                if not (self._gzip and piece.startswith(_GZIP_START)):
                    return  # what follows the end is padding
                self._begin(piece)
            # One byte more than the limit is enough to know that it is exceeded; the rest is never
            # produced.
            self._add(self._inflater.decompress(piece, self._limit - self._size + 1))
            piece = self._inflater.unused_data

    def _begin(self, piece: bytes) -> None:
        self._parts += 1
        if self._parts > _PARTS:
            raise ToolError("network_error", f"the response has more than {_PARTS} packed parts")
        # Some servers send raw deflate without the zlib header. The header's checksum (a multiple
        # of 31) tells the two apart.
        wrapped = piece[0] & 0x0F == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
        bits = zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS
        self._inflater = zlib.decompressobj(_GZIP if self._gzip else bits)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._refuse()
        self._pieces.append(piece)

    def _refuse(self) -> NoReturn:
        raise ToolError(
            "response_too_large",
            f"the response passes the limit of {self._limit} bytes; ask for less of it",
            limit=self._limit,
        )

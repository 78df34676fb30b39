"""The way out: a tar stream that may be forged, parsed strictly, piece by piece.

Only what our archiver writes is accepted: headers of 512 bytes with octal sizes and a checksum,
regular files, folders, links, devices and pipes, and `L` and `K` records for long names. Sparse
files, extended headers and anything else refuse the whole archive. Memory is bounded by the limits
whatever a header claims.

Why not `tarfile`: it wants a seekable or blocking file, accepts many formats whose interpretation
differs between programs, and reads a whole extended header into memory.

States
    header    512 bytes; two of zeros end the archive
    content   the bytes of a file
    name      the bytes of a long name, which belongs to the next header
    padding   zeros up to the next block
    end       everything that follows is `rest`
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from callblocks.runtime.sandbox.changes import Collector, Refused

__all__ = ("Unpacker",)

_BLOCK = 512
_LONGEST = 8192
_OTHERS = {
    b"1": "it is a link",
    b"2": "it is a link",
    b"3": "it is a device",
    b"4": "it is a device",
    b"6": "it is a pipe",
}

_Part: TypeAlias = Literal["header", "content", "name", "padding", "end"]


class Unpacker:
    """The parser of one archive: `feed` pieces until `ended`; what follows is in `rest`."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._buffer = bytearray()
        self._part: _Part = "header"
        self._wanted = _BLOCK
        self._keep = True
        self._padding = 0
        self._zeros = 0
        self._path = ""
        self._executable = False
        self._modified = 0
        self._long_name = ""
        self._long_kind = b""
        self.rest = b""

    @property
    def ended(self) -> bool:
        """Return whether the archive is at its end."""
        return self._part == "end"

    def feed(self, piece: bytes) -> None:
        """Process a piece. Raise `Refused`; nothing may be fed after that."""
        view = memoryview(piece)
        while view and not self.ended:
            # `_wanted` counts down the current part; `_keep` is false for skipped bytes, so that a
            # skipped file costs no memory.
            taken = view[: self._wanted]
            if self._keep:
                self._buffer += taken
            self._wanted -= len(taken)
            view = view[len(taken) :]
            while not self._wanted and not self.ended:
                self._finish_part()
        self.rest += bytes(view)

    def _finish_part(self) -> None:
        block, self._buffer = bytes(self._buffer), bytearray()
        match self._part:
            case "header":
                self._read_header(block)
            case "content":
                if self._keep:
                    self._collector.file(
                        self._path, block, executable=self._executable, modified=self._modified
                    )
                self._expect("padding", self._padding, keep=False)
            case "name":
                if self._long_kind == b"L":
                    self._long_name = _text(block)
                self._expect("padding", self._padding, keep=False)
            case _:
                self._expect("header", _BLOCK)

    def _expect(self, part: _Part, size: int, *, keep: bool = True) -> None:
        self._part, self._wanted, self._keep = part, size, keep

    def _read_header(self, block: bytes) -> None:
        if not any(block):
            self._zeros += 1
            self._expect("end" if self._zeros == 2 else "header", _BLOCK)
            return
        # A single zero block followed by a header is how two archives are glued together; parsers
        # disagree on which one counts.
        if self._zeros or not _sum_is_right(block):
            raise Refused("the archive is damaged")
        self._start_member(block, kind=block[156:157], size=_octal(block[124:136]))

    def _start_member(self, block: bytes, kind: bytes, size: int) -> None:
        # Counted before it is read: headers without content would otherwise cost nothing.
        self._collector.count()
        self._padding = -size % _BLOCK
        if kind in (b"L", b"K"):
            if size > _LONGEST:
                raise Refused("the archive has a name that is too long")
            self._long_kind = kind
            self._expect("name", size)
            return
        self._path, self._long_name = self._long_name or _name(block), ""
        self._path = self._path.removeprefix("./").rstrip("/")
        if kind in (b"0", b"\0"):
            self._executable = bool(_octal(block[100:108]) & 0o100)
            self._modified = _time(block[136:148])
            self._expect("content", size, keep=self._collector.admit(self._path, size))
            return
        self._skip(kind, size)

    def _skip(self, kind: bytes, size: int) -> None:
        if size or (kind not in _OTHERS and kind != b"5"):
            raise Refused("the archive has an entry of an unknown kind")
        if kind in _OTHERS:
            self._collector.other(self._path, _OTHERS[kind])
        self._expect("header", _BLOCK)


def _name(block: bytes) -> str:
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise Refused("the archive has a number that is none")
    return int(digits, 8)


def _time(field: bytes) -> int:
    """Return the time of a write; a time that no octal number can express counts as long ago."""
    digits = field.strip(b" \0")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else 0


def _sum_is_right(block: bytes) -> bool:
    blanked = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    return _octal(block[148:156]) == blanked

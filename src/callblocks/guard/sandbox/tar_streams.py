"""The way in: a folder's entries as a tar stream, and a note of each file.

A file that shrinks while it is read is padded with zeros, and one that grows is cut: the archive
stays valid, and the note has the digest of the bytes that really went in.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, Literal, TypeAlias

import msgspec

from callblocks.guard.sandbox.inputs import InputEntry, fault_of_path
from callblocks.guard.sandbox.sandbox import Changes, LeftOut, Written

__all__ = (
    "Collector",
    "Note",
    "Refused",
    "Unpacker",
    "note_of",
    "open_file",
    "pack",
    "read_exactly",
)

_PIECE = 256 * 1024
_BLOCK = tarfile.BLOCKSIZE


class Note(msgspec.Struct, frozen=True):
    """A file as it went in; `modified` is set only for a file whose time is watched."""

    digest: bytes
    executable: bool
    modified: float | None = None


def note_of(entry: InputEntry, digest: bytes) -> Note:
    """Return the note of a file that went in with this content."""
    return Note(digest, entry.executable, entry.modified if entry.watched else None)


def pack(folder: str, entries: tuple[InputEntry, ...], sink: int, notes: dict[str, Note]) -> None:
    """Write the entries as a tar stream to a descriptor, close it, and note the files.

    Read-only files do not come out, and need no note. A file that cannot be opened is left out.
    When nobody reads any more, or the folder is gone, the stream ends early without an error: the
    unpacking side reports that.
    """
    with contextlib.suppress(OSError), open(sink, "wb", buffering=_PIECE) as stream:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for entry in entries:
                _pack_entry(root, entry, stream, notes)
        finally:
            os.close(root)
        # The end marker of tar. A stream that was cut short lacks it, and the unpacking side fails.
        stream.write(bytes(2 * _BLOCK))


def _pack_entry(root: int, entry: InputEntry, stream: BinaryIO, notes: dict[str, Note]) -> None:
    if not entry.is_file:
        stream.write(_header(entry))
    elif (fd := open_file(root, entry.path)) is not None:
        stream.write(_header(entry))
        digest = _copy(fd, entry.size, stream)
        if not entry.read_only:
            notes[entry.path] = note_of(entry, digest)


def _copy(fd: int, size: int, stream: BinaryIO) -> bytes:
    digest = hashlib.sha256()
    for piece in read_exactly(fd, size):
        digest.update(piece)
        stream.write(piece)
    stream.write(bytes(-size % _BLOCK))
    return digest.digest()


def read_exactly(fd: int, size: int) -> Iterator[bytes]:
    """Yield the content of a file in exactly this size; close the file."""
    with open(fd, "rb", buffering=0) as file:
        while size and (piece := file.read(min(size, _PIECE))):
            size -= len(piece)
            yield piece
    while size:
        piece = bytes(min(size, _PIECE))
        size -= len(piece)
        yield piece


def open_file(root: int, path: str) -> int | None:
    """Open a regular file below the root, following no link on the way."""
    *folders, name = path.split("/")
    opened = [root]
    try:
        for folder in folders:
            flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            opened.append(os.open(folder, flags, dir_fd=opened[-1]))
        # NONBLOCK: a pipe that took the file's place must not block us.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(name, flags, dir_fd=opened[-1])
    except OSError:
        return None
    finally:
        for folder_fd in opened[1:]:
            os.close(folder_fd)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def _header(entry: InputEntry) -> bytes:
    info = tarfile.TarInfo(entry.path)
    info.mode = entry.permissions
    info.mtime = entry.modified
    if stat.S_ISDIR(entry.mode):
        info.type = tarfile.DIRTYPE
    elif entry.is_file:
        info.size = entry.size
    else:
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


# --- Changes of a job: the files that came out compared with the files that went in ---
#
# Everything that comes out is hostile. A path must be plain and new, a file regular, and of its
# mode only the owner's executable bit counts. Unchanged files are dropped at once.

_LISTED = 100


class Refused(Exception):
    """The whole result of a job is refused; the message says why."""


class Collector:
    """Compares the entries that come out, one by one, with what went in.

    `links` went in as links and may stay as they are. `bytes_limit` is for the content of all
    files, `count_limit` for the number of entries.
    """

    def __init__(
        self,
        notes: dict[str, Note],
        links: frozenset[str] = frozenset(),
        *,
        bytes_limit: int,
        count_limit: int,
    ) -> None:
        self._notes = notes
        self._links = links
        self._bytes_left = bytes_limit
        self._count_left = count_limit
        self._seen: set[str] = set()
        self._written: list[Written] = []
        self._left_out: list[LeftOut] = []

    def count(self) -> None:
        """Count an entry of any kind, before it is read."""
        self._count_left -= 1
        if self._count_left < 0:
            raise Refused("there are more files than the limit")

    def admit(self, path: str, size: int) -> bool:
        """Return whether a regular file of this size is to be read; if not, it is skipped."""
        if size > self._bytes_left:
            raise Refused("the files are larger than the limit")
        self._bytes_left -= size
        return self._is_new(path)

    def file(self, path: str, content: bytes, *, executable: bool, modified: float = 0) -> None:
        """Take the content of an admitted file, and the time of its last write."""
        note = self._notes.get(path)
        same = note is not None and note.executable == executable
        # A watched file was given an old time on the way in, so a newer time proves a write even if
        # the content is the same.
        again = note is not None and note.modified is not None and modified > note.modified
        if again or not (same and note and note.digest == hashlib.sha256(content).digest()):
            self._written.append(Written(path, content, executable))

    def other(self, path: str, reason: str) -> None:
        """Note an entry that is no regular file: it stays behind."""
        if self._is_new(path) and path not in self._links:
            self._leave(path, reason)

    def changes(self, left_out: tuple[LeftOut, ...] = ()) -> Changes:
        """Return all changes. A file that went in and did not come out was deleted.

        Raise `Refused` when a file is said to lie below another file.
        """
        # Written to the real folder, `a` as a file and `a/b` below it would fail half-way.
        for written in self._written:
            parent = posixpath.dirname(written.path)
            while parent:
                if parent in self._seen:
                    raise Refused(f"the archive has {parent!r} as a file and as a folder")
                parent = posixpath.dirname(parent)
        return Changes(
            written=tuple(sorted(self._written, key=lambda written: written.path)),
            deleted=tuple(sorted(self._notes.keys() - self._seen)),
            left_out=(*left_out, *self._left_out)[:_LISTED],
        )

    def _is_new(self, path: str) -> bool:
        if fault := fault_of_path(path):
            self._leave(ascii(path), fault)
            return False
        if path in self._seen:
            raise Refused(f"the archive has {path!r} twice")
        self._seen.add(path)
        return True

    def _leave(self, path: str, reason: str) -> None:
        if len(self._left_out) < _LISTED:
            self._left_out.append(LeftOut(path, reason))


# --- The way out: a tar stream that may be forged, parsed strictly, piece by piece ---
#
# Only what our archiver writes is accepted: headers of 512 bytes with octal sizes and a checksum,
# regular files, folders, links, devices and pipes, and `L` and `K` records for long names. Sparse
# files, extended headers and anything else refuse the whole archive. Memory is bounded by the
# limits whatever a header claims.
#
# Why not `tarfile`: it wants a seekable or blocking file, accepts many formats whose interpretation
# differs between programs, and reads a whole extended header into memory.
#
# States
#     header    512 bytes; two of zeros end the archive
#     content   the bytes of a file
#     name      the bytes of a long name, which belongs to the next header
#     padding   zeros up to the next block
#     end       everything that follows is `rest`

_TAR_BLOCK = 512
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
        self._wanted = _TAR_BLOCK
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
                self._expect("header", _TAR_BLOCK)

    def _expect(self, part: _Part, size: int, *, keep: bool = True) -> None:
        self._part, self._wanted, self._keep = part, size, keep

    def _read_header(self, block: bytes) -> None:
        if not any(block):
            self._zeros += 1
            self._expect("end" if self._zeros == 2 else "header", _TAR_BLOCK)
            return
        # A single zero block followed by a header is how two archives are glued together; parsers
        # disagree on which one counts.
        if self._zeros or not _sum_is_right(block):
            raise Refused("the archive is damaged")
        self._start_member(block, kind=block[156:157], size=_octal(block[124:136]))

    def _start_member(self, block: bytes, kind: bytes, size: int) -> None:
        # Counted before it is read: headers without content would otherwise cost nothing.
        self._collector.count()
        self._padding = -size % _TAR_BLOCK
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
        self._expect("header", _TAR_BLOCK)


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

"""The way in: a folder's entries as a tar stream, and a note of each file.

A file that shrinks while it is read is padded with zeros, and one that grows is cut: the archive
stays valid, and the note has the digest of the bytes that really went in.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from callblocks.runtime.sandbox.survey import Entry

__all__ = ("Note", "note_of", "open_file", "pack", "read_exactly")

_PIECE = 256 * 1024
_BLOCK = tarfile.BLOCKSIZE


class Note(msgspec.Struct, frozen=True):
    """A file as it went in; `modified` is set only for a file whose time is watched."""

    digest: bytes
    executable: bool
    modified: float | None = None


def note_of(entry: Entry, digest: bytes) -> Note:
    """Return the note of a file that went in with this content."""
    return Note(digest, entry.executable, entry.modified if entry.watched else None)


def pack(folder: str, entries: tuple[Entry, ...], sink: int, notes: dict[str, Note]) -> None:
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


def _pack_entry(root: int, entry: Entry, stream: BinaryIO, notes: dict[str, Note]) -> None:
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


def _header(entry: Entry) -> bytes:
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

"""Bytes in, pieces of text out, as soon as they are there.

A slow writer's text is handled as it comes; a file is read in blocks, so that its size does
not matter. Bytes that are not UTF-8 become U+FFFD, one each, and the first of each run of them
is told. A byte order mark at the start is skipped.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple, TypeAlias

import click
import msgspec

from callblocks.cli.exits import Fault, say
from callblocks.core.events import Event
from callblocks.views.rows import Row, visible_line

__all__ = (
    "FILE",
    "STDIN",
    "BadByte",
    "Utf8",
    "file_heading",
    "files_argument",
    "json_lines",
    "name_of",
    "open_output",
    "pieces",
    "streams",
)

STDIN = "-"
BLOCK = 64 * 1024
BOM = "\ufeff"
SIGN = "\ufffd"
_BAD = re.compile("[\udc80-\udcff]+")


class BadByte(NamedTuple):
    """The first of a run of bytes that are not UTF-8; its U+FFFD ends the piece before this."""

    offset: int
    value: int


Piece: TypeAlias = str | BadByte


class Utf8:
    """Decodes blocks of bytes, however they are cut."""

    def __init__(self) -> None:
        self._rest = b""
        self._decoded = 0
        self._bad = False

    def feed(self, block: bytes, *, final: bool = False) -> Iterator[Piece]:
        """Decode what is complete; a byte that cannot be text is told after its sign."""
        block, offset = self._rest + block, self._decoded
        try:
            text, used = codecs.utf_8_decode(block, "strict", final)
        except UnicodeDecodeError:
            text, used = codecs.utf_8_decode(block, "surrogateescape", final)
            pieces = self._pieces(text, offset)
        else:
            pieces = iter((text,) if text else ())
            self._bad = self._bad and not text
        self._rest, self._decoded = block[used:], offset + used
        return _without_mark(pieces) if offset == 0 and used else pieces

    def _pieces(self, text: str, offset: int) -> Iterator[Piece]:
        at = 0
        for run in _BAD.finditer(text):
            offset += len(text[at : run.start()].encode())
            signs = SIGN * len(run[0])
            if run.start() or not self._bad:
                yield text[at : run.start()] + SIGN
                yield BadByte(offset, ord(run[0][0]) - 0xDC00)
                signs = signs[1:]
            if signs:
                yield signs
            at, offset = run.end(), offset + len(run[0])
        if at < len(text):
            yield text[at:]
        self._bad = at == len(text) and (at > 0 or self._bad)


def _without_mark(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Skip the byte order mark at the start of a text."""
    for at, piece in enumerate(pieces):
        bare = piece.removeprefix(BOM) if at == 0 and isinstance(piece, str) else piece
        if bare:
            yield bare


def pieces(path: str, advance: Callable[[int], object] | None = None) -> Iterator[Piece]:
    """The text of a file, or of standard input for `-`, piece by piece."""
    stream, utf8 = _open(path), Utf8()
    first = True
    with stream:
        while block := _read(stream, path):
            if first and b"\0" in block:
                raise Fault(_binary(path, block))
            first = False
            yield from utf8.feed(block)
            if advance is not None:
                advance(len(block))
        yield from utf8.feed(b"", final=True)


def name_of(path: str) -> str:
    """Return the name of a path for messages."""
    return "standard input" if path == STDIN else path


def streams(path: str) -> bool:
    """Return whether the text may arrive slowly: from a pipe or a person, not a regular file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode if path == STDIN else os.stat(path).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return not stat.S_ISREG(mode)


def _open(path: str) -> BinaryIO:
    try:
        if path != STDIN:
            return open(path, "rb")
        if sys.stdin.isatty() and sys.stderr.isatty():
            say("reading standard input; end it with Ctrl-D")
        return sys.stdin.buffer
    except AttributeError:
        raise Fault("standard input is closed") from None
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error


def _read(stream: BinaryIO, path: str) -> bytes:
    try:
        return stream.read1(BLOCK)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue] buffered streams have it
    except OSError as error:
        raise Fault(f"{name_of(path)}: {error.strerror}") from error


def _binary(path: str, block: bytes) -> str:
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return f"{name_of(path)}: this is UTF-16; convert it to UTF-8 first"
    return f"{name_of(path)}: this is not text (a NUL byte at offset {block.index(0)})"


# --- The files that a command reads, and what stands above each where there are several ---

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, readable=True)

files_argument = click.argument("files", metavar="[FILE]...", nargs=-1, type=FILE, default=(STDIN,))
"""Any number of files; standard input where there is none."""


def file_heading(path: str, *, first: bool) -> list[Row]:
    """The name of a file, above what is in it."""
    row: Row = (("quiet", "── "), ("heading", visible_line(name_of(path))))
    return [row, ()] if first else [(), row, ()]


# --- The output file of a command ---
#
#     a file, or nothing yet    written beside it, and in its place when it is whole
#     a link to a file          the same with the file that it leads to; the link stays
#     a pipe, a device          written to as it comes, never replaced
#
# A new file is only for its owner; one that is replaced keeps its mode.


@contextmanager
def open_output(path: str | None) -> Generator[BinaryIO]:
    """Open the output file; without a path, standard output."""
    found = None if path is None else _found(path)
    if path is None or (found is not None and _is_stdout(found)):
        yield sys.stdout.buffer
    elif found is None or stat.S_ISREG(found.st_mode):
        with _replacing(path, os.path.realpath(path), found) as file:
            yield file
    else:
        with _stream(path) as file:
            yield file


def _found(path: str) -> os.stat_result | None:
    """Return the status of a path, with links followed; None if nothing is there."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error


def _is_stdout(found: os.stat_result) -> bool:
    # /dev/stdout may be a file that the shell has opened, at its end perhaps.
    try:
        return os.path.samestat(found, os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):
        return False


def _stream(path: str) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY), "wb")
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error


@contextmanager
def _replacing(path: str, target: str, was: os.stat_result | None) -> Generator[BinaryIO]:
    """A new file beside the target, which takes its place when it is whole."""
    new = f"{target}.{os.getpid()}.new"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            if was is not None:
                _like(file.fileno(), was)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException as error:
        if isinstance(error, FileExistsError):
            raise Fault(f"{path}: {new} is in the way") from error
        with suppress(OSError):
            os.unlink(new)
        if isinstance(error, OSError) and error.filename == new:
            raise Fault(f"{path}: {error.strerror}") from error
        raise


def _like(file: int, was: os.stat_result) -> None:
    # Who may not give a file away keeps it alone.
    with suppress(OSError):
        os.fchown(file, was.st_uid, was.st_gid)
        os.fchmod(file, stat.S_IMODE(was.st_mode))


# --- Events and other records as JSON, one per line ---

_encoder = msgspec.json.Encoder()


def json_lines(events: Sequence[Event | Mapping[str, object]], file: str | None = None) -> bytes:
    """One line for each event or record; with `file`, each says first which file it is about."""
    head = b"{" if file is None else b'{"file":' + _encoder.encode(_sayable(file)) + b","
    return b"".join(b"%b%b\n" % (head, _encode(event)[1:]) for event in events)


def _encode(event: Event | Mapping[str, object]) -> bytes:
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        # Half a character (`"\ud800"` in a call's JSON) can only be written as an escape.
        return json.dumps(msgspec.to_builtins(event), separators=(",", ":")).encode()


def _sayable(name: str) -> str:
    """A file's name may hold bytes that are not text."""
    return name.encode("utf-8", "replace").decode()

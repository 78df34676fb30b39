"""Bytes in, pieces of text out, as soon as they are there.

A slow writer's text is handled as it comes; a file is read in blocks, so that its size does
not matter. Bytes that are not UTF-8 become U+FFFD, one each, and the first of each run of them
is told. A byte order mark at the start is skipped.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, TypeAlias

from callblocks.cli.exits import Fault, say

__all__ = ("STDIN", "BadByte", "Utf8", "name_of", "pieces", "streams")

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
    """What a path is called in messages."""
    return "standard input" if path == STDIN else path


def streams(path: str) -> bool:
    """Whether the text may come slowly: from a pipe or a person, not from a file."""
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

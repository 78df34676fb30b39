"""The child process that parses untrusted files one after another until its input ends.

    python -m callblocks.toolkits.search.reader_program 3 3< a.pdf

The number is an inherited file descriptor. Each line of standard input, `pdf 1234`, says that the
file now holds so many bytes of that kind.

Defence in depth: resource limits, then Landlock (`lock_in`) which leaves only Python's own folders
readable, both set before the first byte of a file is read. Parsers are imported after that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from callblocks.core.extras import install_line
from callblocks.guard.sandbox.landlock import lock_in, own_places
from callblocks.toolkits.search.chunks import Unreadable
from callblocks.toolkits.search.reader_process import ReaderLine

__all__ = ("main",)

_MEMORY = 1024 * 1024 * 1024
_CPU_SECONDS = 90
_FILES = 64
_LONGEST = 100_000
_REPLACED = "replace"
_EXTRAS = {"pdf": "documents", "page": "web"}


def main(given: str) -> None:
    """Answer each request line with the parsed content."""
    _limit()
    lock_in(read=own_places())
    for line in sys.stdin.buffer:
        kind, size = line.decode().split()
        _answer(kind, int(given), int(size))


def _answer(kind: str, given: int, size: int) -> None:
    try:
        read = _reader(kind)
        for said in read(_content(given, size)):
            _say_in_pieces(said)
        _say(ReaderLine(ended=True))
    except Unreadable as error:
        _say(ReaderLine(fault=str(error)))
    # The limit of memory applies to the whole process. After such an error it may be fragmented;
    # the parent ends it, because a fault counts as the end of the conversation.
    except (MemoryError, RecursionError):
        _say(ReaderLine(fault="it is nested too deep, or needs too much room"))
    except ImportError:
        way = install_line(_EXTRAS.get(kind, ""))
        _say(ReaderLine(fault=f"reading {kind} needs a package that is not installed: {way}"))
    except Exception as error:  # a reader meets files that nobody thought of
        _say(ReaderLine(fault=f"it cannot be read ({type(error).__name__})"))


def _content(given: int, size: int) -> bytes:
    """Read the whole file with `pread`: the file offset is shared with the parent process."""
    content = bytearray()
    while len(content) < size and (piece := os.pread(given, size - len(content), len(content))):
        content += piece
    return bytes(content)


def _reader(kind: str) -> Callable[[bytes], Iterator[ReaderLine]]:
    if kind == "pdf":
        from callblocks.toolkits.search.format_readers import read_pdf

        return read_pdf
    if kind == "docx":
        from callblocks.toolkits.search.format_readers import read_docx

        return read_docx
    if kind == "page":
        from callblocks.toolkits.search.format_readers import read_page

        return read_page
    from callblocks.toolkits.search.format_readers import read_html

    return read_html


def _limit() -> None:
    """Set resource limits for memory, CPU and files, where the system supports them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        # A file size limit of 0 makes every write to a regular file fail, also to inherited
        # descriptors.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _say_in_pieces(said: ReaderLine) -> None:
    """Write a long text as several lines, so that the parent can stop early."""
    for start in range(0, max(1, len(said.text)), _LONGEST):
        piece = said.text[start : start + _LONGEST]
        _say(msgspec.structs.replace(said, text=piece, of=said.of if start == 0 else 0))


def _say(said: ReaderLine) -> None:
    """Write one line; lone surrogates, which PDF text can contain, are replaced."""
    for name in ("title", "date", "text", "heading", "fault"):
        value = getattr(said, name)
        setattr(said, name, value.encode("utf-8", _REPLACED).decode())
    sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

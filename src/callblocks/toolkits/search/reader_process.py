"""Parsing of untrusted files in a child process.

The process has limited memory and time, cannot write files, and is killed when the call is
cancelled. It writes one line of JSON for each page or section.

    with Apart() as apart:
        apart.read("pdf", content, context).title

Protocol: the content goes through an inherited temporary file, a request line `kind size` through
standard input, answers come on standard output and end with `{"ended": true}`. After any fault the
process is killed and the next file gets a new one, so no state of a hostile file survives.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.workers.worker_process import Patience, Worker
from callblocks.toolkits.search.chunks import Kind, Part
from callblocks.tools.tool import Context

__all__ = ("MAX_TEXT", "SECONDS", "Apart", "ApartKind", "ReadApart", "ReaderLine", "read_apart")

# The parsers of the child: a kind of file, or a web page, of which the main text is returned.
ApartKind: TypeAlias = Kind | Literal["page"]

# Time limit for parsing one file.
SECONDS = 90.0

# Limit in bytes for the child's answer to one file.
MAX_TEXT = 32 * 1024 * 1024


class ReaderLine(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line of the answer: a title, a part of the text, a note on omitted text, a fault, or the
    end.
    """

    title: str = ""
    date: str = ""
    text: str = ""
    heading: str = ""
    page: int = 0
    of: int = 0
    left_out: str = ""
    fault: str = ""
    ended: bool = False


def read_apart(
    kind: ApartKind, content: bytes, context: Context, seconds: float = SECONDS
) -> tuple[str, list[Part]]:
    """Return the title and the parts of a file; `file_invalid` if it cannot be read."""
    with Apart() as apart:
        read = apart.read(kind, content, context, seconds)
    return read.title, read.parts


class ReadApart(msgspec.Struct, frozen=True):
    """The metadata of a file ("" if unknown) and its parts."""

    title: str
    date: str
    parts: list[Part]


class Apart:
    """A parser process that is reused for several files and replaced after a fault.

    Call `close` or use it in a `with`. A lock admits one thread at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._given = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as this

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def child(self) -> subprocess.Popen[bytes] | None:
        """The child process, while there is one."""
        return self._worker and self._worker.child

    def close(self) -> None:
        """End the child process."""
        with self._lock:
            self._end()
            self._given.close()

    def read(
        self,
        kind: ApartKind,
        content: bytes,
        context: Context,
        seconds: float = SECONDS,
        enough: int = MAX_TEXT,
    ) -> ReadApart:
        """Parse a file; `file_invalid` if it cannot be read.

        Reading stops once there are more than `enough` characters.
        """
        with self._lock:
            if context.cancelled:
                raise _nobody_waits()
            try:
                with closing(self._conversation(kind, content, context, seconds)) as conversation:
                    return _heard(conversation, context, enough)
            except OSError as error:
                why = f"no process can be started to read it: {error}"
                raise ToolError("file_error", why) from error
            except msgspec.MsgspecError as error:
                why = "reading it went astray; it may be made to"
                raise ToolError("file_invalid", why) from error

    def _conversation(
        self, kind: ApartKind, content: bytes, context: Context, seconds: float
    ) -> Generator[ReaderLine]:
        decode = msgspec.json.Decoder(ReaderLine).decode
        # One deadline for the whole file: a parser that emits a page each second for hours must end
        # too.
        patience = _patience(context, time.monotonic() + seconds)
        worker = self._worker = self._worker or self._start()
        ended = False
        try:
            self._give(worker, kind, content, patience)
            for line in _lines(worker, patience):
                said = decode(line)
                if said.fault:
                    raise ToolError("file_invalid", said.fault)
                if said.ended:
                    ended = True
                    return
                yield said
        # `finally` also runs when the consumer closes the generator early (enough text): the child
        # is then in the middle of an answer and cannot be reused.
        finally:
            if not ended:
                self._end()
        raise ToolError("file_invalid", _why(kind, worker.child.returncode))

    def _start(self) -> Worker:
        given = self._given.fileno()
        return Worker("callblocks.toolkits.search.reader_program", str(given), fds=(given,))

    def _give(self, worker: Worker, kind: str, content: bytes, patience: Patience) -> None:
        """Pass the content through a file: parsers seek in it, and a pipe could deadlock."""
        self._given.seek(0)
        self._given.truncate()
        self._given.write(content)
        self._given.flush()
        worker.write(f"{kind} {len(content)}\n".encode(), patience)

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


def _heard(conversation: Iterator[ReaderLine], context: Context, enough: int) -> ReadApart:
    title, date, parts, size = "", "", list[Part](), 0
    for said in conversation:
        title, date = title or said.title, date or said.date
        if said.of:
            context.report(f"page {said.page} of {said.of}\n")
        if said.left_out:
            context.notice("text_left_out", said.left_out)
        if said.text:
            parts.append(Part(text=said.text, heading=said.heading, page=said.page))
            size += len(said.text)
            if size > enough:
                break
    return ReadApart(title, date, parts)


def _lines(worker: Worker, patience: Patience) -> Iterator[bytes]:
    """Yield the lines as they arrive, until the process ends."""
    # Pieces of an incomplete line are joined once, at its end: a long line costs linear time.
    waiting, size = list[bytes](), 0
    while piece := worker.read(patience):
        size += len(piece)
        if size > MAX_TEXT:
            raise ToolError("file_too_large", f"its text has more than {MAX_TEXT >> 20} MiB")
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield b"".join((*waiting, end))
            waiting.clear()
        waiting.append(rest)


def _patience(context: Context, latest: float) -> Patience:
    def patience() -> None:
        if context.cancelled:
            raise _nobody_waits()
        if time.monotonic() > latest:
            raise ToolError("file_invalid", "it takes too long to read; it may be made to")

    return patience


def _nobody_waits() -> ToolError:
    return ToolError("cancelled", "nobody waits for it any more")


def _why(kind: ApartKind, status: int | None) -> str:
    """Explain why the child ended without an answer: out of memory, out of time, or a crash."""
    how = f"signal {-status}" if status is not None and status < 0 else f"exit code {status}"
    return f"reading it as {kind} broke off ({how}); it is damaged, or needs too much room"

"""A file of others, read in a process of its own: what it does there harms nothing here.

The process has little memory and time, writes nothing, and is killed when nobody waits any more.
It says one line of JSON for each page or section, as it finds them.

    with Apart() as apart:
        apart.read("pdf", content, context).title
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.errors import ToolError
from callblocks.toolkits.finding.chunks import Part
from callblocks.toolkits.finding.kinds import Kind
from callblocks.tools.context import Context

__all__ = ("MAX_TEXT", "SECONDS", "Apart", "ApartKind", "ReadApart", "Said", "read_apart")

ApartKind: TypeAlias = Kind | Literal["page"]
"""What a process reads: a kind of file, or a page of the web, of which it gives the main text."""

SECONDS = 90.0
"""How long reading one file may take."""

MAX_TEXT = 32 * 1024 * 1024
"""Bytes that the process may say of one file."""

_GLANCE = 0.1
# What Python needs to start; no key that lies in the environment is told to a reader.
_TOLD = re.compile(r"PYTHON\w*|PATH|LANG|LC_\w+|TZ|HOME|TMPDIR")


class Said(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line: a title, a part of the text, that there was more, a fault, or the end."""

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
    """The title and the parts of a file; `file_invalid` where it cannot be read."""
    with Apart() as apart:
        read = apart.read(kind, content, context, seconds)
    return read.title, read.parts


class ReadApart(msgspec.Struct, frozen=True):
    """What a file says of itself ("" for nothing), and its parts."""

    title: str
    date: str
    parts: list[Part]


class Apart:
    """Reads one file after another in one process; after a fault, in a new one.

    `close` it, or use it in a `with`. One thread at a time is let in. `child` is the process, while
    there is one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.child: subprocess.Popen[bytes] | None = None
        self._given = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as this

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
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
        """What a file says; `file_invalid` where it cannot be read.

        No more is read once there are more than `enough` characters.
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
    ) -> Generator[Said]:
        decode = msgspec.json.Decoder(Said).decode
        child = self.child = self.child or _start(self._given.fileno())
        ended = False
        try:
            self._give(child, kind, content)
            for line in _lines(child, context, time.monotonic() + seconds):
                said = decode(line)
                if said.fault:
                    raise ToolError("file_invalid", said.fault)
                if said.ended:
                    ended = True
                    return
                yield said
        finally:
            if not ended:
                self._end()
        raise ToolError("file_invalid", _why(kind, child.returncode))

    def _give(self, child: subprocess.Popen[bytes], kind: str, content: bytes) -> None:
        """The content goes by a file: a process that does not read cannot stop us writing."""
        self._given.seek(0)
        self._given.truncate()
        self._given.write(content)
        self._given.flush()
        assert child.stdin is not None
        # It may be dead already; what it says, or does not say, tells why.
        with suppress(BrokenPipeError):
            child.stdin.write(f"{kind} {len(content)}\n".encode())
            child.stdin.flush()

    def _end(self) -> None:
        child, self.child = self.child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _heard(conversation: Iterator[Said], context: Context, enough: int) -> ReadApart:
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


def _start(given: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "callblocks.toolkits.finding.child", str(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(given,),
        env={name: value for name, value in os.environ.items() if _TOLD.fullmatch(name)},
        cwd="/",
        start_new_session=True,
    )


def _lines(child: subprocess.Popen[bytes], context: Context, latest: float) -> Iterator[bytes]:
    """The lines as they come, until the process ends, or its time or ours is over."""
    assert child.stdout is not None
    source, waiting, size = child.stdout.fileno(), list[bytes](), 0
    while piece := _read(source, context, latest):
        size += len(piece)
        if size > MAX_TEXT:
            raise ToolError("file_too_large", f"its text has more than {MAX_TEXT >> 20} MiB")
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield b"".join((*waiting, end))
            waiting.clear()
        waiting.append(rest)


def _read(source: int, context: Context, latest: float) -> bytes:
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while not selector.select(_GLANCE):
            if context.cancelled:
                raise _nobody_waits()
            if time.monotonic() > latest:
                raise ToolError("file_invalid", "it takes too long to read; it may be made to")
    return os.read(source, 1 << 20)


def _nobody_waits() -> ToolError:
    return ToolError("cancelled", "nobody waits for it any more")


def _why(kind: ApartKind, status: int | None) -> str:
    """Why a process said nothing at the end: it was out of memory or time, or broke."""
    how = f"signal {-status}" if status is not None and status < 0 else f"exit code {status}"
    return f"reading it as {kind} broke off ({how}); it is damaged, or needs too much room"

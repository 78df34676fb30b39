"""A file of others, read in a process of its own: what it does there harms nothing here.

The process has little memory and time, writes nothing, and is killed when nobody waits any more.
It says one line of JSON for each page or section, as it finds them.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import msgspec

from callblocks.model.errors import ToolError
from callblocks.toolkits.finding.chunks import Part
from callblocks.toolkits.finding.kinds import Kind
from callblocks.tools.context import Context

__all__ = ("MAX_TEXT", "SECONDS", "Said", "read_apart")

SECONDS = 90.0
"""How long reading one file may take."""

MAX_TEXT = 32 * 1024 * 1024
"""Bytes that the process may say of one file."""

_GLANCE = 0.1


class Said(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One line: a title, a part of the text, that there was more, a fault, or the end."""

    title: str = ""
    text: str = ""
    heading: str = ""
    page: int = 0
    of: int = 0
    left_out: str = ""
    fault: str = ""
    ended: bool = False


def read_apart(
    kind: Kind, content: bytes, context: Context, seconds: float = SECONDS
) -> tuple[str, list[Part]]:
    """The title and the parts of a file; `file_invalid` where it cannot be read."""
    try:
        return _heard(_conversation(kind, content, context, seconds), context)
    except OSError as error:
        raise ToolError("file_error", f"no process can be started to read it: {error}") from error
    except msgspec.MsgspecError as error:
        raise ToolError("file_invalid", "reading it went astray; it may be made to") from error


def _heard(conversation: Iterator[Said], context: Context) -> tuple[str, list[Part]]:
    title, parts = "", list[Part]()
    for said in conversation:
        title = title or said.title
        if said.of:
            context.report(f"page {said.page} of {said.of}\n")
        if said.left_out:
            context.notice("text_left_out", said.left_out)
        if said.text:
            parts.append(Part(text=said.text, heading=said.heading, page=said.page))
    return title, parts


def _conversation(kind: Kind, content: bytes, context: Context, seconds: float) -> Iterator[Said]:
    decode = msgspec.json.Decoder(Said).decode
    with tempfile.TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        child = _start(kind, given.fileno())
        try:
            for line in _lines(child, context, time.monotonic() + seconds):
                said = decode(line)
                if said.fault:
                    raise ToolError("file_invalid", said.fault)
                if said.ended:
                    return
                yield said
        finally:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
    raise ToolError("file_invalid", _why(kind, child.returncode))


def _start(kind: Kind, given: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "callblocks.toolkits.finding.child", kind],
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
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
                raise ToolError("cancelled", "nobody waits for it any more")
            if time.monotonic() > latest:
                raise ToolError("file_invalid", "it takes too long to read; it may be made to")
    return os.read(source, 1 << 20)


def _why(kind: Kind, status: int | None) -> str:
    """Why a process said nothing at the end: it was out of memory or time, or broke."""
    how = f"signal {-status}" if status is not None and status < 0 else f"exit code {status}"
    return f"reading it as {kind} broke off ({how}); it is damaged, or needs too much room"

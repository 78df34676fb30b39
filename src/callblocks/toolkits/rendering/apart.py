"""A document, made in a process of its own: what it does there harms nothing here.

The process has little memory and time, and is killed when nobody waits any more. It asks for the
files that the document shows one by one; who gives them is `files`.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import msgspec

from callblocks.model.errors import ToolError
from callblocks.toolkits.rendering.wire import (
    LONGEST,
    Failed,
    Given,
    Heard,
    Job,
    Made,
    Said,
    Told,
    Wanted,
    frame,
)
from callblocks.tools.context import Context

__all__ = ("SECONDS", "render_apart")

SECONDS = 90.0
"""How long one document may take."""

_GLANCE = 0.1


def render_apart(
    job: Job, files: Callable[[str], bytes | None], context: Context, seconds: float = SECONDS
) -> Made:
    """Make a document; a `ToolError` says why there is none."""
    with tempfile.TemporaryDirectory(prefix="callblocks-") as folder:
        return _rendered(_start(folder), job, files, context, time.monotonic() + seconds)


def _rendered(
    child: subprocess.Popen[bytes],
    job: Job,
    files: Callable[[str], bytes | None],
    context: Context,
    latest: float,
) -> Made:
    try:
        _send(child, job)
        for heard in _heard(child, context, latest):
            match heard:
                case Said():
                    context.report(heard.text)
                case Told():
                    context.notice(heard.code, heard.message, **heard.details)
                case Wanted():
                    _send(child, Given(files(heard.name)))
                case Made():
                    return heard
                case Failed():
                    raise ToolError(heard.code, heard.message)
    except msgspec.MsgspecError as error:
        raise ToolError("render_failed", "it went astray; write it more plainly") from error
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
    raise ToolError("render_failed", _why(child.returncode))


def _start(folder: str) -> subprocess.Popen[bytes]:
    """The process; what its libraries must put aside is in a folder that goes with it."""
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "callblocks.toolkits.rendering.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=folder,
            env={**os.environ, "TMPDIR": folder},
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError("render_failed", f"no process can be started for it: {error}") from error


def _send(child: subprocess.Popen[bytes], value: Job | Given) -> None:
    """Say something; a process that has ended is heard of when it is listened to."""
    assert child.stdin is not None
    rest = memoryview(frame(value))
    try:
        while rest:
            rest = rest[os.write(child.stdin.fileno(), rest) :]
    except BrokenPipeError:
        pass


def _heard(child: subprocess.Popen[bytes], context: Context, latest: float) -> Iterator[Heard]:
    """What the process says, until it ends, or its time or ours is over."""
    decode = msgspec.msgpack.Decoder(Heard).decode
    while head := _read(child, 4, context, latest):
        size = int.from_bytes(head, "big")
        if size > LONGEST:
            raise ToolError("document_too_large", f"it has more than {LONGEST >> 20} MiB")
        yield decode(_read(child, size, context, latest))


def _read(child: subprocess.Popen[bytes], size: int, context: Context, latest: float) -> bytes:
    """So many bytes; none where the process ended before."""
    assert child.stdout is not None
    source, whole = child.stdout.fileno(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while len(whole) < size:
            while not selector.select(_GLANCE):
                _check(context, latest)
            _check(context, latest)
            piece = os.read(source, min(size - len(whole), 1 << 20))
            if not piece:
                return b""
            whole += piece
    return bytes(whole)


def _check(context: Context, latest: float) -> None:
    if context.cancelled:
        raise ToolError("cancelled", "nobody waits for it any more")
    if time.monotonic() > latest:
        raise ToolError("render_timeout", "it takes too long; give less at once, or plainer")


def _why(status: int | None) -> str:
    """Why a process said nothing at the end: it was out of memory or time, or broke."""
    how = f"signal {-status}" if status is not None and status < 0 else f"exit code {status}"
    return f"it broke off ({how}): it is too large, or made to break; give less at once"

"""Rendering of a document in a child process.

The process has limited memory and time, and is killed when the call is cancelled. It requests the
files that the document shows one by one; the callback `files` provides them after policy checks. So
the child needs no access to the file system, and a path in a document cannot read a file that the
call may not read.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.model.outcomes import Notice
from callblocks.runtime.worker import Patience, Worker
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

__all__ = ("LARGEST", "SECONDS", "patience_of", "render_apart")

# Time limit for one document in seconds.
SECONDS = 90.0

# Size limit in bytes for a file that a document shows.
LARGEST = 64 * 1024 * 1024


def render_apart(
    job: Job, files: Callable[[str], bytes | None], context: Context, seconds: float = SECONDS
) -> Made:
    """Render a document; raise `ToolError` with the reason if that fails."""
    patience = patience_of(context, seconds)
    # Temporary files of the libraries are in a folder that is deleted afterwards.
    with tempfile.TemporaryDirectory(prefix="callblocks-") as folder:
        try:
            worker = Worker("callblocks.toolkits.rendering.child", cwd=folder, TMPDIR=folder)
        except OSError as error:
            why = f"no process can be started for it: {error}"
            raise ToolError("render_failed", why) from error
        made = None
        try:
            made = _rendered(worker, job, files, context, patience)
        except msgspec.MsgspecError as error:
            raise ToolError("render_failed", "it went astray; write it more plainly") from error
        finally:
            # Always: an abandoned process would keep its memory until its CPU limit.
            status = worker.end()
    if made is None:
        raise ToolError("render_failed", _why(status))
    return made


def _rendered(
    worker: Worker,
    job: Job,
    files: Callable[[str], bytes | None],
    context: Context,
    patience: Patience,
) -> Made | None:
    """Return the document; `None` if the process ends without an answer."""
    worker.write(frame(job), patience)
    for heard in _heard(worker, patience):
        match heard:
            case Said():
                context.report(heard.text)
            case Told():
                context.notices.append(
                    Notice(code=heard.code, message=heard.message, details=heard.details)
                )
            case Wanted():
                worker.write(frame(_given(heard.name, files, context)), patience)
            case Made():
                return heard
            case Failed():
                raise ToolError(heard.code, heard.message)
    return None


def _given(name: str, files: Callable[[str], bytes | None], context: Context) -> Given:
    content = files(name)
    if content is not None and len(content) > LARGEST:
        words = f"{brief(name)} has more than {LARGEST >> 20} MiB; make it smaller"
        context.notice("image_left_out", words)
        content = None
    return Given(content)


def _heard(worker: Worker, patience: Patience) -> Iterator[Heard]:
    """Yield the messages of the process until it ends."""
    decode = msgspec.msgpack.Decoder(Heard).decode
    while head := _read(worker, 4, patience):
        size = int.from_bytes(head, "big")
        if size > LONGEST:
            raise ToolError("document_too_large", f"it has more than {LONGEST >> 20} MiB")
        yield decode(_read(worker, size, patience))


def _read(worker: Worker, size: int, patience: Patience) -> bytes:
    """Read exactly `size` bytes; none if the process ended before."""
    whole = bytearray()
    while len(whole) < size:
        piece = worker.read(patience, size - len(whole))
        if not piece:
            return b""
        whole += piece
    return bytes(whole)


def patience_of(context: Context, seconds: float) -> Patience:
    """Return a check that raises after a time limit or once the call is cancelled."""
    latest = time.monotonic() + seconds

    def patience() -> None:
        if context.cancelled:
            raise ToolError("cancelled", "nobody waits for it any more")
        if time.monotonic() > latest:
            raise ToolError("render_timeout", "it takes too long; give less at once, or plainer")

    return patience


def _why(status: int) -> str:
    """Explain why the child ended without an answer: out of memory, out of time, or a crash."""
    how = f"signal {-status}" if status < 0 else f"exit code {status}"
    return f"it broke off ({how}): it is too large, or made to break; give less at once"

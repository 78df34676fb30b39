"""The process that renders: `python -m callblocks.toolkits.documents.render_program`.

It has limited memory and time, opens no connection, starts no process, and writes only to its own
temporary folder. It can read only its packages, system libraries and fonts. Where the kernel
supports it, Landlock and a seccomp filter enforce that; elsewhere a Python audit hook does.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

import msgspec

from callblocks.guard.sandbox.landlock import lock_in, own_places
from callblocks.toolkits.documents.render_protocol import (
    Failed,
    Kind,
    Made,
    Outside,
    RenderJob,
    Unrenderable,
    conversation,
    frame,
    receive,
)

__all__ = ("main",)

_MEMORY = 2 * 1024 * 1024 * 1024
_CPU_SECONDS = 120
_FILES = 128
_FILE = 256 * 1024 * 1024
# Audit events of sockets and processes. The hook is the fallback of the kernel's filter: code that
# runs in C does not raise audit events.
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "pty.")
_FONTS = ("/etc/fonts", "/var/cache/fontconfig")
_FONTS_OF_HOME = (".fonts", ".local/share/fonts", ".config/fontconfig", ".cache/fontconfig")
_PANGO = (
    "a library is missing that lays out text; on Debian and Ubuntu: "
    "sudo apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
)


def main() -> None:
    """Render the one document that standard input requests."""
    # The parent's pid is read before the lock: `lock_in` lets the child die with its parent.
    parent = os.getppid()
    source, sink = _pipes()
    _limit()
    lock_in(read=_readable(), write=[tempfile.gettempdir()], parent=parent)
    sys.addaudithook(_refuse)
    job = msgspec.msgpack.decode(receive(source), type=RenderJob)
    sink.write(frame(make(job, conversation(source, sink))))
    sink.flush()


def make(job: RenderJob, outside: Outside) -> Made | Failed:
    """Return the document, or the reason why there is none."""
    try:
        return _writer(job.kind)(job, outside)
    except Exception as error:  # a library meets documents that nobody thought of
        return _failed(error)


def _failed(error: Exception) -> Failed:
    match error:
        case Unrenderable():
            return Failed(error.code, error.message)
        case MemoryError():
            return Failed("document_too_large", "it needs too much room; give it in parts")
        case RecursionError():
            return Failed("document_invalid", "it is nested too deep; make it flatter")
        case ImportError():
            return Failed("renderer_missing", f"a package is not installed here: {error.name}")
        case OSError() if "cannot load library" in str(error):
            return Failed("renderer_missing", _PANGO)
        case _:
            words = f"it broke off ({type(error).__name__}); write it more plainly"
            return Failed("render_failed", words)


def _writer(kind: Kind) -> Callable[[RenderJob, Outside], Made]:
    match kind:
        case "pdf":
            from callblocks.toolkits.documents.pdf import write_pdf

            return write_pdf
        case "png":
            from callblocks.toolkits.documents.pdf import write_png

            return write_png
        case "docx":
            from callblocks.toolkits.documents.docx import write_docx

            return write_docx
        case "pptx":
            from callblocks.toolkits.documents.pptx import write_pptx

            return write_pptx
        case "xlsx":
            from callblocks.toolkits.documents.xlsx import write_xlsx

            return write_xlsx


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return duplicates of stdin and stdout; prints of libraries go to /dev/null."""
    # The protocol runs on stdout. A library that prints a warning there would break a frame.
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return source, sink


def _readable() -> list[str]:
    """Return the readable folders: programs, libraries and fonts, but no personal files or keys."""
    of_home = (os.path.expanduser(f"~/{name}") for name in _FONTS_OF_HOME)
    return [*own_places(), *_FONTS, *of_home]


def _limit() -> None:
    """Set resource limits for memory, CPU and files, where the system supports them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    """Raise on audit events of sockets and processes: no writer needs them."""
    if event.startswith(_REFUSED):
        raise PermissionError(f"{event} is not for a process that renders")


if __name__ == "__main__":
    main()

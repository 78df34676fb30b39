"""The program of a process that does the processor work of requests, and the work it knows.

The process reads a frame with pickled work, answers with a frame, and ends when its input does. It
imports little, because the first request waits for its start. `cpu_work` has the server's side.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias

import msgspec

from callblocks.core.blocks import Entry
from callblocks.server.http.faults import encode_json
from callblocks.views.chat.timeline_chat import shown
from callblocks.views.html.timeline_page import CarriedFile, timeline_html
from callblocks.views.text.parsed_text import parse_text
from callblocks.views.text.rewrite import rewrite

__all__ = (
    "ConvertWork",
    "Converted",
    "PageWork",
    "ParseWork",
    "Work",
    "framed",
    "receive_frame",
)

_MEMORY = 2 * 1024 * 1024 * 1024
_DIE_WITH_PARENT = 1
_NICE = 10
"""A tenth of the processor time that a task of the server gets, where both want it."""


class ParseWork(msgspec.Struct, frozen=True, tag="parse"):
    """Read a text in a dialect, by tools that are declared in any shape."""

    text: str
    dialect: str
    model: str = ""
    tools: list[Any] = []
    in_code_fences: bool | None = None


class ConvertWork(msgspec.Struct, frozen=True, tag="convert"):
    """Write a text in another dialect."""

    text: str
    dialect: str
    into: str
    model: str = ""
    tools: list[Any] = []


class PageWork(msgspec.Struct, frozen=True, tag="page"):
    """Make a page of HTML of a timeline."""

    title: str
    entries: list[Entry]
    count: int
    files: list[CarriedFile] = []


Work: TypeAlias = ParseWork | ConvertWork | PageWork


class Converted(msgspec.Struct, frozen=True):
    """The text in the other dialect, what is left out of it, and what stands in it as it was.

    `needs` are the tools that a reader of the text must know.
    """

    text: str
    left_out: tuple[str, ...]
    kept_as_text: tuple[str, ...]
    needs: tuple[str, ...]


def framed(content: bytes) -> bytes:
    """Return a frame: the length in eight bytes, and the content."""
    return len(content).to_bytes(8, "big") + content


def receive_frame(read: Callable[[int], bytes]) -> bytes | None:
    """Return one frame; `None` where the other end is gone."""
    head = _whole(read, 8)
    return None if head is None else _whole(read, int.from_bytes(head, "big"))


def _whole(read: Callable[[int], bytes], size: int) -> bytes | None:
    pieces, missing = list[bytes](), size
    while missing:
        piece = read(missing)
        if not piece:
            return None
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _perform(work: Work) -> bytes:
    match work:
        case ParseWork(text=text, dialect=dialect, model=model, tools=tools):
            fences = work.in_code_fences
            parsed = parse_text(text, dialect, model=model, tools=tools, in_code_fences=fences)
            return encode_json(parsed)
        case ConvertWork(text=text, dialect=dialect, into=into, model=model, tools=tools):
            done = rewrite(text, dialect, into, model=model, tools=tools)
            return encode_json(Converted(done.text, done.left_out, done.kept_as_text, done.needs))
        case PageWork(title=title, entries=entries, count=count, files=files):
            pieces = timeline_html(title, shown(entries, thoughts=True), count, files)
            return "".join(pieces).encode(errors="replace")


def _limit() -> None:
    """Limit the memory, and end with the server, also in the middle of work."""
    import ctypes

    parent = os.getppid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prctl: Any = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit()


def _step_back() -> None:
    """Let tasks of the server run first; called after all imports, which a request waits for.

    Not by the policy for idle tasks: on a machine that others keep busy the work would never end.
    """
    set_policy: Any = getattr(os, "sched_setscheduler", None)
    if set_policy is not None:
        set_policy(0, os.SCHED_BATCH, os.sched_param(0))
        os.nice(_NICE)


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Do one piece of work after the other, until the input ends."""
    while (given := receive_frame(source.read)) is not None:
        # Frames come from our own server. Not JSON: a text may hold lone surrogates.
        work: Work = pickle.loads(given)
        sink.write(framed(_perform(work)))
        sink.flush()


if __name__ == "__main__":
    # Pickled work names its classes by the name of this module.
    sys.modules["callblocks.server.cpu_program"] = sys.modules["__main__"]
    _limit()
    _step_back()
    main(sys.stdin.buffer, sys.stdout.buffer)

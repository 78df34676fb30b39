"""The program of a process that does the processor work of requests, and the work it knows.

The process reads a frame with pickled work, answers with a frame, and ends when its input does. It
imports little, because the first request waits for its start. `cpu_work` has the server's side.

Offsets count characters. `at` is how many characters had arrived when an event was first known.
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
from callblocks.core.calls import Span
from callblocks.core.events import CallReady, Malformed, Problem
from callblocks.core.outcomes import FAILURES
from callblocks.parser import AUTO
from callblocks.server.http.faults import encode_json
from callblocks.views.chat.timeline_chat import shown
from callblocks.views.html.timeline_page import CarriedFile, timeline_html
from callblocks.views.text.rewrite import Arrival, arrivals, guess, rewrite, step_of

__all__ = (
    "ConvertWork",
    "Converted",
    "PageWork",
    "ParseWork",
    "ParsedText",
    "ShownProblem",
    "Work",
    "framed",
    "receive_frame",
)

_MEMORY = 2 * 1024 * 1024 * 1024
_DIE_WITH_PARENT = 1
_NICE = 10
"""A tenth of the processor time that a task of the server gets, where both want it."""
_UNENDED = "unended_call"
_MOST = 20_000
"""Events that are listed; the rest are counted."""


class ParseWork(msgspec.Struct, frozen=True, tag="parse"):
    """Read a text in a dialect."""

    text: str
    dialect: str


class ConvertWork(msgspec.Struct, frozen=True, tag="convert"):
    """Write a text in another dialect."""

    text: str
    dialect: str
    into: str


class PageWork(msgspec.Struct, frozen=True, tag="page"):
    """Make a page of HTML of a timeline."""

    title: str
    entries: list[Entry]
    count: int
    files: list[CarriedFile] = []


Work: TypeAlias = ParseWork | ConvertWork | PageWork


class ShownProblem(msgspec.Struct, frozen=True):
    """A problem of a text: its span, and the offset `at` at which it was reported."""

    code: str
    detail: str
    span: Span
    at: int


class ParsedText(msgspec.Struct, frozen=True):
    """The result of parsing a text. `dialect` is the one that was found, "" if there is none.

    Each event has its `type`, its `span` and `at`. `step` is how many characters arrived at once,
    and `more` how many events are not listed.
    """

    dialect: str
    why: str
    length: int
    step: int
    events: list[dict[str, Any]]
    problems: list[ShownProblem]
    calls: int
    more: int = 0


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
        case ParseWork(text=text, dialect=dialect):
            return encode_json(_parsed(text, dialect))
        case ConvertWork(text=text, dialect=dialect, into=into):
            return encode_json(_converted(text, dialect, into))
        case PageWork(title=title, entries=entries, count=count, files=files):
            pieces = timeline_html(title, shown(entries, thoughts=True), count, files)
            return "".join(pieces).encode(errors="replace")


def _converted(text: str, dialect: str, into: str) -> Converted:
    """Return a text in another dialect."""
    done = rewrite(text, dialect, into)
    return Converted(done.text, done.left_out, done.kept_as_text, done.needs)


def _parsed(text: str, dialect: str) -> ParsedText:
    """Return what a text holds."""
    known = arrivals(text, dialect)
    name, why = dialect, "it was chosen."
    if name == AUTO:
        name, why = guess(text, (one.event for one in known))
    return ParsedText(
        dialect=name,
        why=why,
        length=len(text),
        step=step_of(text),
        events=[_as_json(one) for one in known[:_MOST]],
        problems=[problem for one in known[:_MOST] if (problem := _problem(one, text))],
        calls=sum(isinstance(one.event, CallReady) for one in known),
        more=max(0, len(known) - _MOST),
    )


def _as_json(arrival: Arrival) -> dict[str, Any]:
    return {**msgspec.to_builtins(arrival.event), "at": arrival.at}


def _problem(arrival: Arrival, text: str) -> ShownProblem | None:
    match arrival.event:
        case Malformed(code=code, detail=detail, span=span):
            return ShownProblem(code, detail, span, arrival.at)
        case Problem(code=code, detail=detail, place=place):
            return ShownProblem(code, detail, place, arrival.at)
        case CallReady(call=call) if not call.ended:
            place = _last_line(text, call.span)
            return ShownProblem(_UNENDED, FAILURES[_UNENDED], place, arrival.at)
        case _:
            return None


def _last_line(text: str, span: Span) -> Span:
    """Return the last line of a call that did not end: all of it would hide the other problems."""
    start, end = span
    solid = start + len(text[start:end].rstrip())
    return max(start, text.rfind("\n", 0, solid) + 1), end


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

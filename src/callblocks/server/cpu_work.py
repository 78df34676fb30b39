"""Work that takes the processor, done in processes beside the server.

    await cpu.do(client, ParseBody(text))

A loop of Python in a thread keeps the event loop waiting for the interpreter; in a process it does
not. A few processes serve all clients in turn (see `Budget`). One request has `seconds`, then its
process is killed and the request ends with `too_much_work`. A process that died is started anew.

This module is also the program of such a process: it reads a frame, answers with one, and ends when
its input does.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, TypeAlias

import msgspec

from callblocks.model.blocks import Entry
from callblocks.runtime.budgets import Budget, BudgetFull
from callblocks.runtime.worker import Worker
from callblocks.server.faults import ApiFault, encode_json

__all__ = ("ConvertWork", "CpuWork", "PageWork", "ParseWork", "Work")

_MEMORY = 2 * 1024 * 1024 * 1024
_DIE_WITH_PARENT = 1
_NICE = 10
"""Turns that run come before texts that somebody wants to look at."""
_RETRY = {"retry-after": "5"}


class ParseWork(msgspec.Struct, frozen=True, tag="parse"):
    """Read a text in a dialect; see `playground.parsed`."""

    text: str
    dialect: str


class ConvertWork(msgspec.Struct, frozen=True, tag="convert"):
    """Write a text in another dialect; see `playground.converted`."""

    text: str
    dialect: str
    into: str


class PageWork(msgspec.Struct, frozen=True, tag="page"):
    """Make a page of HTML of a timeline; see `timeline_pages.page_of`."""

    title: str
    entries: list[Entry]
    count: int


Work: TypeAlias = ParseWork | ConvertWork | PageWork


class CpuWork:
    """The processes of one server; `close` ends them.

    `share` is how much of it one client gets at once, and `waiting` how many of one client wait.
    """

    def __init__(self, processes: int, seconds: float, *, share: int = 1, waiting: int = 8) -> None:
        self._budget = Budget(processes, share, waiting=waiting * 8, waiting_share=waiting)
        self._threads = ThreadPoolExecutor(processes, "callblocks-cpu")
        self._idle: list[Worker] = []
        self._seconds = seconds
        self._is_closed = False

    async def do(self, client: str, work: Work) -> bytes:
        """Return what comes of some work; `too_busy` or `too_much_work` where nothing does."""
        try:
            async with self._budget.place(client):
                if self._is_closed:
                    raise ApiFault("shutting_down", headers=_RETRY)
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, self._done, work)
        except BudgetFull as error:
            if error.is_own:
                words = "this client asks for more than it gets at once; wait, and ask again"
                raise ApiFault("too_many_requests", words, _RETRY) from error
            raise ApiFault("too_busy", headers=_RETRY) from error

    def close(self) -> None:
        """End the processes."""
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def _done(self, work: Work) -> bytes:
        """Do some work in a process; in a thread, which waits for it."""
        worker = self._idle.pop() if self._idle else Worker("callblocks.server.cpu_work")
        latest = time.monotonic() + self._seconds

        def patience() -> None:
            if time.monotonic() > latest or self._is_closed:
                raise TimeoutError

        content = None
        try:
            worker.write(_framed(pickle.dumps(work)), patience)
            content = _received(lambda size: worker.read(patience, size))
        except TimeoutError as error:
            words = f"it takes more than {self._seconds:g} seconds; give less at once"
            raise ApiFault("too_much_work", words) from error
        finally:
            if content is None:
                worker.end()
        if content is None:
            raise ApiFault("too_much_work", "it needs too much room; give less at once")
        self._idle.append(worker)
        if self._is_closed:
            self.close()
        return content


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(8, "big") + content


def _received(read: Callable[[int], bytes]) -> bytes | None:
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
            from callblocks.server.playground import parsed

            return encode_json(parsed(text, dialect))
        case ConvertWork(text=text, dialect=dialect, into=into):
            from callblocks.server.playground import converted

            return encode_json(converted(text, dialect, into))
        case PageWork(title=title, entries=entries, count=count):
            from callblocks.server.timeline_pages import page_of

            return page_of(title, entries, count)


def _limit() -> None:
    """Have little memory, step back for the server, and end with it, also in the middle of work."""
    import ctypes

    os.nice(_NICE)
    parent = os.getppid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prctl: Any = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit()


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Do what is asked, one piece of work after the other."""
    while (given := _received(source.read)) is not None:
        # It comes from the server; a text may hold halves of characters, which no JSON has.
        work: Work = pickle.loads(given)
        sink.write(_framed(_perform(work)))
        sink.flush()


if __name__ == "__main__":
    # Work is of the classes of the module, which is this program.
    sys.modules["callblocks.server.cpu_work"] = sys.modules["__main__"]
    _limit()
    main(sys.stdin.buffer, sys.stdout.buffer)

"""Processor work of requests, done in processes beside the server.

    await cpu.do(client, ParseWork(text, dialect))

A loop of Python in a thread keeps the event loop waiting for the interpreter; in a process it does
not. A few processes serve all clients in turn (see `Budget`). One request has `seconds`, then its
process is killed and the request ends with `too_much_work`. A process that died is replaced. A
request that is cancelled, because its client went away, kills its process and gives its place back.

A process starts with normal priority and then works with a lower one (`SCHED_BATCH`, `nice` 10), so
that the server runs first whenever it wakes up. The process stays in the session of the
server, because Linux groups tasks by session (autogroups) and priorities count within a group only.
See docs/decisions/062-processor-work.md.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from callblocks.guard.workers.budgets import Budget, BudgetFull
from callblocks.guard.workers.worker import Patience, Worker
from callblocks.server.cpu_program import Work, framed, receive_frame
from callblocks.server.http.faults import ApiFault

__all__ = ("CpuWork",)

_RETRY = {"retry-after": "5"}


class CpuWork:
    """The processes of one server; `close` ends them.

    One client has `share` of them at a time, and `waiting` requests that wait for one.
    """

    def __init__(self, processes: int, seconds: float, *, share: int = 1, waiting: int = 8) -> None:
        self._budget = Budget(processes, share, waiting=waiting * 8, waiting_share=waiting)
        self._threads = ThreadPoolExecutor(processes, "callblocks-cpu")
        self._seconds = seconds
        # The event loop and the threads share what follows.
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._is_closed = False

    async def do(self, client: str, work: Work) -> bytes:
        """Return the result of some work; `too_busy` or `too_much_work` where there is none."""
        try:
            async with self._budget.place(client):
                if self._is_closed:
                    raise _shutting_down()
                return await self._in_thread(work)
        except BudgetFull as error:
            if error.is_own:
                words = "this client asks for more than it gets at once; wait, and ask again"
                raise ApiFault("too_many_requests", words, _RETRY) from error
            raise ApiFault("too_busy", headers=_RETRY) from error

    def close(self) -> None:
        """End the processes; work that is under way ends with `shutting_down`."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()
        self._threads.shutdown(wait=False)

    async def _in_thread(self, work: Work) -> bytes:
        """Let a thread wait for a process; a cancelled caller keeps its place until both ended."""
        is_cancelled = threading.Event()
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._threads, self._perform_apart, work, is_cancelled)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            is_cancelled.set()
            await asyncio.wait((done,))
            # Nobody wants it any more; an exception that nobody looks at would be logged.
            done.exception()
            raise

    def _perform_apart(self, work: Work, is_cancelled: threading.Event) -> bytes:
        """Do some work in a process, and wait for it; called in a thread."""
        latest = time.monotonic() + self._seconds

        def patience() -> None:
            if time.monotonic() > latest or self._is_closed or is_cancelled.is_set():
                raise TimeoutError

        frame = framed(pickle.dumps(work))
        try:
            idle = self._take_idle()
            content = None if idle is None else self._exchange(idle, frame, patience)
            if content is None:
                # An idle process may die before the work reaches it, and nobody knows which of the
                # two came first. So a death counts against the work only in a process of its own.
                content = self._exchange(_started(), frame, patience)
        except TimeoutError as error:
            if self._is_closed:
                raise _shutting_down() from error
            words = f"it takes more than {self._seconds:g} seconds; give less at once"
            raise ApiFault("too_much_work", words) from error
        if content is None:
            raise ApiFault("too_much_work", "it needs too much room; give less at once")
        return content

    def _exchange(self, worker: Worker, frame: bytes, patience: Patience) -> bytes | None:
        """Return the answer of a process; `None` where it died."""
        content = None
        try:
            worker.write(frame, patience)
            content = receive_frame(lambda size: worker.read(patience, size))
        finally:
            self._give_back(worker, is_usable=content is not None)
        return content

    def _take_idle(self) -> Worker | None:
        """Return a process that waits for work; those that were killed meanwhile are dropped."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None or worker.child.poll() is None:
                return worker
            worker.end()

    def _give_back(self, worker: Worker, *, is_usable: bool) -> None:
        with self._lock:
            if is_usable and not self._is_closed:
                self._idle.append(worker)
                return
        worker.end()


def _started() -> Worker:
    try:
        return Worker("callblocks.server.cpu_program")
    except OSError as error:
        raise ApiFault("too_busy", headers=_RETRY) from error


def _shutting_down() -> ApiFault:
    return ApiFault("shutting_down", headers=_RETRY)

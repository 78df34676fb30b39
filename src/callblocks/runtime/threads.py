"""A function that blocks, run beside the event loop, and ended when nobody waits for it.

A run has a thread to itself that does not keep the program alive: a function stuck for good in
foreign code cannot hold up another call, nor the exit. Python code is ended at its next
instruction; foreign code only when it comes back. A tool that must end at once is declared
`isolated`. A thread whose function came back by itself waits for the next one.

A quick function is waited for on the spot, for less than the loop would take to hear of it.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from os import sched_yield
from queue import SimpleQueue
from time import monotonic
from typing import Any

__all__ = ("Stopped", "run_in_thread")

_MOMENT = 0.0003
"""Seconds that the loop itself waits for a function."""
_IDLE = 8
"""Threads that wait for the next function; more are let go."""


class Stopped(BaseException):
    """Raised inside a function whose call was given up; no `except Exception` catches it."""


def run_in_thread(function: Callable[[], Any]) -> asyncio.Future[Any]:
    """Run a function in a thread of its own; cancelling the future ends the function."""
    job = _Job(function)
    worker = _worker()
    job.answer.add_done_callback(lambda answer: answer.cancelled() and job.interrupt(worker))
    worker.jobs.put(job)
    job.wait_a_moment()
    return job.answer


class _Job:
    """One function, the future that waits for it, and whether it was told to end."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self._loop.create_future()
        self._function = function
        self._scope = contextvars.copy_context()
        self._lock = threading.Lock()
        self._awaited = True
        self._given: tuple[Any, BaseException | None] = (None, None)
        self._over = False
        self._interrupted = False

    def run(self) -> bool:
        """Run the function; false where the thread may still be hit by the order to end."""
        value, error = None, None
        try:
            value = self._scope.run(self._function)
        except BaseException as raised:
            error = raised
        with self._lock:
            self._over, self._given = True, (value, error)
            awaited = self._awaited
        if not awaited:
            # The loop may be over before the function is.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_settle, self.answer, value, error)
        return not self._interrupted

    def wait_a_moment(self) -> None:
        """Take the answer at once where the function is quick; else the loop is told of it."""
        latest = monotonic() + _MOMENT
        while not self._over and monotonic() < latest:
            sched_yield()  # Gives way without falling asleep: waking up costs more than the wait.
        with self._lock:
            self._awaited = False
            if self._over:
                _settle(self.answer, *self._given)

    def interrupt(self, worker: threading.Thread) -> None:
        """Raise `Stopped` in the function, unless it has come back already."""
        with self._lock:
            if self._over or worker.ident is None:
                return
            self._interrupted = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(worker.ident), ctypes.py_object(Stopped)
            )


class _Worker(threading.Thread):
    """A thread that takes one job after the other."""

    def __init__(self) -> None:
        super().__init__(name="callblocks-tool", daemon=True)
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()

    def run(self) -> None:
        with suppress(Stopped):
            while (job := self.jobs.get()) is not None and job.run():
                del job
                if len(_idle) >= _IDLE:
                    return
                _idle.append(self)


_idle: deque[_Worker] = deque()


def _worker() -> _Worker:
    """A thread that waits, or a new one."""
    while _idle:
        with suppress(IndexError):
            worker = _idle.pop()
            if worker.is_alive():
                return worker
    worker = _Worker()
    worker.start()
    return worker


def _settle(answer: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(_carried(error))


def _carried(error: BaseException) -> BaseException:
    """A future refuses to carry `StopIteration`, and what would end the loop must not."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    carrier = RuntimeError(f"{type(error).__name__}: {_words(error)}")
    carrier.__cause__ = error
    return carrier


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # what was raised may do anything when it is shown
        return ""

"""Blocking functions in worker threads, interrupted when nobody waits for them.

Each run has a daemon thread to itself: a function stuck forever in foreign code delays neither
another call nor the exit of the program. Python code is interrupted at its next bytecode
(`PyThreadState_SetAsyncExc`); foreign code only when it returns. A tool that must end at once is
declared `isolated`. A thread whose function returned by itself is reused; an interrupted one is
not, because the asynchronous exception may arrive after the function ended and would hit the next
one.

Why not `ThreadPoolExecutor`: its threads block the exit of the program, and a stuck one occupies
its slot for good.

The loop busy-waits for a quick function for a fraction of a millisecond, because waking up through
`call_soon_threadsafe` takes longer than most tools run.
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

__all__ = ("CallAbandoned", "run_in_thread")

# Seconds for which the loop itself waits for a function.
_MOMENT = 0.0003
# The number of idle threads that are kept; more are ended.
_IDLE = 8


class CallAbandoned(BaseException):
    """Raised inside a function whose call was given up; a `BaseException`, so that no `except
    Exception` of a tool catches it.
    """


def run_in_thread(function: Callable[[], Any]) -> asyncio.Future[Any]:
    """Run a function in a thread of its own; cancelling the future interrupts the function."""
    job = _Job(function)
    worker = _worker()
    job.answer.add_done_callback(lambda answer: answer.cancelled() and job.interrupt(worker))
    worker.jobs.put(job)
    job.wait_a_moment()
    return job.answer


class _Job:
    """One function, the future of its result, and whether it was interrupted."""

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
        """Run the function; return false where an interrupt may still arrive in this thread."""
        value, error = None, None
        try:
            value = self._scope.run(self._function)
        except BaseException as raised:
            error = raised
        # The lock orders this with `wait_a_moment` and `interrupt`: exactly one side sets the
        # future, and no interrupt is sent to a thread whose job is over.
        with self._lock:
            self._over, self._given = True, (value, error)
            awaited = self._awaited
        if not awaited:
            # The loop may be closed before the function ends.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_settle, self.answer, value, error)
        return not self._interrupted

    def wait_a_moment(self) -> None:
        """Take the result at once where the function is quick; else leave it to the loop."""
        # A spin instead of an event: most tools return within this time, and waking up the loop
        # through its selector takes longer than the tool itself.
        latest = monotonic() + _MOMENT
        while not self._over and monotonic() < latest:
            sched_yield()  # Gives way without falling asleep: waking up costs more than the wait.
        with self._lock:
            self._awaited = False
            if self._over:
                _settle(self.answer, *self._given)

    def interrupt(self, worker: threading.Thread) -> None:
        """Raise `Stopped` in the function, unless it has returned already."""
        with self._lock:
            if self._over or worker.ident is None:
                return
            self._interrupted = True
            # Under the lock, `_over` is false: the exception is delivered while the function still
            # runs, or while `run` records its end. In the second case the thread is not reused.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(worker.ident), ctypes.py_object(CallAbandoned)
            )


class _Worker(threading.Thread):
    """A thread that runs one job after the other."""

    def __init__(self) -> None:
        super().__init__(name="callblocks-tool", daemon=True)
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()

    def run(self) -> None:
        with suppress(CallAbandoned):
            while (job := self.jobs.get()) is not None and job.run():
                del job
                if len(_idle) >= _IDLE:
                    return
                _idle.append(self)


_idle: deque[_Worker] = deque()


def _worker() -> _Worker:
    """Return an idle thread, or a new one."""
    while _idle:
        with suppress(IndexError):
            worker = _idle.pop()
            # An idle thread may be dying from a late `Stopped`; such a thread is dropped.
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
    """Wrap an exception that a future must not carry: a future rejects `StopIteration`, and a
    `SystemExit` would end the loop.
    """
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

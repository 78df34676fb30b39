"""Supervision from the start of a job's processes to the death of the last one.

A run is a task that nobody cancels. It is told to stop, by the clock or by the caller, and then
kills, waits and cleans up before it ends. If it were cancelled instead, a second cancellation could
interrupt the cleaning and leave processes alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio import StreamReader
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from callblocks.guard.sandbox.cgroups import ControlGroup

__all__ = ("Watch", "death_of", "read_pipe", "supervise", "to_its_end")

T = TypeVar("T")


class Watch:
    """The stop signal of a run: its time is over, or a caller asked for it."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.timed_out = False

    def allow(self, seconds: float) -> None:
        """Restart the clock with this many seconds."""
        self.release()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._time_is_over)

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()

    def release(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()

    async def during(self, work: asyncio.Future[Any]) -> None:
        """Wait for the work, or for the stop."""
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()

    def _time_is_over(self) -> None:
        self.timed_out = True
        self._stopped.set()


async def to_its_end(run: Coroutine[Any, Any, T], watch: Watch) -> T:
    """Wait for a run. When cancelled, tell it to stop, wait all the same, and raise then."""
    task = asyncio.ensure_future(run)
    cancelled = False
    # A loop, because each further cancellation interrupts the wait again; none may abandon the
    # task.
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            cancelled = True
            watch.stop()
    if cancelled:
        with contextlib.suppress(BaseException):
            task.result()
        raise asyncio.CancelledError
    return task.result()


async def supervise(
    child: Process,
    watch: Watch,
    *,
    stdin: bytes,
    beside: Iterable[Awaitable[object]],
    group: ControlGroup | None,
    kill_rest: Callable[[], Awaitable[None]],
) -> None:
    """Supervise a job's processes until they end or must stop; afterwards none of them lives.

    The job has ended when `child` has; `kill_rest` then kills what it left. `beside` are coroutines
    that end by themselves when the processes do: readers of their output.
    """
    exited = asyncio.ensure_future(_exit_of(child))
    work: asyncio.Future[list[object]] = asyncio.gather(
        exited, child.wait(), _give(child, stdin), *beside
    )
    try:
        # Only the exit of the child or the stop ends the wait; the readers may go on as long as a
        # daemon of the job holds the pipes open.
        await watch.during(exited)
    finally:
        watch.release()
        _kill(child)
        try:
            if group is not None:
                await group.kill()
            await kill_rest()
        except asyncio.CancelledError:
            # The loop is ending: the readers are cancelled, but still awaited.
            work.cancel()
            raise
        finally:
            await work


def _kill(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


async def _exit_of(child: Process) -> None:
    """Wait until the child itself has ended, whoever holds its pipes."""
    with contextlib.suppress(ProcessLookupError):
        await death_of(os.pidfd_open(child.pid))


async def death_of(pidfd: int) -> None:
    """Wait until a process is dead (its pidfd becomes readable); close the pidfd."""
    loop = asyncio.get_running_loop()
    dead = asyncio.Event()
    loop.add_reader(pidfd, dead.set)
    try:
        await dead.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


async def _give(child: Process, stdin: bytes) -> None:
    if child.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        child.stdin.write(stdin)
        await child.stdin.drain()
    child.stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await child.stdin.wait_closed()


async def read_pipe(fd: int) -> StreamReader:
    """Return a reader of a pipe, which it closes at the end."""
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader

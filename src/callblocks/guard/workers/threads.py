"""Blocking functions in worker threads, and a limited number of slots that users share.

Slots have a total limit, a limit per user, and a queue.

    budget = Budget(4, share=2)
    async with budget.place("anna", lambda before: …):     called with the number served before
        ...

Users are served round-robin, so one user who asks for a hundred slots does not delay the others by
a hundred. Within one user the order is first come, first served.

Invariants
- `held` never exceeds `limit`, and no user holds more than `share`.
- A user is in `_queues` only while somebody of that user waits; its queue is never empty.
- A slot handed to a waiter is counted before the waiter wakes up. A waiter that is cancelled
  between these two moments must give the slot back (`_leave`), or it would leak.

A budget belongs to one event loop, and no method awaits while it changes the queues. So no lock is
needed, and a semaphore would not do: it knows neither users nor positions.

Worker threads. A function is interrupted when nobody waits for it.

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
import inspect
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from os import sched_yield
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeAlias

import msgspec

from callblocks.core.errors import ToolError

__all__ = (
    "Budget",
    "BudgetFull",
    "Budgets",
    "CallAbandoned",
    "TellPlace",
    "contained",
    "run_in_thread",
    "run_to_end",
)

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


def run_to_end(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Call a function of a tool in a worker thread; an awaitable that it returns is run to
    completion there, in the thread that created it.
    """
    value = function(**given)
    return asyncio.run(contained(lambda: value)) if inspect.isawaitable(value) else value


async def contained(begin: Callable[[], Awaitable[Any]]) -> Any:
    """Await some work; turn an exception that would end the program into a failure of this call."""
    try:
        return await begin()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # `SystemExit` and the like, also of a tool's own kind
        words = f"the tool tried to end the program: {type(error).__name__}"
        raise ToolError("tool_error", words) from error


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


# Callback with the number of waiters served before, called each time that the number changes.
TellPlace: TypeAlias = Callable[[int], None]


class BudgetFull(Exception):
    """The queue is full; `is_own` is true where it is the queue of this user."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__("too many wait for a place")
        self.is_own = is_own


class Budget:
    """`limit` slots at once, at most `share` of them for one user.

    At most `waiting` tasks may wait, and `waiting_share` of one user; `None` means any number.
    """

    def __init__(
        self,
        limit: int,
        share: int | None = None,
        *,
        waiting: int | None = None,
        waiting_share: int | None = None,
    ) -> None:
        self._limit = limit
        self._share = limit if share is None else min(share, limit)
        self._most = waiting
        self._most_of_one = waiting_share
        self._held: Counter[str] = Counter()
        # Waiters by user. The first user in the order is served next.
        self._queues: OrderedDict[str, deque[_Waiter]] = OrderedDict()

    @property
    def held(self) -> int:
        """Return the number of slots taken."""
        return self._held.total()

    @property
    def waiting(self) -> int:
        """Return the number of tasks that wait."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def place(
        self, user: str = "", tell: TellPlace | None = None
    ) -> AsyncGenerator[None, None]:
        """Hold a slot as soon as one is free; raise `BudgetFull` where too many wait already."""
        await self._take(user, tell)
        try:
            yield
        finally:
            self._release(user)

    async def _take(self, user: str, tell: TellPlace | None) -> None:
        # A newcomer must not overtake its own user's waiters, so a queue of that user excludes this
        # path.
        if user not in self._queues and self._has_room(user):
            self._held[user] += 1
            return
        own = len(self._queues.get(user, ()))
        if self._most_of_one is not None and own >= self._most_of_one:
            raise BudgetFull(is_own=True)
        if self._most is not None and self.waiting >= self._most:
            raise BudgetFull(is_own=False)
        waiter = _Waiter(asyncio.get_running_loop(), tell)
        self._queues.setdefault(user, deque()).append(waiter)
        self._tell()
        try:
            await waiter.served
        except asyncio.CancelledError:
            self._leave(user, waiter)
            raise

    def _release(self, user: str) -> None:
        """Give a slot back, and hand it to the next waiter."""
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]
        self._serve()

    def _leave(self, user: str, waiter: _Waiter) -> None:
        """Remove a cancelled waiter; release the slot if it was handed over at the same moment."""
        queue = self._queues.get(user)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._queues[user]
            self._tell()
        elif not waiter.served.cancelled():
            self._release(user)

    def _has_room(self, user: str) -> bool:
        return self.held < self._limit and self._held[user] < self._share

    def _serve(self) -> None:
        """Hand free slots to waiters, round-robin over the users."""
        while (user := next(filter(self._has_room, self._queues), None)) is not None:
            # Popping and inserting again moves the user to the end of the order: this is the
            # round-robin.
            queue = self._queues.pop(user)
            waiter = queue.popleft()
            if queue:
                self._queues[user] = queue
            # A waiter that was cancelled is still in the queue until its task runs. Giving it the
            # slot would leak it, so it is skipped.
            if not waiter.served.done():
                self._held[user] += 1
                waiter.served.set_result(None)
        self._tell()

    def _tell(self) -> None:
        """Report to each waiter how many are served before it: each round serves one of
        every user.
        """
        before, at = 0, 0
        queues = [list(queue) for queue in self._queues.values()]
        # The announced order is the order of service only while no user reaches its share. It is a
        # forecast for people, not a promise, so the simpler computation suffices.
        while queues:
            for queue in queues:
                queue[at].tell_place(before)
                before += 1
            at += 1
            queues = [queue for queue in queues if len(queue) > at]


class _Waiter:
    """A task that waits for a slot, and the last number that it was told."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: TellPlace | None) -> None:
        self.served = loop.create_future()
        self._loop = loop
        self._tell = tell
        self._last = -1

    def tell_place(self, before: int) -> None:
        """Report a new number through the loop: an exception of a listener must not reach the
        releaser.
        """
        if self._tell is not None and before != self._last:
            self._last = before
            self._loop.call_soon(self._tell_now, before)

    def _tell_now(self, before: int) -> None:
        if self._tell is not None and not self.served.done():
            self._tell(before)


class Budgets(msgspec.Struct, frozen=True):
    """The budgets that all turns of one program share: subprocesses, and streams of models.

    `sandboxes` run programs, `renderers` make documents and run isolated tools.
    """

    sandboxes: Budget
    renderers: Budget
    streams: Budget

    @classmethod
    def of(
        cls,
        sandboxes: tuple[int, int] = (4, 1),
        renderers: tuple[int, int] = (4, 1),
        streams: tuple[int, int] = (500, 400),
    ) -> Budgets:
        """Return budgets with these numbers of slots: for the program, and for one user.

        Chats of one user share that user's slots, however many chats there are.
        """
        return cls(Budget(*sandboxes), Budget(*renderers), Budget(*streams))

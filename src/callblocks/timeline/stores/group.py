"""Group commit: callers who wait at the same time share one commit.

Whoever gets the lock leads: it commits all that waits at once, gives each its answer, and calls the
next leader if more came meanwhile. There is no thread, and a caller who is alone pays for nothing
but a lock.

A caller may be interrupted (Ctrl-C) between any two steps. So the lock is only ever held by a
`with` statement, which no interrupt can split; a request waits in the queue until it is answered,
so that it is never in nobody's hands; and who waits looks for himself now and then, in case a call
was lost.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

from callblocks.model.blocks import Entry
from callblocks.model.errors import TimelineError

__all__ = ("Group", "Request")

_BATCH = 64 * 1024 * 1024
"""Bytes of a batch; a single request may be larger."""
_LOOK = 0.25
"""Seconds after which one who waits looks whether its call was lost."""


class Request:
    """Bodies that somebody waits to have written at the end of a timeline.

    Whoever commits it sets `entries` or `error`. A call that comes for nothing does no harm.
    """

    __slots__ = ("bodies", "calls", "entries", "error", "expected", "is_given_up", "name", "size")

    def __init__(
        self, name: str, bodies: Sequence[bytes], expected: int | None, size: int = 0
    ) -> None:
        self.name = name
        self.bodies = bodies
        self.expected = expected
        self.size = size
        self.calls: SimpleQueue[None] = SimpleQueue()
        self.entries: list[Entry] | None = None
        self.error: TimelineError | None = None
        self.is_given_up = False

    @property
    def is_answered(self) -> bool:
        """Whether it was written, or refused."""
        return self.entries is not None or self.error is not None

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.is_given_up or self.entries is not None or self.error is not None

    def answer(self) -> list[Entry]:
        """What was written; or raise why it was not."""
        if self.error is not None:
            raise self.error
        assert self.entries is not None
        return self.entries


class Group:
    """Makes one call of `commit` out of the requests of many threads.

    `commit` answers every request, or raises for all of them.
    """

    def __init__(self, commit: Callable[[list[Request]], None]) -> None:
        self._commit = commit
        # Only who holds the lock takes something out, and only from the front.
        self._waiting: deque[Request] = deque()
        self._begun: list[Request] = []
        # Held by the one who commits.
        self._lock = threading.Lock()

    def run(self, request: Request) -> list[Entry]:
        """Have a request committed, with those of others or alone."""
        try:
            self._waiting.append(request)
            if len(self._waiting) > 1 or self._lock.locked():
                self._wait(request)
            if not request.is_answered:
                with self._lock:
                    # Those who came before may fill a batch of their own.
                    while not request.is_answered:
                        self._lead(request)
                self._call_next()
        except BaseException:
            # Interrupted: it shall not be written later, and a call goes on to the next.
            request.is_given_up = True
            self._call_next()
            raise
        return request.answer()

    def alone(self, work: Callable[[], None]) -> None:
        """Do something while nothing is committed; who comes meanwhile waits."""
        try:
            with self._lock:
                work()
        finally:
            self._call_next()

    def _wait(self, request: Request) -> None:
        """Wait for the answer, or for the lead.

        Whoever holds the lock sees the request when it lets go, and calls the first that waits.
        Nobody passes it by: while it wakes up others come, and they share a commit.
        """
        is_next = self._first() is request
        while not request.is_answered and (self._lock.locked() or not is_next):
            with suppress(Empty):
                request.calls.get(timeout=_LOOK)
            # Called; or its call was lost.
            is_next = True

    def _first(self) -> Request | None:
        return next((one for one in self._waiting.copy() if not one.is_over), None)

    def _call_next(self) -> None:
        if self._waiting and (request := self._first()) is not None:
            request.calls.put(None)

    def _lead(self, own: Request) -> None:
        if self._begun:
            # A leader that was interrupted twice left something.
            self._end(own)
        batch = self._next_batch()
        if not batch:
            return
        self._begun = batch
        try:
            self._commit(batch)
        except TimelineError as error:
            _refuse(batch, error)
        finally:
            self._end(own)

    def _next_batch(self) -> list[Request]:
        """The first that wait, as many as fit; they stay in the queue until they are answered."""
        batch: list[Request] = []
        size = 0
        for request in self._waiting.copy():
            if request.is_over:
                continue
            size += request.size
            if batch and size > _BATCH:
                break
            batch.append(request)
        return batch

    def _end(self, own: Request) -> None:
        """Let go of the batch that was begun; who has no answer must not wait for one."""
        batch = self._begun
        # What was begun may have been written: it must not be written again.
        _refuse(batch, _INTERRUPTED)
        while self._waiting and self._waiting[0].is_over:
            self._waiting.popleft()
        for request in batch:
            if request is not own:
                request.calls.put(None)
        self._begun = []


_INTERRUPTED = TimelineError(
    "store_unavailable", "the write was interrupted: look whether the blocks are there"
)


def _refuse(batch: list[Request], error: TimelineError) -> None:
    for request in batch:
        if not request.is_answered:
            # Each caller raises an error of its own: a traceback belongs to one thread.
            own = TimelineError(error.code, error.message, **error.details)
            own.__cause__ = error.__cause__
            request.error = own

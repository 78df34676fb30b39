"""Group commit: callers who wait at the same time share one commit.

Whoever gets the lock leads: it takes all that waits, commits it at once, gives each its answer, and
calls the next leader if more came meanwhile. There is no thread, and a caller who is alone pays for
nothing but a lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from callblocks.model.blocks import Entry
from callblocks.model.errors import TimelineError

__all__ = ("Group", "Request")

_BATCH = 64 * 1024 * 1024
"""Bytes of a batch; a single request may be larger."""


class Request:
    """Bodies that somebody waits to have written at the end of a timeline.

    Whoever commits it sets `entries` or `error`. A call that comes for nothing does no harm.
    """

    __slots__ = ("bodies", "calls", "entries", "error", "expected", "name", "size")

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

    @property
    def is_answered(self) -> bool:
        """Whether it was written, or refused."""
        return self.entries is not None or self.error is not None

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
        self._waiting: deque[Request] = deque()
        # Held by the one who commits.
        self._lock = threading.Lock()

    def run(self, request: Request) -> list[Entry]:
        """Have a request committed, with those of others or alone."""
        self._waiting.append(request)
        # Whoever holds the lock sees the request when it lets go, so no call is missed.
        if not self._lock.acquire(blocking=False) and not self._is_called(request):
            return request.answer()
        try:
            # Those who came before may fill a batch of their own.
            while not request.is_answered:
                self._lead(request)
        finally:
            self._lock.release()
            self._call_next()
        return request.answer()

    @contextmanager
    def paused(self) -> Generator[None, None, None]:
        """While it lasts nothing is committed; who comes meanwhile waits."""
        try:
            with self._lock:
                yield
        finally:
            self._call_next()

    def _is_called(self, request: Request) -> bool:
        """Wait for the answer, or for the call to lead; then the lock is held."""
        try:
            request.calls.get()
            return not request.is_answered and self._lock.acquire()
        except BaseException:
            # Interrupted: the call to lead may have been for this one, so it goes on to the next.
            with suppress(ValueError):
                self._waiting.remove(request)
            self._call_next()
            raise

    def _call_next(self) -> None:
        if self._waiting:
            # An interrupted one may take itself out between the look and the call.
            with suppress(IndexError):
                self._waiting[0].calls.put(None)

    def _lead(self, own: Request) -> None:
        batch = self._take()
        try:
            self._commit(batch)
        except TimelineError as error:
            _refuse(batch, error)
        except BaseException as error:
            # The others must not wait for an answer that never comes.
            reason = f"interrupted by {type(error).__name__}: look whether the blocks are there"
            _refuse(batch, TimelineError("store_unavailable", reason))
            raise
        finally:
            for request in batch:
                if request is not own:
                    request.calls.put(None)

    def _take(self) -> list[Request]:
        batch = [self._waiting.popleft()]
        if self._waiting:
            size = batch[0].size
            # The end of the queue, or an interrupted one that takes itself out.
            with suppress(IndexError):
                while (size := size + self._waiting[0].size) <= _BATCH:
                    batch.append(self._waiting.popleft())
        return batch


def _refuse(batch: list[Request], error: TimelineError) -> None:
    for request in batch:
        if not request.is_answered:
            # Each caller raises an error of its own: a traceback belongs to one thread.
            own = TimelineError(error.code, error.message, **error.details)
            own.__cause__ = error.__cause__
            request.error = own

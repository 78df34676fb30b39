"""Group commit: callers that wait at the same time share one commit.

An fsync costs milliseconds, whatever it writes. So the thread that gets the lock becomes the
leader: it commits everything that waits in one transaction, gives each caller its answer, and wakes
the next leader if more came meanwhile. There is no background thread, and a lone caller pays for
nothing but a lock.

Invariants
- A request stays in the queue until it is answered, so it is never in nobody's hands.
- Only the holder of the lock removes requests, and only from the front.
- A batch that was begun is never committed twice: a request without an answer is refused, because
  it may be on the disk.
- Each caller raises an error object of its own: a traceback belongs to one thread.

Interrupts. A caller may be interrupted (Ctrl-C) between any two bytecodes. So the lock is only ever
held by a `with` statement, which no interrupt can split, and a waiting caller polls now and then,
in case a wake-up was lost.

Why not a queue with a writer thread: a thread must be started, stopped and survive forks, and each
append would cost two context switches.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.store import Head, StoredRow, link

__all__ = (
    "AppendRequest",
    "GroupCommit",
    "Placed",
    "by_name",
    "place",
)

# The most bytes of a batch; a single request may be larger.
_BATCH = 64 * 1024 * 1024
# Seconds after which a waiting caller checks whether its wake-up was lost.
_LOOK = 0.25


class AppendRequest:
    """Bodies to be written at the end of a timeline.

    The committer sets `entries` or `error`. A superfluous wake-up does no harm.
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
        """Return whether it was written, or refused."""
        return self.entries is not None or self.error is not None

    @property
    def is_over(self) -> bool:
        """Return whether nobody waits for it any more."""
        return self.is_given_up or self.entries is not None or self.error is not None

    def answer(self) -> list[Entry]:
        """Return the written entries, or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.entries is not None
        return self.entries


class GroupCommit:
    """The group: one call of `commit` for the requests of many threads.

    `commit` answers every request, or raises for all of them.
    """

    def __init__(self, commit: Callable[[list[AppendRequest]], None]) -> None:
        self._commit = commit
        # Only the holder of the lock removes requests, and only from the front.
        self._waiting: deque[AppendRequest] = deque()
        self._begun: list[AppendRequest] = []
        # Held by the committer.
        self._lock = threading.Lock()

    def run(self, request: AppendRequest) -> list[Entry]:
        """Have a request committed, together with those of others or alone."""
        try:
            self._waiting.append(request)
            # A lone caller skips the wait and takes the lock at once: no wake-up, no context
            # switch.
            if len(self._waiting) > 1 or self._lock.locked():
                self._wait(request)
            if not request.is_answered:
                with self._lock:
                    # Requests that came before may fill a batch of their own, so ours may need a
                    # second one.
                    while not request.is_answered:
                        self._lead(request)
                self._call_next()
        except BaseException:
            # Interrupted: the request must not be written later, and the wake-up is passed on.
            request.is_given_up = True
            self._call_next()
            raise
        return request.answer()

    def alone(self, work: Callable[[], None]) -> None:
        """Run work while nothing is committed; callers that come meanwhile wait."""
        try:
            with self._lock:
                work()
        finally:
            self._call_next()

    def _wait(self, request: AppendRequest) -> None:
        """Wait for the answer, or for the lead.

        The holder of the lock sees the request when it releases the lock, and wakes the first
        waiter. No newcomer overtakes that waiter: while it wakes up, others queue, and they share
        its commit.
        """
        is_next = self._first() is request
        while not request.is_answered and (self._lock.locked() or not is_next):
            with suppress(Empty):
                request.calls.get(timeout=_LOOK)
            # Either woken, or the wake-up was lost; both mean that this request may lead now.
            is_next = True

    def _first(self) -> AppendRequest | None:
        return next((one for one in self._waiting.copy() if not one.is_over), None)

    def _call_next(self) -> None:
        if self._waiting and (request := self._first()) is not None:
            request.calls.put(None)

    def _lead(self, own: AppendRequest) -> None:
        if self._begun:
            # A leader that was interrupted twice left its batch behind.
            self._end(own)
        batch = self._next_batch()
        if not batch:
            return
        # Set before the commit: from here on an interrupt leaves a trace, and the batch is refused
        # instead of being committed a second time.
        self._begun = batch
        try:
            self._commit(batch)
        except TimelineError as error:
            _refuse(batch, error)
        finally:
            self._end(own)

    def _next_batch(self) -> list[AppendRequest]:
        """Return the first waiting requests, as many as fit; they stay queued until they are
        answered.
        """
        batch: list[AppendRequest] = []
        size = 0
        # A copy, because other threads append to the queue while it is read; only its front is ever
        # removed, and only under the lock.
        for request in self._waiting.copy():
            if request.is_over:
                continue
            size += request.size
            if batch and size > _BATCH:
                break
            batch.append(request)
        return batch

    def _end(self, own: AppendRequest) -> None:
        """Release the batch that was begun; a request without an answer is refused."""
        batch = self._begun
        # A batch that was begun may have been written, so it must not be written again.
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


def _refuse(batch: list[AppendRequest], error: TimelineError) -> None:
    for request in batch:
        if not request.is_answered:
            # Each caller raises an error object of its own: a traceback belongs to one thread.
            own = TimelineError(error.code, error.message, **error.details)
            own.__cause__ = error.__cause__
            request.error = own


# --- Assignment of numbers and hashes to a batch of requests at the end of a timeline ---


class Placed(msgspec.Struct):
    """Requests for one timeline, placed after `was`; `settle` answers those in `taken` and
    `refused`.
    """

    name: str
    was: Head
    head: Head
    rows: list[StoredRow]
    # Each request, and its own rows.
    taken: list[tuple[AppendRequest, list[StoredRow]]]
    # Each request that expected another number, and the actual number.
    refused: list[tuple[AppendRequest, int]]

    def settle(self) -> None:
        """Answer the requests: what was placed is on disk."""
        for request, rows in self.taken:
            request.entries = [row.entry() for row in rows]
        for request, count in self.refused:
            request.error = _conflict(request, count)


def by_name(batch: Iterable[AppendRequest]) -> dict[str, list[AppendRequest]]:
    """Return the requests of each timeline, in their order."""
    names: dict[str, list[AppendRequest]] = {}
    for request in batch:
        names.setdefault(request.name, []).append(request)
    return names


def place(name: str, head: Head, requests: Iterable[AppendRequest]) -> Placed:
    """Place the requests one after the other; leave out one that expects another number."""
    placed = Placed(name, head, head, [], [], [])
    count, last = head.count, head.hash
    for request in requests:
        # Judged against the count after the requests before it in the same batch: within a batch
        # the order of the queue is the order of the timeline.
        if request.expected is not None and request.expected != count:
            placed.refused.append((request, count))
            continue
        rows: list[StoredRow] = []
        for body in request.bodies:
            count += 1
            last = link(last, count, body)
            rows.append(StoredRow(count, body, last))
        placed.rows += rows
        placed.taken.append((request, rows))
    placed.head = Head(count, last)
    return placed


def _conflict(request: AppendRequest, count: int) -> TimelineError:
    return TimelineError(
        "conflict",
        f"timeline {request.name} has {count} blocks, not {request.expected}:"
        " another writer was first; read what is new, and append again",
        count=count,
        expected=request.expected,
    )

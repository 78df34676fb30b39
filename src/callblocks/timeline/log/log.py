"""The log of timelines: its contract, and the part that both stores share.

A store implements `Store`. Shared are blocks as bytes and their hash chain, group commit with the
checks before it, and reading by pages.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import lt
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol, Self
from weakref import WeakSet

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.errors import NotABlock, TimelineError
from callblocks.core.json_values import plain
from callblocks.core.text import brief

__all__ = (
    "DAMAGED",
    "MAX_APPEND",
    "MAX_BLOCK",
    "PAGE_BYTES",
    "PAGE_ROWS",
    "AppendRequest",
    "GroupCommit",
    "Head",
    "Log",
    "Owned",
    "Placed",
    "Store",
    "StoredRow",
    "Summary",
    "by_name",
    "check_name",
    "check_not_inherited",
    "decode",
    "encode",
    "genesis",
    "link",
    "place",
)

# --- Blocks as bytes, and the hash chain over the blocks of a timeline ---
#
#     hash 0 = sha256("callblocks timeline 1", name)
#     hash n = sha256(hash n-1, n, body n)
#
# A body is JSON with sorted keys: equal blocks give equal bytes. A person who has noted the last
# hash can prove that no earlier block was changed, lost or inserted. The name is in hash 0, so a
# chain cannot be passed off as that of another timeline; the number is in each hash, so blocks
# cannot be renumbered. The chain does not protect against cutting the end off: for that, `verify`
# takes a noted end.

# The block that replaces one that can no longer be read.
DAMAGED = Block(
    type="timeline.damaged",
    author="timeline",
    turn_id="",
    ts="",
    text="This block cannot be read.",
    meta={"code": "damaged_block"},
)

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Block)


def encode(block: Block) -> bytes:
    """Return a block as JSON; a lone surrogate becomes U+FFFD, a value outside JSON its type."""
    try:
        return _encoder.encode(block)
    # One odd value must not cost the whole block.
    except (ValueError, TypeError, RecursionError, OverflowError):
        fields = {name: getattr(block, name) for name in block.__struct_fields__}
        return _encoder.encode(Block(**plain(fields)))


def decode(body: bytes) -> Block:
    """Return the block of a body; `DAMAGED` for an unreadable one."""
    try:
        return _decoder.decode(body)
    except (ValueError, RecursionError):
        return DAMAGED


def genesis(name: str) -> str:
    """Return the hash that the first block of a timeline follows."""
    return hashlib.sha256(b"callblocks timeline 1\n" + name.encode()).hexdigest()


def link(previous: str, seq: int, body: bytes) -> str:
    """Return the hash of a block at `seq`, after the one with the hash `previous`."""
    return hashlib.sha256(b"%s\n%d\n%s" % (previous.encode(), seq, body)).hexdigest()


# --- The protocol of a store of timelines: append, read, follow ---

# The most bytes of an encoded block; larger content belongs into an artifact.
MAX_BLOCK = 16 * 1024 * 1024
# The most bytes of all blocks of one append.
MAX_APPEND = 16 * MAX_BLOCK

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


class Head(msgspec.Struct, frozen=True):
    """The end of a timeline: the number of its blocks, and the hash of the last."""

    count: int
    hash: str


class StoredRow(msgspec.Struct, frozen=True):
    """An entry as the store keeps it; `body` is `None` where the store itself cannot read it."""

    seq: int
    body: bytes | None
    hash: str

    def entry(self) -> Entry:
        """Return the entry; with `DAMAGED` where it cannot be read."""
        return Entry(self.seq, DAMAGED if self.body is None else decode(self.body), self.hash)


class Summary(msgspec.Struct, frozen=True):
    """A timeline in a list; the times are ISO 8601 with a Z."""

    name: str
    count: int
    hash: str
    created: str
    updated: str


class Store(Protocol):
    """Timelines by name. Every method may be called from any thread.

    A timeline exists from its first block on; an unknown one reads as empty. Every fault is a
    `TimelineError` with a code of `callblocks.timeline.timeline`.
    """

    def append(
        self, name: str, blocks: Iterable[Block], expected: int | None = None, fence: int = 0
    ) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns.

        With `expected`, a timeline that does not have exactly this many blocks is a `conflict`.
        A `fence` below one that the timeline on a server has seen is `fenced`.
        After `store_unavailable` it is unknown whether they were written: read before writing
        again.
        """
        ...

    def entries(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Yield the entries with a number above `after`.

        An unreadable entry is a `timeline.damaged` block in its place. If the file is damaged,
        `store_damaged` is raised after everything that can be read.
        """
        ...

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Yield the entries as they are stored, for verification."""
        ...

    def head(self, name: str) -> Head:
        """Return the end of the timeline, as its own row says."""
        ...

    def names(self) -> list[Summary]:
        """Return every timeline, by name."""
        ...

    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes, until the store
        closes.

        A consumer that stops early closes it, with `contextlib.aclosing`.
        """
        ...

    def close(self) -> None:
        """Close the file or the connections; followers end."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def check_name(name: str) -> str:
    """Return the name, if a timeline may have it; raise `bad_name` otherwise."""
    if not _NAME.fullmatch(name):
        raise TimelineError(
            "bad_name",
            f"{brief(name)} cannot name a timeline; use up to 100 letters, digits and . _ -",
        )
    return name


# --- Group commit: callers that wait at the same time share one commit ---
#
# An fsync costs milliseconds, whatever it writes. So the thread that gets the lock becomes the
# leader: it commits everything that waits in one transaction, gives each caller its answer, and
# wakes the next leader if more came meanwhile. There is no background thread, and a lone caller
# pays for nothing but a lock.
#
# Invariants
# - A request stays in the queue until it is answered, so it is never in nobody's hands.
# - Only the holder of the lock removes requests, and only from the front.
# - A batch that was begun is never committed twice: a request without an answer is refused, because
#   it may be on the disk.
# - Each caller raises an error object of its own: a traceback belongs to one thread.
#
# Interrupts. A caller may be interrupted (Ctrl-C) between any two bytecodes. So the lock is only
# ever held by a `with` statement, which no interrupt can split, and a waiting caller polls now and
# then, in case a wake-up was lost.
#
# Why not a queue with a writer thread: a thread must be started, stopped and survive forks, and
# each append would cost two context switches.

# The most bytes of a batch; a single request may be larger.
_BATCH = 64 * 1024 * 1024
# Seconds after which a waiting caller checks whether its wake-up was lost.
_LOOK = 0.25


class AppendRequest:
    """Bodies to be written at the end of a timeline.

    The committer sets `entries` or `error`. A superfluous wake-up does no harm.
    """

    __slots__ = (
        "bodies",
        "calls",
        "entries",
        "error",
        "expected",
        "fence",
        "is_given_up",
        "name",
        "size",
    )

    def __init__(
        self,
        name: str,
        bodies: Sequence[bytes],
        expected: int | None,
        size: int = 0,
        fence: int = 0,
    ) -> None:
        self.name = name
        self.bodies = bodies
        self.expected = expected
        self.size = size
        self.fence = fence
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
    # Each request that expected another number or has too small a fence, and the refusal.
    refused: list[tuple[AppendRequest, TimelineError]]
    # The largest fence of the timeline and of these requests.
    fence: int = 0

    def settle(self) -> None:
        """Answer the requests: what was placed is on disk."""
        for request, rows in self.taken:
            request.entries = [row.entry() for row in rows]
        for request, error in self.refused:
            request.error = error


def by_name(batch: Iterable[AppendRequest]) -> dict[str, list[AppendRequest]]:
    """Return the requests of each timeline, in their order."""
    names: dict[str, list[AppendRequest]] = {}
    for request in batch:
        names.setdefault(request.name, []).append(request)
    return names


def place(name: str, head: Head, requests: Iterable[AppendRequest], fence: int = 0) -> Placed:
    """Place the requests one after the other; leave out one that expects another number.

    So is one whose fence is smaller than that of the timeline.
    """
    placed = Placed(name, head, head, [], [], [], fence)
    count, last = head.count, head.hash
    for request in requests:
        if request.fence < placed.fence:
            placed.refused.append((request, _fenced(request, placed.fence)))
            continue
        placed.fence = request.fence
        # Judged against the count after the requests before it in the same batch: within a batch
        # the order of the queue is the order of the timeline.
        if request.expected is not None and request.expected != count:
            placed.refused.append((request, _conflict(request, count)))
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


def _fenced(request: AppendRequest, fence: int) -> TimelineError:
    return TimelineError(
        "fenced",
        f"timeline {request.name} belongs to the writer with number {fence}, and this one has"
        f" {request.fence}: a worker took the turn over",
        fence=request.fence,
        known=fence,
    )


def _conflict(request: AppendRequest, count: int) -> TimelineError:
    return TimelineError(
        "conflict",
        f"timeline {request.name} has {count} blocks, not {request.expected}:"
        " another writer was first; read what is new, and append again",
        count=count,
        expected=request.expected,
    )


# --- Protection against forks: a store belongs to the process that opened it ---
#
# A fork copies locks that another thread may hold, and connections that the parent continues to
# use. So a store refuses to work in a child, which must open one of its own. With SQLite it cannot
# even do that while the parent had the same file open: the library counts the locks of a file per
# process, and would take the parent's for its own. Such a child must be started afresh
# (`subprocess`, or `spawn` in `multiprocessing`), or forked before the store is opened.

_ADVICE = "open it after the fork, or start the process with spawn"


class Owned:
    """An object that only the process which made it may use."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        _owned.add(self)

    @property
    def is_inherited(self) -> bool:
        """Return whether another process made it, and this one is its child."""
        return os.getpid() != self._owner

    def check_owner(self) -> None:
        """Refuse to be used in a child."""
        if self.is_inherited:
            raise TimelineError(
                "store_unavailable", f"this timeline store was opened before a fork: {_ADVICE}"
            )

    def files(self) -> tuple[Path, ...]:
        """Return the files that a child must not open while the parent's are in its memory."""
        return ()


_owned: WeakSet[Owned] = WeakSet()
_inherited_files: set[tuple[int, int]] = set()


def check_not_inherited(path: Path) -> None:
    """Refuse to open a file that was open when this process was forked."""
    if _inherited_files and _key(path) in _inherited_files:
        raise TimelineError(
            "store_unavailable",
            f"timeline store {path} was open when this process was forked: {_ADVICE}",
            path=str(path),
        )


def _key(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _inherit() -> None:
    """Mark, in a child, what the parent has open: it is never used, and never closed either.

    Closing it would end a transaction of the parent, in memory that both share. The reference count
    is raised for good, so that the garbage collector never closes it.
    """
    if not _owned:
        return
    import ctypes

    # The set is weak and may change while it is iterated, hence the copy.
    for owned in tuple(_owned):
        _inherited_files.update(key for file in owned.files() if (key := _key(file)))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))


os.register_at_fork(after_in_child=_inherit)


# --- The part that both stores share: checks, encoding, and reading by pages ---

PAGE_ROWS = 500
# A page ends after this many bytes, so that large blocks do not fill the memory.
PAGE_BYTES = 4 * 1024 * 1024


class Log(Owned, ABC):
    """A store without the parts that depend on the database."""

    def __init__(self) -> None:
        super().__init__()
        self._group = GroupCommit(self._commit)

    def append(
        self, name: str, blocks: Iterable[Block], expected: int | None = None, fence: int = 0
    ) -> list[Entry]:
        """Write blocks at the end, all or none; they are on disk when this returns."""
        bodies = [encode(_checked(block)) for block in blocks]
        size = _checked_size(bodies)
        self.check_owner()
        if not bodies and expected is None:
            return []
        return self._group.run(AppendRequest(check_name(name), bodies, expected, size, fence))

    def entries(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Yield the entries with a number above `after`; see `Store`."""
        lost: list[int] = []
        for row in self.rows(name, after, limit):
            if row.body is None:
                lost.append(row.seq)
            yield row.entry()
        if lost:
            raise TimelineError(
                "store_damaged",
                f"{len(lost)} blocks of timeline {name} cannot be read, the first is number"
                f" {lost[0]}; verify names them all",
                lost=lost[:100],
            )

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> Iterator[StoredRow]:
        """Yield the entries as they are stored."""
        return islice(self._rows(check_name(name), max(after, 0)), limit)

    def _rows(self, name: str, after: int) -> Iterator[StoredRow]:
        page = self._try_page(name, after)
        # Pages while the database can read them; after damage, row by row, so that one bad page
        # costs only its own blocks.
        while page:
            yield from page
            after = page[-1].seq
            page = self._try_page(name, after)
        if page is None:
            # The count may be damaged too, so it is bounded by what the file can hold.
            for seq in range(after + 1, min(self.head(name).count, self._room()) + 1):
                yield from self._try_row(name, seq)

    def _try_page(self, name: str, after: int) -> list[StoredRow] | None:
        """Return the next rows; `None` if the database cannot read that far."""
        try:
            page = self._page(name, after)
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
            return None
        # Numbers out of order are damage too, and would make a reader loop.
        numbers = [after, *(row.seq for row in page)]
        return page if all(map(lt, numbers, numbers[1:])) else None

    def _try_row(self, name: str, seq: int) -> list[StoredRow]:
        try:
            return self._row(name, seq)
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
            return [StoredRow(seq, None, "")]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def _commit(self, batch: list[AppendRequest]) -> None:
        """Write a batch in one commit, and answer every request. One thread at a time."""

    @abstractmethod
    def _page(self, name: str, after: int) -> list[StoredRow]:
        """Return some rows above `after`, in order; none if there are no more."""

    @abstractmethod
    def _row(self, name: str, seq: int) -> list[StoredRow]:
        """Return one row, if it exists."""

    def _room(self) -> int:
        """Return an upper bound of the number of blocks."""
        return sys.maxsize

    @abstractmethod
    def head(self, name: str) -> Head:
        """Return the end of the timeline."""

    @abstractmethod
    def names(self) -> list[Summary]:
        """Return every timeline, by name."""

    @abstractmethod
    def follow(self, name: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield the entries above `after`, and then each new one as it comes."""

    @abstractmethod
    def close(self) -> None:
        """Close the file or the connections; followers end."""


def _checked(block: object) -> Block:
    if not isinstance(block, Block):
        raise NotABlock(block)
    return block


def _checked_size(bodies: list[bytes]) -> int:
    """Return the bytes of all; raise `block_too_large` for too many, of one or of all."""
    size = sum(map(len, bodies))
    if size > MAX_BLOCK and (largest := max(map(len, bodies))) > MAX_BLOCK:
        raise TimelineError(
            "block_too_large",
            f"a block of {largest:,} bytes passes the limit of {MAX_BLOCK:,};"
            " keep its content as an artifact",
            size=largest,
            limit=MAX_BLOCK,
        )
    if size > MAX_APPEND:
        raise TimelineError(
            "block_too_large",
            f"{len(bodies)} blocks at once pass the limit of {MAX_APPEND:,} bytes;"
            " append fewer at a time",
            size=size,
            limit=MAX_APPEND,
        )
    return size

"""Wake-ups between processes, and the events of a turn on their way to followers elsewhere.

A wake-up is an id alone, on one channel, over one connection a process.

    wakeups.tell("timeline/trip")                  another process may look there
    with wakeups.hearing("timeline/trip", hint):   `hint` is called in a thread, and must be quick

A wake-up says that something may have changed, and never what: whoever hears it reads the database.
So wake-ups may be lost, doubled and late, and whoever waits also looks now and then by itself.

Why coalesced: PostgreSQL takes a lock of the whole server for each commit that notifies, so one
notification for each append would halve the appends of the server. Here ids are collected for
`REST` seconds and sent in one statement, from all threads of the process: a process commits at most
a hundred times a second, however much it tells. docs/cluster.md has what was measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec
import psycopg
from psycopg import sql

from callblocks.cluster.cluster_database import Connection
from callblocks.cluster.turn_table import Claimed, Standing, TurnTable
from callblocks.core.errors import TimelineError
from callblocks.core.events import CallAnswered, CallAsked, TurnBegan, TurnEnded, TurnEvent
from callblocks.core.json_values import plain
from callblocks.session.event_gate import Logged, TurnLog
from callblocks.timeline.log.postgres_store import connect, told

__all__ = (
    "REST",
    "Hint",
    "TurnFeed",
    "Wakeups",
    "decode_events",
    "timeline_id",
    "turn_id",
)

Hint: TypeAlias = Callable[[], None]

# Seconds between two sends.
REST = 0.01
# The database limits a payload to 8,000 bytes; an id has at most about 120.
_PAYLOAD = 7000
_PAUSE = 0.2
_IDLE = 5.0


def timeline_id(name: str) -> str:
    """Return the id of a timeline that grew."""
    return f"timeline/{name}"


class Wakeups:
    """The wake-ups of one process; a thread of its own sends and receives them."""

    def __init__(self, address: str, *, sender: str = "") -> None:
        self._address = address
        # A process hears its own at once, and passes over what comes back.
        self._sender = sender or f"{socket.gethostname()}/{os.getpid()}"
        self._lock = threading.Lock()
        self._unsent: dict[str, None] = {}
        self._hints: dict[str, list[Hint]] = defaultdict(list)
        self._orders: set[str] = set()
        self._inner, self._outer = os.pipe()
        os.set_blocking(self._inner, False)
        os.set_blocking(self._outer, False)
        self._is_closed = False
        self._sent = 0.0
        self._channel = "callblocks_wakeups"
        self.commits = 0
        self._thread = threading.Thread(target=self._run, name="callblocks-wakeups", daemon=True)
        self._thread.start()

    def tell(self, *ids: str) -> None:
        """Wake whoever waits for these ids, here and elsewhere."""
        self._hear(ids)
        with self._lock:
            is_first = not self._unsent
            self._unsent.update(dict.fromkeys(ids))
        if is_first and ids:
            self._nudge()

    @contextmanager
    def hearing(self, id: str, hint: Hint, *, is_order: bool = False) -> Generator[None]:
        """Call `hint` for each wake-up of an id; also when some may have been lost.

        A hint that does something by itself, and does not only look, is an order: it is called for
        a wake-up alone.
        """
        with self._lock:
            self._hints[id].append(hint)
            if is_order:
                self._orders.add(id)
        try:
            yield
        finally:
            with self._lock:
                self._hints[id].remove(hint)
                if not self._hints[id]:
                    del self._hints[id]
                    self._orders.discard(id)

    def close(self) -> None:
        """Send what waits, and end the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        self._nudge()
        self._thread.join()
        os.close(self._inner)
        os.close(self._outer)

    def _nudge(self) -> None:
        # A full pipe wakes the thread just as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self._outer, b"x")

    def _run(self) -> None:
        while not self._is_closed:
            try:
                with told(self._address), connect(self._address) as connection:
                    # The channel is that of the schema: two clusters may share a database.
                    row = connection.execute("select current_schema()").fetchone()
                    schema = row[0] if row and row[0] else "public"
                    self._channel = f"callblocks_{schema}"[:60]
                    connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
                    # Whatever was told while nobody listened is lost.
                    self._hear(self._known())
                    self._serve(connection)
            except TimelineError:
                time.sleep(0 if self._is_closed else _PAUSE)

    def _serve(self, connection: Connection) -> None:
        while True:
            wait = self._wait()
            if wait is not None and wait <= 0:
                self._send(connection)
                if self._is_closed:
                    return
                continue
            ready, _, _ = select.select([connection.fileno(), self._inner], [], [], wait or _IDLE)
            if self._inner in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._inner, 4096)
            if connection.fileno() in ready:
                connection.pgconn.consume_input()
            self._receive(connection)
            if self._is_closed and self._wait() is None:
                return

    def _wait(self) -> float | None:
        """Return the seconds until the next send; `None` where nothing is to be sent."""
        with self._lock:
            if not self._unsent:
                return None
        return 0.0 if self._is_closed else self._sent + REST - time.monotonic()

    def _send(self, connection: Connection) -> None:
        with self._lock:
            ids, self._unsent = list(self._unsent), {}
        self._sent = time.monotonic()
        connection.execute(
            "select pg_notify(%s, payload) from unnest(%s::text[]) as payload",
            (self._channel, list(_payloads(self._sender, ids))),
        )
        self.commits += 1
        # Notifications that came with the answer were read from the socket already.
        self._receive(connection)

    def _receive(self, connection: Connection) -> None:
        while (found := connection.pgconn.notifies()) is not None:
            sender, *ids = found.extra.decode().split("\n")
            if sender != self._sender:
                self._hear(ids)
        if connection.pgconn.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection was lost")

    def _hear(self, ids: Iterable[str]) -> None:
        with self._lock:
            hints = [hint for id in ids for hint in self._hints.get(id, ())]
        for hint in hints:
            hint()

    def _known(self) -> list[str]:
        with self._lock:
            return [id for id in self._hints if id not in self._orders]


def _payloads(sender: str, ids: Iterable[str]) -> Generator[str]:
    """Yield the ids in as few payloads as hold them; the first line names the sender."""
    some: list[str] = [sender]
    size = 0
    for id in ids:
        if size + len(id) > _PAYLOAD:
            yield "\n".join(some)
            some, size = [sender], 0
        some.append(id)
        size += len(id) + 1
    yield "\n".join(some)


# --- The events of a running turn, on their way to followers in other processes ---
#
# A worker tells its events to a feed, which writes them into the database by the batch and wakes
# the
# followers. A follower reads the batches of the turn's present fence, by number, so that all of
# them
# see the same events in the same order, whichever process they are connected to. Events are kept
# until a while after the end of the turn; from then on the timeline says all.

# Seconds between two batches: nobody sees them, and each is a commit.
_REST = 0.03
_FEED_PAUSE = 0.5

_decoder = msgspec.json.Decoder(list[Logged])
_encoder = msgspec.json.Encoder()


def turn_id(id: int) -> str:
    """Return the id by which followers of a turn are woken."""
    return f"turn/{id}"


def decode_events(body: bytes) -> list[Logged]:
    """Return the events of a batch."""
    return _decoder.decode(body)


def _encode(events: list[Logged]) -> bytes:
    try:
        return _encoder.encode(events)
    except (ValueError, TypeError, RecursionError, OverflowError):
        # A lone surrogate, or a value outside JSON: the batch is washed, and the rest of it kept.
        washed: Any = plain(msgspec.to_builtins(events))
        return _encoder.encode(washed)


class TurnFeed:
    """The events of one claim on a turn. In one event loop."""

    def __init__(
        self, table: TurnTable, wakeups: Wakeups, claimed: Claimed, last: Callable[[], int]
    ) -> None:
        self._table = table
        self._wakeups = wakeups
        self._claimed = claimed
        self._log = TurnLog(last)
        self._number = self._sent = 0
        self._more = asyncio.Event()
        self._is_over = False
        self._turn = ""
        self._asked: dict[str, bool] = {}
        self._told: Standing | None = None
        self._sending = asyncio.ensure_future(self._send())

    def tell(self, event: TurnEvent) -> None:
        """Take an event. One interrupted by the end of a worker has no end yet."""
        match event:
            case TurnBegan(member="", turn=turn):
                self._turn = turn
            case CallAsked(approval=approval):
                self._asked[approval] = True
            case CallAnswered(approval=approval):
                self._asked[approval] = False
            case TurnEnded(member="", status="interrupted"):
                return
            case _:
                pass
        self._log.tell(event)
        self._more.set()

    async def close(self) -> None:
        """Send what is left."""
        self._is_over = True
        self._more.set()
        await self._sending

    async def _send(self) -> None:
        while not (self._is_over and self._sent == len(self._log.events)):
            await self._more.wait()
            self._more.clear()
            try:
                await self._send_batch()
            except TimelineError:
                # The server is away: the batch keeps its number, and is sent again.
                if self._is_over:
                    return
                self._more.set()
                await asyncio.sleep(_FEED_PAUSE)
            if not self._is_over:
                await asyncio.sleep(_REST)

    async def _send_batch(self) -> None:
        batch = self._log.events[self._sent :]
        if not batch:
            return
        waiting = [approval for approval, is_open in self._asked.items() if is_open]
        standing = Standing(self._turn, waiting, list(self._asked))
        is_new = standing != self._told
        body, number = _encode(batch), self._number

        def publish() -> None:
            self._table.publish(self._claimed, number, body, standing if is_new else None)

        await asyncio.to_thread(publish)
        self._told = standing
        self._sent += len(batch)
        self._number += 1
        self._wakeups.tell(turn_id(self._claimed.id))

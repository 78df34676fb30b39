"""Which workers live: a lock of the session, and a sign each half second.

A worker is dead
    - when its lock is gone and its sign is a second old: its process, or its connection, ended
    - when its sign is older than `silence`: it is stopped, cut off, or its machine is
    - when somebody said so before and did not come to the end of it

The lock tells of a kill at once, because the server ends the session with the socket. It cannot
tell of a stopped process, whose socket stays open; the sign can. Both are read by the clock of the
server, so that no machine's clock counts.

A watcher judges only once its own connection is older than `silence`. After the server was started
anew all signs are old and all locks are gone; by then everybody who lives has connected again.

A worker that finds itself dead, because it was stopped for too long, must not go on: `lost` is
called, and its turns are others'. Its appends are refused in any case, by their fence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import LiteralString

from callblocks.cluster.database import Connection
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.postgres_link import connect, told

__all__ = ("Liveness",)

# The first half of the key of each worker's lock: `cbwk`.
_CLASS = 0x6362776B
_BEAT = 0.5
_GONE = 1.0
_JOIN: LiteralString = "insert into callblocks_workers (name, format) values (%s, %s) returning id"
_SIGN: LiteralString = (
    "update callblocks_workers set beat = clock_timestamp()"
    " where id = %s and not is_dead returning id"
)
_DEAD: LiteralString = """
select id, name from callblocks_workers as worker
where id <> %(own)s and (
    is_dead
    or beat < clock_timestamp() - make_interval(secs => %(silence)s)
    or beat < clock_timestamp() - make_interval(secs => %(gone)s) and not exists (
        select from pg_locks where locktype = 'advisory' and granted
            and classid = %(class)s and objid = worker.id
            and database = (select oid from pg_database where datname = current_database())
    )
)
"""


class Liveness:
    """The signs of one worker, and its watch over the others, in a thread.

    `reap` is called with the number and the name of a dead worker, again and again until it
    returns without an error; then nobody remembers that worker. Two watchers may reap one at a
    time, so it can be repeated and interrupted.
    """

    def __init__(
        self,
        address: str,
        name: str,
        format: int,
        *,
        reap: Callable[[int, str], None],
        lost: Callable[[], None],
        silence: float = 3.0,
    ) -> None:
        self._address = address
        self._silence = silence
        self._reap = reap
        self._lost = lost
        self._end = threading.Event()
        with told(address), connect(address) as connection:
            row = connection.execute(_JOIN, (name, format)).fetchone()
        assert row is not None, "an insert returns its row"
        self.id: int = row[0]
        self.takeovers = 0
        self._threads = [
            threading.Thread(
                target=self._run, args=(serve,), name="callblocks-liveness", daemon=True
            )
            for serve in (self._give_signs, self._watch)
        ]

    def start(self) -> None:
        """Begin to give signs, and to watch."""
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        """End the signs; what is left of this worker is reaped at once by the others."""
        self._end.set()
        for thread in self._threads:
            thread.join()
        with told(self._address), connect(self._address) as connection:
            connection.execute(
                "update callblocks_workers set is_dead = true where id = %s", (self.id,)
            )

    def _run(self, serve: Callable[[Connection], None]) -> None:
        while not self._end.is_set():
            try:
                with told(self._address), connect(self._address) as connection:
                    serve(connection)
            except TimelineError:
                # The server is away, or starts anew.
                self._end.wait(0.2)

    def _give_signs(self, connection: Connection) -> None:
        connection.execute("select pg_advisory_lock(%s, %s)", (_CLASS, self.id))
        while not self._end.is_set():
            if connection.execute(_SIGN, (self.id,)).fetchone() is None:
                self._end.set()
                self._lost()
            self._end.wait(_BEAT)

    # In a thread of its own: reaping may wait for locks, and this worker must give signs meanwhile.
    def _watch(self, connection: Connection) -> None:
        values = {"own": self.id, "silence": self._silence, "gone": _GONE, "class": _CLASS}
        self._end.wait(self._silence + _BEAT)
        while not self._end.is_set():
            for id, name in connection.execute(_DEAD, values).fetchall():
                self._reap(id, name)
                connection.execute(
                    "delete from callblocks_workers where id = %s and is_dead", (id,)
                )
                self.takeovers += 1
            self._end.wait(_BEAT)

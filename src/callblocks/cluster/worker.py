"""A worker: takes turns from the engine, runs each as a session does, and watches other workers.

    worker = Worker(cluster, host)
    await worker.run()          until `drain` was called, or the worker lost its turns

Life of a turn here
    claim     The row of the turn says that it is ours, with a new fence. A job of an earlier
              attempt ends here.
    run       A new turn is begun on the timeline, with its number in the table as its owner. So a
              later worker finds out from the timeline alone whether the turn was begun: then it is
              resumed, as after a crash on one machine. Calls under way are `indeterminate`.
    end       The row of the turn says how it ended. Until then the turn is ours, so this is tried
              until the database answers.

A worker that is drained hands its turns back, and they go on elsewhere. One that finds itself dead
stops everything at once: what it still wants to write is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, LiteralString, TypeVar
from uuid import uuid4

import msgspec

from callblocks.approvals.question import BookAsker
from callblocks.cluster.cluster_database import Connection, Database, prepare_cluster
from callblocks.cluster.shared_state import SharedJournal, SharedParts
from callblocks.cluster.turn_table import Claimed, TurnTable
from callblocks.cluster.turns import FORMAT, ClusterLimits, Job, TurnEngine
from callblocks.cluster.wakeups import TurnFeed, Wakeups, turn_id
from callblocks.core.errors import CallblocksError, TimelineError
from callblocks.core.events import CallAsked, CallBegan, Status, TurnBegan, TurnEnded, TurnEvent
from callblocks.models.model import Usage
from callblocks.session.event_gate import QUARANTINED
from callblocks.session.host import Host
from callblocks.session.session import Session
from callblocks.session.traces import begin_turn
from callblocks.session.turn_lock import cluster_owner
from callblocks.timeline.log.postgres_store import connect, told
from callblocks.timeline.timeline import Claim

__all__ = (
    "STOPS",
    "Cluster",
    "Liveness",
    "Worker",
    "approval_id",
    "cancel_id",
)

_LOG = logging.getLogger("callblocks.cluster")
# The id by which workers are woken when a turn is to be stopped.
STOPS = "stops"
_SWEEP = 1.0
_FORGET = 30.0
_STRAYS = 2.0
_WAITED = 3.0
_KEPT_JOBS = 3600.0
_PAUSE = 0.5

T = TypeVar("T")


def approval_id(approval: str) -> str:
    """Return the id by which the worker of a question is woken."""
    return f"approval/{approval}"


def cancel_id(turn: int, call: str) -> str:
    """Return the id by which the worker of a call is woken, to cancel it."""
    return f"cancel/{turn}/{call}"


class Cluster:
    """What one process has of a cluster: connections, the table of turns, and the engine.

    `files` is the folder of the working copies of turns' files; also of the artifacts, which all
    processes share, unless the settings of the host name another place for these.
    """

    def __init__(
        self,
        address: str,
        files: Path,
        engine: Callable[[str, ClusterLimits], TurnEngine],
        limits: ClusterLimits | None = None,
    ) -> None:
        self.address = address
        self.limits = limits or ClusterLimits()
        with ExitStack() as stack:
            # The timelines have tables of their own, which ours go with.
            prepare_cluster(address)
            self.database = Database(address)
            stack.callback(self.database.close)
            self.wakeups = Wakeups(address)
            stack.callback(self.wakeups.close)
            self.engine = engine(address, self.limits)
            stack.callback(self.engine.close)
            self._stack = stack.pop_all()
        self.table = TurnTable(self.database, self.limits)
        self.parts = SharedParts(self.database, self.wakeups, files)

    def enqueue(self, job: Job) -> None:
        """Hand a job to the engine; if that fails, the workers find it in the table."""
        try:
            self.engine.enqueue(job)
            self.table.enqueued(job)
        # Whatever an engine raises: the turn is kept, and nobody is to be told.
        except Exception as error:
            _LOG.warning("%s waits for the next look: %s", job.id, error)

    def sweep(self, age: float = 0.0) -> None:
        """Enqueue what the engine does not have, though it is older than some seconds."""
        for job in self.table.unqueued(age):
            self.enqueue(job)

    def close(self) -> None:
        """Close the connections."""
        self._stack.close()


class Worker:
    """One worker, in the event loop of its host; `count` gets all events of its turns."""

    def __init__(
        self,
        cluster: Cluster,
        host: Host,
        count: Callable[[TurnEvent], None] = lambda event: None,
    ) -> None:
        self._cluster = cluster
        self._table = cluster.table
        self._host = host
        self._count = count
        self._asker = BookAsker(host.book)
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._look = asyncio.Event()
        self._turns: dict[int, tuple[Session, asyncio.Task[Any]]] = {}
        self._running: set[asyncio.Task[Any]] = set()
        self._is_draining = False
        self.is_lost = False
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._liveness = Liveness(
            cluster.address,
            self.name,
            FORMAT,
            reap=self._reap,
            lost=self._lost,
            silence=cluster.limits.silence,
        )

    @property
    def running(self) -> int:
        """Return the number of turns that run here."""
        return len(self._turns)

    async def run(self) -> None:
        """Work until the worker is drained or lost."""
        self._liveness.start()
        await asyncio.to_thread(self._cluster.engine.work, self.name, self._perform)
        forgotten = looked = 0.0
        with self._cluster.wakeups.hearing(STOPS, self._hint):
            while not self._end.is_set():
                with suppress(TimelineError):
                    await asyncio.to_thread(self._cluster.sweep, _SWEEP)
                    await self._stop_asked()
                    if (now := self._loop.time()) - looked > _STRAYS:
                        looked = now
                        await asyncio.to_thread(self._find_strays)
                    if (now := self._loop.time()) - forgotten > _FORGET:
                        forgotten = now
                        await asyncio.to_thread(self._forget)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._look.wait(), _SWEEP)
                self._look.clear()

    async def drain(self, grace: float) -> None:
        """Take no more turns; hand back those that do not end within some seconds."""
        self._is_draining = True
        self._cluster.engine.rest()
        for seconds in (grace, 10.0):
            if self._running:
                await asyncio.wait(self._running, timeout=seconds)
            for task in self._running:
                task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._end.set()
        self._look.set()
        if not self.is_lost:
            with suppress(TimelineError):
                await asyncio.to_thread(self._liveness.leave)
                await asyncio.to_thread(self._cluster.sweep)

    # --- In threads of the engine, of liveness and of wake-ups ---

    def _perform(self, job: Job) -> None:
        """Run a job to its end; called in a thread of the engine."""
        with suppress(FutureCancelled, RuntimeError):
            asyncio.run_coroutine_threadsafe(self._task(job), self._loop).result()

    def _lost(self) -> None:
        self._loop.call_soon_threadsafe(self._lose)

    def _find_strays(self) -> None:
        """Return jobs to the queue that workers took after others had taken them for dead.

        Nobody would look for these again: whoever reaped such a worker has forgotten it. The jobs
        are read first, so that a worker that begins meanwhile is among the living. Such a worker
        may also have ended a job whose claim was refused, and nothing more.
        """
        # Whatever an engine raises: it is tried again.
        with suppress(Exception):
            taken = self._cluster.engine.taken()
            living = self._table.living()
            strays = [job for job, worker in taken if worker not in living]
            strays += self._cluster.engine.over(self._table.waiting_longest(_WAITED))
            if strays:
                self._table.again(strays)
                self._cluster.engine.withdraw(strays)
                self._cluster.sweep()

    def _forget(self) -> None:
        self._table.forget_old()
        # Whatever an engine raises: it is tried again.
        with suppress(Exception):
            self._cluster.engine.forget_old(_KEPT_JOBS)

    def _hint(self) -> None:
        self._loop.call_soon_threadsafe(self._look.set)

    def _reap(self, id: int, name: str) -> None:
        """Hand the turns of a dead worker to others; may be called again, and by two at once."""
        # The turns first: from then on their worker can write nothing.
        count = self._table.take_from(id)
        jobs = self._cluster.engine.taken_by(name)
        self._table.again(jobs)
        self._cluster.engine.withdraw(jobs)
        self._cluster.sweep()
        words = "worker %s is gone; %d turns and %d jobs go on elsewhere"
        _LOG.warning(words, name, count, len(jobs))

    # --- In the event loop ---

    def _lose(self) -> None:
        """Stop everything: the others took this worker for dead, and have its turns."""
        self.is_lost = True
        self._cluster.engine.rest()
        for task in self._running:
            task.cancel()
        self._end.set()
        self._look.set()

    async def _task(self, job: Job) -> None:
        task = asyncio.current_task()
        assert task is not None, "a coroutine of ours runs in a task"
        self._running.add(task)
        try:
            await self._run(job, task)
        finally:
            self._running.discard(task)

    async def _run(self, job: Job, task: asyncio.Task[Any]) -> None:
        if self.is_lost or self._is_draining:
            await self._insist(lambda: self._table.again([job]))
            return
        claimed = await self._insist(lambda: self._table.claim(job, self._liveness.id))
        if claimed is None:
            # The others may have taken this worker for dead a moment ago: the turn still waits, and
            # the engine counts the job as done. That of an earlier attempt changes nothing.
            await self._insist(lambda: self._table.again([job]))
            return
        try:
            ended = await self._play(claimed, task)
        except asyncio.CancelledError:
            if not self.is_lost:
                await self._insist(lambda: self._table.give_back(claimed))
                await asyncio.to_thread(self._cluster.sweep)
            raise
        except CallblocksError as error:
            ended = TurnEnded(turn="", status="failed", code="not_begun", message=str(error))
        except Exception:
            # A mistake of ours: it is told to whoever runs the worker, and the turn has an end.
            _LOG.exception("turn %d of %s broke off", claimed.id, claimed.timeline)
            words = "the worker made a mistake"
            ended = TurnEnded(turn="", status="failed", code="worker_failed", message=words)
        is_quarantined = ended.code == QUARANTINED.code
        await self._insist(
            lambda: self._table.end(
                claimed, ended.status, ended.code, ended.message, is_quarantined=is_quarantined
            )
        )
        self._cluster.wakeups.tell(turn_id(claimed.id))

    async def _play(self, claimed: Claimed, task: asyncio.Task[Any]) -> TurnEnded:
        claim = Claim(cluster_owner(claimed.id), claimed.fence)
        journal = self._host.journal
        if isinstance(journal, SharedJournal):
            journal = journal.claimed(claimed.timeline, claimed.fence)
        await asyncio.to_thread(
            self._cluster.parts.renew_copy, claimed.timeline, claimed.before, claimed.fence
        )
        with ExitStack() as stack:
            session = stack.enter_context(
                self._host.claimed_session(claimed.timeline, self._asker, claim, journal)
            )
            session.user = claimed.user
            state = await asyncio.to_thread(lambda: session.recorder.state)
            feed = TurnFeed(self._table, self._cluster.wakeups, claimed, lambda: state.last)
            self._turns[claimed.id] = session, task
            trace = begin_turn(
                claimed.timeline,
                claimed.request.trace,
                waited=claimed.waited,
                deaths=claimed.deaths,
            )
            try:

                def tell(event: TurnEvent) -> None:
                    if isinstance(event, TurnBegan) and not event.member and claimed.is_stopped:
                        session.stop()
                    if isinstance(event, CallAsked):
                        stack.enter_context(self._answers(event.approval))
                    if isinstance(event, CallBegan):
                        stack.enter_context(self._cancels(claimed, session, event.id))
                    feed.tell(event)
                    self._count(event)
                    if trace is not None:
                        trace.tell(event)

                return await self._play_session(claimed, claim, session, tell)
            finally:
                del self._turns[claimed.id]
                if trace is not None:
                    trace.close()
                await _to_the_end(feed.close())

    async def _play_session(
        self,
        claimed: Claimed,
        claim: Claim,
        session: Session,
        tell: Callable[[TurnEvent], None],
    ) -> TurnEnded:
        state, request = session.recorder.state, claimed.request
        last = next(reversed(state.owners), "")
        is_begun = state.owners.get(last) == claim.owner
        status = state.ended.get(last) if is_begun else None
        if status is not None and status != "interrupted":
            # The worker before died between the end of the turn and its row.
            return TurnEnded(turn=last, status=msgspec.convert(status, Status))
        if claimed.deaths >= self._cluster.limits.deaths:
            ended = session.settle(QUARANTINED) or QUARANTINED.event("", Usage())
            tell(ended)
            return ended
        if is_begun or request.is_resumed:
            resumed = await session.resume(tell=tell)
            if resumed is not None:
                return resumed
            if request.is_resumed:
                return TurnEnded(turn="", status="failed", code="nothing_to_resume")
        if claimed.is_stopped:
            return TurnEnded(turn="", status="stopped", code="stopped")
        return await session.run(
            request.prompt,
            request.attachments,
            request.choice,
            tell=tell,
            branch=request.branch,
            calls=request.calls,
        )

    def _answers(self, approval: str) -> contextlib.AbstractContextManager[None]:
        """Wake the asker when another process has the answer."""

        def hint() -> None:
            self._loop.call_soon_threadsafe(self._asker.wake, approval)

        return self._cluster.wakeups.hearing(approval_id(approval), hint)

    def _cancels(
        self, claimed: Claimed, session: Session, call: str
    ) -> contextlib.AbstractContextManager[None]:
        """Cancel one call when a replica asks for it."""

        def hint() -> None:
            self._loop.call_soon_threadsafe(session.cancel, call)

        return self._cluster.wakeups.hearing(cancel_id(claimed.id, call), hint, is_order=True)

    async def _stop_asked(self) -> None:
        for id in await asyncio.to_thread(self._table.stopped, self._liveness.id):
            if id in self._turns:
                self._turns[id][0].stop()

    async def _insist(self, work: Callable[[], T]) -> T:
        """Do what must be done, however long the database is away; a lost worker gives up."""
        while True:
            try:
                return await asyncio.to_thread(work)
            except TimelineError as error:
                if self.is_lost:
                    raise asyncio.CancelledError from error
                _LOG.warning("the database does not answer: %s", error)
            await asyncio.sleep(_PAUSE)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for some work also where this task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,), timeout=5)
        raise


# --- Which workers live: a lock of the session, and a sign each half second ---
#
# A worker is dead
#     - when its lock is gone and its sign is a second old: its process, or its connection, ended
#     - when its sign is older than `silence`: it is stopped, cut off, or its machine is
#     - when somebody said so before and did not come to the end of it
#
# The lock tells of a kill at once, because the server ends the session with the socket. It cannot
# tell of a stopped process, whose socket stays open; the sign can. Both are read by the clock of
# the server, so that no machine's clock counts.
#
# A watcher judges only once its own connection is older than `silence`. After the server was
# started anew all signs are old and all locks are gone; by then everybody who lives has connected
# again. By signs it judges only while its own is in time, and twice in a row: after the server, or
# this process, stood still, the signs of others are as late as its own, and come a moment later.
#
# A worker that finds itself dead, because it was stopped for too long, must not go on: `lost` is
# called, and its turns are others'. Its appends are refused in any case, by their fence.

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
select id, name, is_sure from (
    select id, name, beat, is_dead
        or beat < clock_timestamp() - make_interval(secs => %(gone)s) and not exists (
            select from pg_locks where locktype = 'advisory' and granted
                and classid = %(class)s and objid = worker.id
                and database = (select oid from pg_database where datname = current_database())
        ) as is_sure
    from callblocks_workers as worker where id <> %(own)s
) as judged
where is_sure or beat < clock_timestamp() - make_interval(secs => %(silence)s)
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
        # When this worker gave its last sign.
        self._signed = time.monotonic()
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
            self._signed = time.monotonic()
            self._end.wait(_BEAT)

    # In a thread of its own: reaping may wait for locks, and this worker must give signs meanwhile.
    def _watch(self, connection: Connection) -> None:
        values = {"own": self.id, "silence": self._silence, "gone": _GONE, "class": _CLASS}
        self._end.wait(self._silence + _BEAT)
        silent: set[int] = set()
        while not self._end.is_set():
            found = connection.execute(_DEAD, values).fetchall()
            is_late = time.monotonic() - self._signed > self._silence / 2
            for id, name, is_sure in found:
                if is_sure or (id in silent and not is_late):
                    self._reap(id, name)
                    connection.execute(
                        "delete from callblocks_workers where id = %s and is_dead", (id,)
                    )
                    self.takeovers += 1
            silent = set() if is_late else {id for id, _, _ in found}
            self._end.wait(_BEAT)

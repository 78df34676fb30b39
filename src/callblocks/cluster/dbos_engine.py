"""The engine on DBOS: one workflow and one step for each job. Only this file knows DBOS.

DBOS keeps jobs in the same database, in a schema of its own. Each user is a partition of the queue,
so a user with many turns does not hold up others: a worker goes through the partitions in random
order, and each has `running` places. The format of a turn is part of the queue's name, so a worker
takes only what it understands.

What is not used, and why
    - its serializer, which is pickle: whoever can write to the database could run code in workers
    - its recovery of another executor's workflows, which is sold separately: our own liveness and
      fences do that, and a job that is taken over gets a new workflow
    - its steps for model and tool calls: the timeline is the journal of these

The interface of DBOS moves often: the extra pins one version.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from dbos import DBOS, DBOSClient, DBOSConfig
from dbos._serialization import DBOSPortableJSONSerializer

from callblocks.cluster.cluster_database import Connection
from callblocks.cluster.turns import FORMAT, ClusterLimits, Job, Perform
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.postgres_store import connect, told

__all__ = ("DbosEngine",)

_APPLICATION = "callblocks"
# One version for all workers: which turns a worker understands is said by the queue.
_VERSION = "1"
_WORKFLOW = "callblocks.turn"
_MIGRATION = 120.0
# Jobs that are deleted at once, and how often without a pause.
_SOME = 500
_ROUNDS = 20


class DbosEngine:
    """Jobs in DBOS; a process that only enqueues starts no thread of it."""

    def __init__(self, address: str, limits: ClusterLimits) -> None:
        self._limits = limits
        self._url = _url(address)
        self._schema = _schema(address)
        self._dbos: DBOS | None = None
        # Quiet: it says at each start what a user has not asked for.
        logging.getLogger("dbos").setLevel(logging.ERROR)
        with _alone(address):
            DBOS.migrate(self._url, schema=self._schema)
        self._client = DBOSClient(
            system_database_url=self._url,
            dbos_system_schema=self._schema,
            serializer=DBOSPortableJSONSerializer(),
            application_name=_APPLICATION,
            # A server that is away is an error: the table keeps the job until it is back.
            retry_connection_errors=False,
        )

    def enqueue(self, job: Job) -> None:
        """Take a job; one that it has already is left as it is."""
        options: dict[str, Any] = {
            "workflow_name": _WORKFLOW,
            "queue_name": _queue(job.format),
            "workflow_id": job.id,
            "app_version": _VERSION,
            # A partition has a name of at least one character.
            "queue_partition_key": job.user or "-",
        }
        if job.delay > 0:
            options["delay_seconds"] = job.delay
        self._client.enqueue(options, job.id)  # pyright: ignore[reportArgumentType] a dict of its names

    def withdraw(self, jobs: Sequence[Job]) -> None:
        """Forget jobs, whether they wait or run; unknown ones are passed over."""
        if jobs:
            self._client.cancel_workflows([job.id for job in jobs])

    def taken_by(self, worker: str) -> list[Job]:
        """Return the jobs that a worker has taken and not ended."""
        found = self._client.list_workflows(
            status="PENDING", executor_id=worker, load_input=False, load_output=False
        )
        return [job for one in found if (job := Job.read(one.workflow_id)) is not None]

    def taken(self) -> list[tuple[Job, str]]:
        """Return all jobs that were taken and not ended, each with its worker."""
        found = self._client.list_workflows(status="PENDING", load_input=False, load_output=False)
        named = [(Job.read(one.workflow_id), one.executor_id or "") for one in found]
        return [(job, worker) for job, worker in named if job is not None]

    def over(self, jobs: Sequence[Job]) -> list[Job]:
        """Return those of some jobs that ended, or are not known."""
        if not jobs:
            return []
        found = self._client.list_workflows(
            workflow_ids=[job.id for job in jobs],
            status=["ENQUEUED", "DELAYED", "PENDING"],
            load_input=False,
            load_output=False,
        )
        there = {one.workflow_id for one in found}
        return [job for job in jobs if job.id not in there]

    def forget_old(self, seconds: float) -> None:
        """Delete jobs that ended more than some seconds ago: the table knows how."""
        latest = datetime.now(UTC) - timedelta(seconds=seconds)
        for _ in range(_ROUNDS):
            found = self._client.list_workflows(
                status=["SUCCESS", "CANCELLED", "ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
                completed_before=latest.isoformat(),
                load_input=False,
                load_output=False,
                limit=_SOME,
            )
            if found:
                self._client.delete_workflows([one.workflow_id for one in found])
            if len(found) < _SOME:
                return

    def work(self, worker: str, perform: Perform) -> None:
        """Begin to take jobs as that worker; `perform` runs each in a thread, to its end."""
        limits = self._limits
        config: DBOSConfig = {
            "name": _APPLICATION,
            "system_database_url": self._url,
            "dbos_system_schema": self._schema,
            "application_version": _VERSION,
            "executor_id": worker,
            "serializer": DBOSPortableJSONSerializer(),
            "max_executor_threads": limits.turns + 4,
            "sys_db_pool_size": 6,
            "run_migrations": False,
            "log_level": "ERROR",
            "enable_otlp": False,
        }
        self._dbos = DBOS(config=config)

        def step(id: str) -> None:
            if (job := Job.read(id)) is not None:
                perform(job)

        @DBOS.workflow(name=_WORKFLOW)
        def turn(id: str) -> None:
            DBOS.run_step({"name": "run"}, step, id)

        # A worker of format 2 also takes what waits in the queue of format 1.
        queues = [_queue(format) for format in range(1, FORMAT + 1)]
        DBOS.listen_queues(queues)
        DBOS.launch()
        rate: Any = {"limit": limits.rate, "period": limits.period} if limits.rate else None
        for queue in queues:
            DBOS.register_queue(
                queue,
                worker_concurrency=limits.turns,
                partition_concurrency=limits.running,
                partition_limiter=rate,
                polling_interval_sec=limits.poll,
                on_conflict="always_update",
            )
        self._workflow = turn

    def rest(self) -> None:
        """Take no more jobs; those that were taken go on."""
        if self._dbos is not None:
            for event in self._dbos.background_thread_stop_events:
                event.set()

    def close(self) -> None:
        """Let go of everything."""
        if self._dbos is not None:
            # It waits for threads that may hang in a server that is away.
            ending = threading.Thread(target=_destroy, daemon=True)
            ending.start()
            ending.join(10)
            self._dbos = None
        self._client.destroy()


@contextmanager
def _alone(address: str) -> Generator[None]:
    """Let one process at a time migrate.

    The lock is tried and not waited for: a statement that waits has a snapshot, and an index that
    is made meanwhile (`concurrently`) would wait for that.
    """
    with told(address), connect(address) as connection:
        latest = time.monotonic() + _MIGRATION
        while not _tried(connection):
            if time.monotonic() > latest:
                raise TimelineError("store_busy", "another process migrates the tables of DBOS")
            time.sleep(0.1)
        yield


def _tried(connection: Connection) -> bool:
    row = connection.execute("select pg_try_advisory_lock(7162817358327838)").fetchone()
    return row is not None and row[0]


def _destroy() -> None:
    with suppress(Exception):
        DBOS.destroy(destroy_registry=True)


def _queue(format: int) -> str:
    return f"callblocks-turns-{format}"


def _schema(address: str) -> str:
    """Return the schema for DBOS: beside that of our tables, so that two clusters may share."""
    with told(address), connect(address) as connection:
        row = connection.execute("select current_schema()").fetchone()
    schema = row[0] if row and row[0] else "public"
    return "callblocks_dbos" if schema == "public" else f"{schema}_dbos"[:63]


def _url(address: str) -> str:
    """Return the address as the driver of DBOS takes it: without a search path."""
    from urllib.parse import parse_qsl

    parts = urlsplit(address)
    query = [pair for pair in parse_qsl(parts.query) if pair[0] != "options"]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))

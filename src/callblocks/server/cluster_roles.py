"""The roles of a process in a cluster: a replica that answers clients, a worker, or both.

    serve_role("api", settings, cluster, open_host)

SIGTERM and SIGINT end a process. A replica ends its streams, and the clients come back to another
one. A worker takes no more turns, lets those that run end for a while, and hands back the others.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from threading import Event
from types import FrameType
from typing import Literal, TypeAlias

from callblocks.cluster.worker import Cluster, Worker
from callblocks.core.errors import CallblocksError
from callblocks.server.app import ENDPOINTS, PROBES, serve
from callblocks.server.chats.cluster_chats import ClusterChats
from callblocks.server.http.monitoring import Metrics
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host, OpenParts

__all__ = ("Role", "WorkerLost", "serve_role")

Role: TypeAlias = Literal["api", "worker", "both"]
_LOG = logging.getLogger("callblocks.cluster")
OpenHost: TypeAlias = Callable[[OpenParts], Host]


class WorkerLost(CallblocksError):
    """The others took this worker for dead; whoever started it is to start it again."""


def serve_role(
    role: Role,
    settings: ServerSettings,
    cluster: Cluster,
    open_host: OpenHost,
    told: Callable[[str], None] = lambda address: None,
) -> None:
    """Do the work of a role until stopped; `told` gets the address once it answers.

    A worker answers probes and `/metrics` alone. `WorkerLost` where one was stopped for so long
    that others have its turns.
    """
    workers: list[Worker] = []

    def make_chats(host: Host, metrics: Metrics, limit: int) -> ClusterChats:
        chats = ClusterChats(cluster, host, metrics)
        if role == "api":
            return chats
        workers.append(Worker(cluster, host, metrics.count))
        metrics.running.set_function(lambda: workers[-1].running)
        return _WorkerChats(cluster, host, metrics, workers[-1])

    endpoints = PROBES if role == "worker" else ENDPOINTS
    is_up = Event()

    def answer(address: str) -> None:
        is_up.set()
        told(address)

    def end(number: int, frame: FrameType | None) -> None:
        # The server takes the signal while it answers, and raises it again at its end; by then all
        # is done, and the process says itself how it ended.
        if not is_up.is_set():
            raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        serve(settings, lambda: open_host(cluster.parts), answer, make_chats, endpoints)
    finally:
        signal.signal(signal.SIGTERM, before)
    if any(worker.is_lost for worker in workers):
        raise WorkerLost("the others took this worker for dead, and have its turns; start it again")


class _WorkerChats(ClusterChats):
    """The chats of a process in which a worker runs, too."""

    def __init__(self, cluster: Cluster, host: Host, metrics: Metrics, worker: Worker) -> None:
        super().__init__(cluster, host, metrics)
        self._grace = cluster.limits.grace
        self._worker = worker
        self._working = asyncio.ensure_future(worker.run())
        self._working.add_done_callback(self._end)

    async def close(self, grace: float) -> None:
        """Take no more turns, and hand back those that do not end."""
        await super().close(grace)
        await self._worker.drain(self._grace)
        await asyncio.gather(self._working, return_exceptions=True)

    def _end(self, working: asyncio.Future[None]) -> None:
        # A worker that is lost, or broke, ends its process: the replica alone would hide it.
        if self._is_closing:
            return
        if not working.cancelled() and (fault := working.exception()) is not None:
            _LOG.error("the worker broke off: %s", fault)
        os.kill(os.getpid(), signal.SIGTERM)

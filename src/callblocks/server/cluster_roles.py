"""The roles of a process in a cluster: a replica that answers clients, a worker, or both.

    serve_role("api", settings, cluster, open_host)

SIGTERM and SIGINT end a process. A replica ends its streams, and the clients come back to another
one. A worker takes no more turns, lets those that run end for a while, and hands back the others.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Literal, TypeAlias

from uvicorn.loops.auto import auto_loop_factory

from callblocks.cluster.worker import Cluster, Worker
from callblocks.core.errors import CallblocksError
from callblocks.server.app import serve
from callblocks.server.chats.cluster_chats import ClusterChats
from callblocks.server.http.monitoring import Metrics
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host, OpenParts

__all__ = ("Role", "WorkerLost", "serve_role")

Role: TypeAlias = Literal["api", "worker", "both"]
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
    """Do the work of a role until stopped; `told` gets the address of a replica, or "".

    `WorkerLost` where a worker was stopped for so long that others have its turns.
    """
    if role == "worker":
        with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
            runner.run(_work(cluster, open_host, told))
        return
    workers: list[Worker] = []

    def make_chats(host: Host, metrics: Metrics, limit: int) -> ClusterChats:
        if role == "both":
            workers.append(Worker(cluster, host))
        return (
            _BothChats(cluster, host, metrics, workers)
            if workers
            else ClusterChats(cluster, host, metrics)
        )

    serve(settings, lambda: open_host(cluster.parts), told, make_chats)
    if any(worker.is_lost for worker in workers):
        raise _lost()


class _BothChats(ClusterChats):
    """The chats of a replica that is a worker, too."""

    def __init__(
        self, cluster: Cluster, host: Host, metrics: Metrics, workers: list[Worker]
    ) -> None:
        super().__init__(cluster, host, metrics)
        self._worker = workers[-1]
        self._working = asyncio.ensure_future(self._worker.run())
        self._working.add_done_callback(self._end)

    async def close(self, grace: float) -> None:
        """Take no more turns, and hand back those that do not end."""
        await super().close(grace)
        await self._worker.drain(grace)
        await asyncio.gather(self._working, return_exceptions=True)

    def _end(self, _: object) -> None:
        # A worker that is lost, or broke, ends its process: the replica alone would hide it.
        if not self._is_closing:
            os.kill(os.getpid(), signal.SIGTERM)


async def _work(cluster: Cluster, open_host: OpenHost, told: Callable[[str], None]) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    host = open_host(cluster.parts)
    try:
        worker = Worker(cluster, host)
        working = asyncio.ensure_future(worker.run())
        stopping = asyncio.ensure_future(stopped.wait())
        told("")
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await worker.drain(cluster.limits.grace)
        await working
        if worker.is_lost:
            raise _lost()
    finally:
        team = host.settings.team
        for model in [one.model for one in host.offered] if team is None else team.models:
            await model.close()
        host.close()


def _lost() -> WorkerLost:
    return WorkerLost("the others took this worker for dead, and have its turns; start it again")

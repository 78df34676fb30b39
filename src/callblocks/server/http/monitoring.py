"""The health and the counters of a server, for those who watch it."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callblocks.core.errors import TimelineError
from callblocks.core.events import CallEnded, TurnEnded, TurnEvent
from callblocks.core.outcomes import FAILURES
from callblocks.session.host import Host
from callblocks.session.traces import request_span

__all__ = ("METRICS_TYPE", "HealthCheck", "Measured", "Metrics", "State")

# --- The check of health: can a server read and write what it keeps? ---
#
# A thread of its own checks the state, so requests for it are answered while all others are busy;
# at most once a second, so such requests cost nothing. A check that hangs counts as a store that
# does not answer.


State: TypeAlias = Literal["ok", "store_unavailable", "disk_full"]

_FRESH = 1.0
"""Seconds for which a state is used again."""
_PATIENCE = 0.25
"""Seconds that a request waits for a check, where an earlier one has an answer."""
_STUCK = 10.0
"""Seconds after which a check that has not ended is a failure."""
_TRIAL = 64 * 1024
"""Bytes of the trial write: a turn needs room for some pages of the store."""


class HealthCheck:
    """Checks whether a host can read and write; made in the event loop."""

    def __init__(
        self,
        host: Host,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _PATIENCE,
        stuck: float = _STUCK,
    ) -> None:
        self._host = host
        self._stuck = stuck
        self._patience = patience
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "callblocks-health")
        self._check: asyncio.Future[State] | None = None
        """The last check, done or under way."""
        self._started = 0.0
        """When that began."""
        self._known: State | None = None
        """The state by the last check that is done and was read."""

    async def state(self) -> State:
        """Return the state; all requests within a second get the same one."""
        check = self._check
        if check is None or (check.done() and self._clock() - self._started >= _FRESH):
            loop = asyncio.get_running_loop()
            self._check = check = loop.run_in_executor(self._thread, self._state)
            self._started = self._clock()
        # A cancelled request does not end the check for the others. While the disk is busy, the
        # state of a moment ago is the answer; but not for long.
        await asyncio.wait((check,), timeout=self._patience if self._known else self._stuck)
        if check.done():
            self._known = check.result()
        elif self._known is None or self._clock() - self._started >= self._stuck:
            return "store_unavailable"
        return self._known

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False)

    def _state(self) -> State:
        try:
            self._host.store.head("health")
        except TimelineError:
            return "store_unavailable"
        try:
            for folder in self._host.folders:
                _try_writing(folder)
        except OSError:
            return "disk_full"
        return "ok"


def _try_writing(folder: Path) -> None:
    """Write something new and make it durable, as an append would; `OSError` where it cannot be.

    It must be a new file: what is written over needs no room.
    """
    made, name = tempfile.mkstemp(prefix=".health-", dir=folder)
    try:
        os.unlink(name)
        rest = memoryview(os.urandom(_TRIAL))
        while rest:
            rest = rest[os.write(made, rest) :]
        os.fsync(made)
    finally:
        os.close(made)


# --- Counters of a server, for Prometheus: turns, calls, streams, events and requests ---
#
# Labels have few values: a status, a code of ours, the pattern of an address.


METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600)
_OTHER = "other"
_TRACED = ("/api/", "/agui")


class Metrics:
    """The counts of one server; they begin with it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._turns = Counter(
            "callblocks_turns", "Turns that ended", ["status"], registry=self.registry
        )
        self._calls = Counter(
            "callblocks_calls", "Calls that ended", ["code"], registry=self.registry
        )
        self.running = Gauge(
            "callblocks_running_turns", "Turns that run now", registry=self.registry
        )
        self.streams = Gauge(
            "callblocks_streams", "Clients that follow a stream now", registry=self.registry
        )
        self.events = Counter(
            "callblocks_events_sent", "Events sent to clients", registry=self.registry
        )
        self._queue: Gauge | None = None
        self._requests = Histogram(
            "callblocks_request_seconds",
            "Seconds until a request was answered, a stream to its end",
            ["route", "status"],
            buckets=_SECONDS,
            registry=self.registry,
        )

    def count(self, event: TurnEvent) -> None:
        """Count what happens in a turn."""
        match event:
            case TurnEnded(member="", status=status):
                self._turns.labels(status).inc()
            case CallEnded(outcome=outcome):
                code = outcome.error.code if outcome.error else "ok"
                known = code == "ok" or code in FAILURES
                self._calls.labels(code if known else _OTHER).inc()
            case _:
                pass

    def queue(self, name: str, value: float) -> None:
        """Keep how the queue of a cluster stands; a server alone has none."""
        if self._queue is None:
            self._queue = Gauge(
                "callblocks_cluster",
                "The queue of the cluster: turns by their state, the seconds that the first of the"
                " queue waits, and workers",
                ["what"],
                registry=self.registry,
            )
        self._queue.labels(name).set(value)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, f"{status // 100}xx").observe(seconds)

    @contextmanager
    def following(self) -> Generator[None]:
        """Count a client while it follows."""
        with self.streams.track_inprogress():
            yield

    def text(self) -> bytes:
        """All counts, as Prometheus reads them."""
        return generate_latest(self.registry)


class Measured:
    """Measures each request under the pattern of its address."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            # Probes come all the time, and nobody asks what became of one.
            with (
                request_span(scope) if scope["path"].startswith(_TRACED) else nullcontext() as told
            ):
                try:
                    await self._app(scope, receive, note)
                finally:
                    if told is not None:
                        told(_pattern(scope), status)
        finally:
            self._metrics.answered(_pattern(scope), status, time.perf_counter() - began)


def _pattern(scope: Scope) -> str:
    route = scope.get("route")
    return route.path if isinstance(route, Route) else _OTHER

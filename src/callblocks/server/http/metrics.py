"""Counters of a server, for Prometheus: turns, calls, streams, events and requests.

Labels have few values: a status, a code of ours, the pattern of an address.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callblocks.core.events import CallEnded, TurnEnded, TurnEvent
from callblocks.core.outcomes import FAILURES

__all__ = ("METRICS_TYPE", "Measured", "Metrics")

METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600)
_OTHER = "other"


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
            await self._app(scope, receive, note)
        finally:
            route = scope.get("route")
            pattern = route.path if isinstance(route, Route) else _OTHER
            self._metrics.answered(pattern, status, time.perf_counter() - began)

"""Counters of a gateway, for Prometheus.

Labels have few values: a wire, a model of the config, a status, a code of ours. No text of a client
becomes a label.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from callblocks.gateway.exchange import Finished
from callblocks.models.model import Usage

__all__ = ("METRICS_TYPE", "Metrics")

METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 600)


class Metrics:
    """The counts of one gateway; they begin with it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self._requests = self._counter("requests", "Requests", "wire", "model", "status")
        self._calls = self._counter("calls", "Calls sent to clients", "model")
        self._remarks = self._counter("remarks", "Repairs, retries and refusals", "model", "code")
        self._faults = self._counter("upstream_faults", "Faults of upstreams", "model", "code")
        self._left = self._counter("clients_left", "Clients that left before the end", "wire")
        self._tokens = self._counter("tokens", "Tokens, by the upstreams' counts", "model", "kind")
        self._first = self._histogram("first_event_seconds", "Seconds to the first event")
        self._whole = self._histogram("request_seconds", "Seconds to the end of a reply")
        self.streams = Gauge(
            "callblocks_gateway_open_streams", "Requests under way", registry=self.registry
        )
        self.reloads = self._counter("reloads", "Times that the config was read again", "result")

    def _counter(self, name: str, words: str, *labels: str) -> Counter:
        return Counter(f"callblocks_gateway_{name}", words, labels, registry=self.registry)

    def _histogram(self, name: str, words: str) -> Histogram:
        return Histogram(
            f"callblocks_gateway_{name}",
            words,
            ("wire", "model"),
            buckets=_SECONDS,
            registry=self.registry,
        )

    def answered(self, wire: str, model: str, status: int) -> None:
        """Count a request with the status that its client got."""
        self._requests.labels(wire, model, str(status)).inc()

    def began(self, wire: str, model: str, seconds: float) -> None:
        """Count the time to the first event."""
        self._first.labels(wire, model).observe(seconds)

    def ended(self, wire: str, model: str, seconds: float) -> None:
        """Count the time to the end."""
        self._whole.labels(wire, model).observe(seconds)

    def finished(self, model: str, calls: int, end: Finished) -> None:
        """Count what a reply had in it."""
        if calls:
            self._calls.labels(model).inc(calls)
        for remark in end.remarks:
            self._remarks.labels(model, remark.code).inc()
        self._count_tokens(model, end.usage)

    def failed(self, model: str, code: str) -> None:
        """Count a fault of an upstream."""
        self._faults.labels(model, code).inc()

    def left(self, wire: str) -> None:
        """Count a client that went before its reply was over."""
        self._left.labels(wire).inc()

    def text(self) -> bytes:
        """Return all counts, as Prometheus reads them."""
        return generate_latest(self.registry)

    def _count_tokens(self, model: str, usage: Usage) -> None:
        for kind, count in (("in", usage.tokens_in), ("out", usage.tokens_out)):
            if count:
                self._tokens.labels(model, kind).inc(count)

"""A running gateway: its config as it is now, its open models, clients, counters and record.

The file is read again when it changed: looked at on a request, at most once a second. A new file
that is broken leaves everything as it was, and is one line in the log. So does one without clients
where there were some: it would let everybody in.

Its clients are known by their keys. Without clients in the config every program of this machine may
ask, and nobody else: the gateway then listens on a loopback address only. A key comes as
`Authorization: Bearer …` or `x-api-key`. The limits of a client are those of one process: requests
in a minute (a bucket that fills again evenly), tokens in a day of UTC, streams at once. They stay
where the config is read again.

Counters are for Prometheus. Their labels have few values: a wire, a model of the config, a status,
a code of ours. No text of a client becomes a label.
"""

from __future__ import annotations

import hmac
import logging
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from callblocks.core.errors import CallblocksError, CallerError
from callblocks.gateway.config import ClientEntry, GatewayConfig
from callblocks.gateway.exchange import Finished, GatewayFault
from callblocks.gateway.firewall import Firewall, PolicyFirewall
from callblocks.gateway.pool import Pool
from callblocks.gateway.record import Record
from callblocks.models.model import Usage
from callblocks.policy.policy import Policy

__all__ = ("METRICS_TYPE", "Client", "Clients", "Metrics", "Operation", "open_firewall")

_LOG = logging.getLogger("callblocks.gateway")
_LOOK_EVERY = 1.0


def open_firewall(config: GatewayConfig) -> Firewall | None:
    """Return the firewall of a config; `None` where it names none."""
    if not config.policy and not config.rewrites:
        return None
    policy = Policy.from_file(config.policy) if config.policy else Policy()
    return PolicyFirewall(policy, config.rewrites)


class Operation:
    """What every request stands on. `load` reads the config, now and after each change.

    `files` are looked at for changes, beside the file of the config and its policy. `key` is a key
    that an option of the command names: one more client, without limits.
    """

    def __init__(
        self,
        load: Callable[[], GatewayConfig],
        *,
        files: tuple[Path, ...] = (),
        key: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._files = files
        self._clock = clock
        config = load()
        self.firewall = open_firewall(config)
        self.pool = Pool(config)
        self.clients = Clients(config.clients, key)
        self.metrics = Metrics()
        self.record = Record(config)
        self._looked = clock()
        self._state = self._files_now()

    @property
    def config(self) -> GatewayConfig:
        """Return the config as it is now."""
        return self.pool.config

    def refresh(self) -> None:
        """Read the config again, if its file changed."""
        now = self._clock()
        if now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        state = self._files_now()
        if state == self._state:
            return
        self._state = state
        try:
            config = self._load()
            if not config.clients and not self.clients.is_open and not self.clients.has_key:
                raise CallerError(
                    "it has no [clients] any more, so everybody could ask; to mean it, start the "
                    "gateway again"
                )
            firewall = open_firewall(config)
            record = self.record if self.record.is_same(config) else Record(config)
        except (CallblocksError, OSError, ValueError) as error:
            self.metrics.reloads.labels("refused").inc()
            _LOG.error("the config is as it was, since the new one cannot be used: %s", error)
            return
        if record is not self.record:
            self.record.close()
        self.firewall, self.record = firewall, record
        self.pool.update(config)
        self.clients.update(config.clients)
        self.metrics.reloads.labels("ok").inc()
        # A new config may name other files.
        self._state = self._files_now()
        _LOG.info("the config was read again")

    async def close(self) -> None:
        """Close the models and the record."""
        await self.pool.close()
        self.record.close()

    def _files_now(self) -> tuple[tuple[int, int] | None, ...]:
        config = self.config
        named = (Path(one) for one in (config.path, config.policy) if one)
        return tuple(_stamp(path) for path in (*self._files, *named))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


# --- Clients ---


_DAY = 86_400


class Client:
    """One client, and what it used."""

    def __init__(self, name: str, entry: ClientEntry, clock: Callable[[], float]) -> None:
        self.name = name
        self.entry = entry
        self._clock = clock
        self._since = clock()
        self._requests = float(entry.requests_per_minute or 0)
        self._day: int = 0
        self._tokens: int = 0
        self.streams = 0

    def check_model(self, model: str, asked: str = "") -> None:
        """Refuse a model that this client may not name; `asked` is its name in the request."""
        if not self.may_see(model):
            words = f"this key may not use the model {(asked or model)[:120]!r}"
            raise GatewayFault("permission", words, field="model", code="model_not_allowed")

    def may_see(self, model: str) -> bool:
        """Return whether a model is listed for this client."""
        return not self.entry.models or model in self.entry.models

    def check_unlimited_models(self) -> None:
        """Refuse a client that may use only some of the models."""
        if self.entry.models:
            words = "this key may use only some of the models, and this tells of all"
            raise GatewayFault("permission", words, code="model_not_allowed")

    @contextmanager
    def request(self) -> Generator[None, None, None]:
        """Count a request; raise `GatewayFault` (`rate_limit`) where a limit is reached."""
        self._check_tokens()
        limit = self.entry.streams
        if limit is not None and self.streams >= limit:
            words = f"{limit} requests of this key are open, which is its limit"
            raise _limit_fault(words, "streams", 1.0)
        self._take_request()
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def used(self, usage: Usage) -> None:
        """Count the tokens of a reply."""
        self._tokens_today()
        self._tokens += usage.tokens_in + usage.tokens_out

    def _take_request(self) -> None:
        limit = self.entry.requests_per_minute
        if limit is None:
            return
        now = self._clock()
        self._requests = min(float(limit), self._requests + (now - self._since) * limit / 60)
        self._since = now
        if self._requests < 1:
            words = f"this key may make {limit} requests a minute"
            raise _limit_fault(words, "requests", (1 - self._requests) * 60 / limit)
        self._requests -= 1

    def _check_tokens(self) -> None:
        limit = self.entry.tokens_per_day
        if limit is not None and self._tokens_today() >= limit:
            words = f"this key may use {limit} tokens a day, and they are used up"
            raise _limit_fault(words, "tokens", _DAY - self._clock() % _DAY)

    def _tokens_today(self) -> int:
        today = int(self._clock()) // _DAY
        if today != self._day:
            self._day, self._tokens = today, 0
        return self._tokens


class Clients:
    """All clients by their keys; `key` is one more, without limits, named by an option."""

    def __init__(
        self,
        entries: Mapping[str, ClientEntry],
        key: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._key = key
        self._anyone = Client("", ClientEntry(key_env=""), clock)
        self._by_name: dict[str, Client] = {}
        self._by_digest: dict[bytes, Client] = {}
        self.update(entries)

    @property
    def is_open(self) -> bool:
        """Return whether everybody may ask."""
        return not self._by_name and not self._key

    @property
    def has_key(self) -> bool:
        """Return whether an option named a key, which stays whatever the config says."""
        return bool(self._key)

    def update(self, entries: Mapping[str, ClientEntry]) -> None:
        """Take the clients of another config; what each used so far stays counted."""
        known, self._by_name = self._by_name, {}
        for name, entry in entries.items():
            client = known.get(name)
            if client is None or client.entry != entry:
                client = Client(name, entry, self._clock)
                if name in known:
                    client.streams = known[name].streams
            self._by_name[name] = client
        # A variable that is not set lets nobody in.
        self._by_digest = {
            _digest(key): client for client in self._by_name.values() if (key := client.entry.key())
        }

    def find(self, headers: Mapping[str, str]) -> Client:
        """Return the client that asks; raise `GatewayFault` (`authentication`)."""
        if self.is_open:
            return self._anyone
        key = _key_of(headers)
        if not key:
            words = "send the key of this gateway: `Authorization: Bearer …` or `x-api-key`"
            raise GatewayFault("authentication", words, code="no_api_key")
        if self._key and hmac.compare_digest(key.encode(), self._key.encode()):
            return self._anyone
        # By its digest, so that the time of the search says nothing about the keys.
        client = self._by_digest.get(_digest(key))
        if client is None:
            words = "the key is not one of this gateway"
            raise GatewayFault("authentication", words, code="invalid_api_key")
        return client


def _key_of(headers: Mapping[str, str]) -> str:
    scheme, _, said = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and said.strip():
        return said.strip()
    return headers.get("x-api-key", "").strip()


def _digest(key: str) -> bytes:
    return sha256(key.encode(errors="replace")).digest()


def _limit_fault(words: str, code: str, seconds: float) -> GatewayFault:
    return GatewayFault(
        "rate_limit", f"{words}; try again later", code=f"{code}_limit_fault", retry_after=seconds
    )


# --- Counters ---


METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 600)


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
            buckets=_BUCKETS,
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

"""Clients: who asks, by its key, and what it has left of its limits.

Without clients in the config every program of this machine may ask, and nobody else: the gateway
then listens on a loopback address only. A key comes as `Authorization: Bearer …` or `x-api-key`.

Limits are those of one process: requests in a minute (a bucket that fills again evenly), tokens in
a day of UTC, streams at once. They stay where the config is read again.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256

from callblocks.gateway.config import ClientEntry
from callblocks.gateway.exchange import GatewayFault
from callblocks.models.model import Usage

__all__ = ("Client", "Clients")

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

    @contextmanager
    def request(self) -> Generator[None, None, None]:
        """Count a request; raise `GatewayFault` (`rate_limit`) where a limit is reached."""
        self._check_tokens()
        limit = self.entry.streams
        if limit is not None and self.streams >= limit:
            words = f"{limit} requests of this key are open, which is its limit"
            raise _limit(words, "streams", 1.0)
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
            raise _limit(words, "requests", (1 - self._requests) * 60 / limit)
        self._requests -= 1

    def _check_tokens(self) -> None:
        limit = self.entry.tokens_per_day
        if limit is not None and self._tokens_today() >= limit:
            words = f"this key may use {limit} tokens a day, and they are used up"
            raise _limit(words, "tokens", _DAY - self._clock() % _DAY)

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


def _limit(words: str, code: str, seconds: float) -> GatewayFault:
    return GatewayFault(
        "rate_limit", f"{words}; try again later", code=f"{code}_limit", retry_after=seconds
    )

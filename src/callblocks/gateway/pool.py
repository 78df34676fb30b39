"""The open models of a gateway: which upstream answers, and which one after it.

    for backend in pool.route("coder").order(conversation):
        with backend.connection.held():
            upstream = await backend.upstream()      # ModelError: the next one

A conversation stays with one upstream, so that prompt caches hit: its name and the weights give the
order (rendezvous hashing), and a new upstream takes over no more than its share. One that failed is
the last to be asked for some seconds.

A model is opened when it is first asked, and stays open as long as the file names it with the same
settings and keys. One that the file no longer names closes after the last reply that it gives.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from hashlib import sha256

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.text import close_to
from callblocks.gateway.config import GatewayConfig, GatewayModel
from callblocks.gateway.exchange import GatewayFault
from callblocks.gateway.upstreams import Habits, Upstream
from callblocks.models.model import Model
from callblocks.models.model_config import ModelEntry, Overrides, open_entry
from callblocks.models.open_model import is_endpoint

__all__ = ("Backend", "Connection", "Pool", "Route")

_LOG = logging.getLogger("callblocks.gateway")
# Seconds for which an upstream is skipped after its first fault in a row; each further one doubles
# them.
_SKIPPED = 2.0
_LONGEST = 60.0
# Seconds that a busy server may have a request wait here. Clients wait longer by themselves: they
# get `retry-after`, which they could not in a stream that was kept alive meanwhile.
_WAITS = 1.0
_HASH = float(2**64)


class _Key(msgspec.Struct, frozen=True):
    """What makes two connections the same one: the settings, and the values of the variables."""

    entry: bytes
    variables: tuple[tuple[str, str], ...]
    tries: int | None


class Connection:
    """One model, open or not yet, and how it did of late."""

    def __init__(
        self, entry: ModelEntry, where: str, tries: int | None, clock: Callable[[], float]
    ) -> None:
        self.entry = entry
        self._where = where
        self._tries = tries
        self._clock = clock
        self._opening = asyncio.Lock()
        self._model: Model | None = None
        self._users = 0
        self._failures = 0
        self.skipped_until = 0.0
        self.habits = Habits()

    @property
    def is_skipped(self) -> bool:
        """Return whether it failed a moment ago."""
        return self._clock() < self.skipped_until

    async def model(self) -> Model:
        """Return the open model; raise `ModelError` or `CallerError` where it cannot be opened."""
        if self._model is None:
            async with self._opening:
                if self._model is None:
                    # In a thread: a server may have to be asked for its models.
                    overrides = Overrides()
                    if is_endpoint(self.entry.address):
                        overrides = Overrides(tries=self._tries, wait_seconds=_WAITS)
                    named = await asyncio.to_thread(
                        open_entry, self.entry, "", self._where, overrides
                    )
                    self._model = named.model
        return self._model

    def failed(self) -> None:
        """Skip it for some seconds, longer after each fault in a row."""
        seconds = min(_SKIPPED * 2 ** min(self._failures, 10), _LONGEST)
        self._failures += 1
        self.skipped_until = self._clock() + seconds

    def worked(self) -> None:
        """Forget its faults."""
        self._failures, self.skipped_until = 0, 0.0

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Keep it open until the end of a reply."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    async def retire(self) -> None:
        """Close it, as soon as nobody reads from it."""
        while self._users:
            await asyncio.sleep(0.05)
        await self.close()

    async def close(self) -> None:
        """Close it now."""
        model, self._model = self._model, None
        if model is not None:
            await model.close()


class Backend:
    """One upstream of a model."""

    def __init__(self, model: GatewayModel, connection: Connection, weight: float) -> None:
        self._model = model
        self._weight = weight
        self.connection = connection

    async def upstream(self) -> Upstream:
        """Return it open; raise `ModelError`, or `GatewayFault` where its settings are wrong."""
        try:
            model = await self.connection.model()
        except CallerError as error:
            _LOG.error("%s", error)
            words = f"the model {self._model.name} cannot be opened; the gateway's log says why"
            raise GatewayFault("upstream", words, code="model_not_set_up") from error
        return Upstream(
            name=self._model.name,
            model=model,
            dialect=self._model.dialect,
            settings=self._model.settings,
            habits=self.connection.habits,
        )

    def score(self, conversation: str) -> float:
        """Return its rank for a conversation: in many of them it is the highest by its weight."""
        place = f"{conversation}\0{self.connection.entry.address}".encode(errors="replace")
        number = int.from_bytes(sha256(place).digest()[:8], "big")
        return -self._weight / math.log((number + 0.5) / (_HASH + 1))


class Route:
    """A model with its upstreams."""

    def __init__(self, model: GatewayModel, backends: Iterable[Backend]) -> None:
        self.model = model
        self.backends = tuple(backends)

    def order(self, conversation: str) -> list[Backend]:
        """Return the upstreams in the order in which they are tried.

        One that failed a moment ago comes last, and is asked only where no other answers.
        """
        ranked = sorted(self.backends, key=lambda one: -one.score(conversation))
        return sorted(
            ranked, key=lambda one: one.connection.skipped_until * one.connection.is_skipped
        )


class Pool:
    """The models of a gateway by their names."""

    def __init__(self, config: GatewayConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._connections: dict[_Key, Connection] = {}
        self._routes: dict[str, Route] = {}
        self._retiring: set[asyncio.Task[None]] = set()
        self._config = config
        self._build(config)

    @property
    def config(self) -> GatewayConfig:
        """Return what it offers."""
        return self._config

    def route(self, name: str, may_see: Callable[[str], bool] = lambda _: True) -> Route:
        """Return the model that a client names; raise `GatewayFault` (`not_found`).

        The fault names the models that the client may see.
        """
        model = self._config.find(name)
        if model is None:
            raise _not_found(name, self._config, may_see)
        return self._routes[model.name]

    def routes(self) -> Iterable[Route]:
        """Return all models."""
        return self._routes.values()

    def update(self, config: GatewayConfig) -> None:
        """Offer what another config says; what is the same in both stays open."""
        left = self._build(config)
        for connection in left:
            task = asyncio.ensure_future(connection.retire())
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)

    async def close(self) -> None:
        """Close every model."""
        for task in tuple(self._retiring):
            task.cancel()
        for connection in self._connections.values():
            await connection.close()
        self._connections, self._routes = {}, {}

    def _build(self, config: GatewayConfig) -> list[Connection]:
        """Make the routes; return the connections that are no longer needed."""
        known, self._connections = self._connections, {}
        routes: dict[str, Route] = {}
        for model in config.models.values():
            # With another upstream to ask it is not waited for.
            tries = 1 if len(model.upstreams) > 1 else None
            backends: list[Backend] = []
            for one in model.upstreams:
                key = _key(one.entry, tries)
                connection = (
                    self._connections.get(key)
                    or known.get(key)
                    or Connection(one.entry, model.where or model.name, tries, self._clock)
                )
                self._connections[key] = connection
                backends.append(Backend(model, connection, one.weight))
            routes[model.name] = Route(model, backends)
        self._config, self._routes = config, routes
        return [one for key, one in known.items() if key not in self._connections]


def _key(entry: ModelEntry, tries: int | None) -> _Key:
    # Keys of the environment count by their value, so that a new one is used after a reload.
    named = {entry.key_env, *entry.headers_env.values()}
    values = tuple((name, os.environ.get(name, "")) for name in sorted(named) if name)
    plain = msgspec.structs.replace(entry, dialect="", system="")
    return _Key(msgspec.json.encode(plain), values, tries)


def _not_found(name: str, config: GatewayConfig, may_see: Callable[[str], bool]) -> GatewayFault:
    known = [known for known, model in config.names() if may_see(model.name)]
    near = close_to(name, known)
    meant = f"did you mean {near}? " if near else ""
    listed = ", ".join(sorted(known)[:20]) or "none; the gateway has no model"
    words = f"no model {name[:120]!r} here; {meant}models are: {listed}"
    return GatewayFault("not_found", words, field="model", code="model_not_found")

"""A running gateway: its config as it is now, its open models, clients, counters and record.

The file is read again when it changed: looked at on a request, at most once a second. A new file
that is broken leaves everything as it was, and is one line in the log. So does one without clients
where there were some: it would let everybody in.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from callblocks.core.errors import CallblocksError, CallerError
from callblocks.gateway.config import GatewayConfig
from callblocks.gateway.firewall import Firewall, PolicyFirewall
from callblocks.gateway.keys import Clients
from callblocks.gateway.metrics import Metrics
from callblocks.gateway.pool import Pool
from callblocks.gateway.record import Record
from callblocks.policy.policy import Policy

__all__ = ("Operation", "open_firewall")

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

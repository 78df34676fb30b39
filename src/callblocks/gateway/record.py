"""The record of a gateway. For now it keeps nothing."""

from __future__ import annotations

from callblocks.gateway.config import GatewayConfig


class Record:
    def __init__(self, config: GatewayConfig) -> None:
        self._state = (config.store, config.rollouts)

    def is_same(self, config: GatewayConfig) -> bool:
        return self._state == (config.store, config.rollouts)

    def close(self) -> None:
        pass

"""Whether a server can read and write what it keeps.

The state is looked at in a thread of its own, so it is told while all others are busy; and at most
once a second, so asking for it costs nothing.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeAlias

from callblocks.model.errors import TimelineError
from callblocks.session.host import Host

__all__ = ("HealthCheck", "State")

State: TypeAlias = Literal["ok", "store_unavailable", "disk_full"]

_FRESH = 1.0
"""Seconds that a state counts for."""
_PATIENCE = 0.25
"""Seconds that a look is waited for, where there was one before."""
_TRIAL = 64 * 1024
"""Bytes that are written on trial: a turn needs room for some pages of the store."""


class HealthCheck:
    """Looks whether a host can read and write; made in the event loop."""

    def __init__(
        self,
        host: Host,
        clock: Callable[[], float] = time.monotonic,
        patience: float = _PATIENCE,
    ) -> None:
        self._host = host
        self._patience = patience
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "callblocks-health")
        self._look: asyncio.Future[State] | None = None
        self._looked = 0.0
        self._known: State | None = None

    async def state(self) -> State:
        """Return the state; all who ask within a second get the same one."""
        look = self._look
        if look is None or (look.done() and self._clock() - self._looked >= _FRESH):
            loop = asyncio.get_running_loop()
            self._look = look = loop.run_in_executor(self._thread, self._state)
            self._looked = self._clock()
        # Whoever goes away does not end it for the others. A busy disk makes nobody wait who can
        # be told how it was a moment ago.
        await asyncio.wait((look,), timeout=self._patience if self._known else None)
        if look.done():
            self._known = look.result()
        assert self._known is not None, "the first look is waited for"
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

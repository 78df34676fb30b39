"""The check of health: can a server read and write what it keeps?

A thread of its own checks the state, so requests for it are answered while all others are busy; at
most once a second, so such requests cost nothing. A check that hangs counts as a store that does
not answer.
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

from callblocks.core.errors import TimelineError
from callblocks.session.host import Host

__all__ = ("HealthCheck", "State")

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

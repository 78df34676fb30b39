"""One user message and all that answers it, as far as running calls is concerned.

A turn is tainted once text of others came into it: a web page, a mail, somebody's file. From
then on what such text may have talked the model into is asked before it is done.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from callblocks.runtime.policy.taints import ContainedTaint, add_taint

__all__ = ("Turn",)


class Turn:
    """What the calls of one turn share: an id, why it is tainted, and whether it was stopped.

    `user` is whose turn it is, where several share a program. `stop` is called in the thread of the
    event loop.
    """

    def __init__(
        self, id: str | None = None, *, tainted: tuple[str, ...] = (), user: str = ""
    ) -> None:
        self.id = id or secrets.token_hex(8)
        self.user = user
        self.stopped = False
        self._taints: dict[str, str] = {}
        for why in tainted:
            self.taint(why)
        self._taken = set(self._weights())
        self._signal: asyncio.Future[None] | None = None

    @property
    def tainted(self) -> tuple[str, ...]:
        """Where text of others came from, in the order it came; empty where there is none."""
        return tuple(self._taints.values())

    def taint(self, why: str) -> None:
        """Say that text of others came in; a `ContainedTaint` counts for fewer calls."""
        add_taint(self._taints, why)

    def take_new_taints(self) -> list[str]:
        """Return the reasons that came since the last time, for whoever writes them down.

        One that was contained and now counts for all calls is new.
        """
        new = [why for weight, why in self._weights().items() if weight not in self._taken]
        self._taken.update(self._weights())
        return new

    def _weights(self) -> dict[tuple[str, bool], str]:
        return {(str(why), isinstance(why, ContainedTaint)): why for why in self._taints.values()}

    def stop(self) -> None:
        """End what runs, and start nothing more: each call left gets the outcome `cancelled`."""
        self.stopped = True
        if self._signal is not None and not self._signal.done():
            self._signal.set_result(None)

    async def wait(self, work: asyncio.Future[Any], seconds: float | None = None) -> bool:
        """Wait for some work, its time or the stop of the turn: whether the work is done."""
        loop = asyncio.get_running_loop()
        if self._signal is None or self._signal.get_loop() is not loop:
            self._signal = loop.create_future()
        if not self.stopped and not work.done():
            ends = {work, self._signal}
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return work.done()

"""One user message and everything that answers it, as far as running calls is concerned.

A turn is tainted once text of others entered it: a web page, a mail, somebody's file. Such text may
instruct the model (prompt injection), so from then on a policy asks before calls that could do
harm. A taint is never removed within a turn.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.outcomes import Failure
from callblocks.policy.facts import ContainedTaint, add_taint
from callblocks.runtime.checked_call import Judgement

__all__ = (
    "Began",
    "Judged",
    "Listener",
    "Progress",
    "ToolShowed",
    "Turn",
)


class Turn:
    """The state that the calls of one turn share: an id, its taints, and whether it was stopped.

    `user` is the owner of the turn, where several share a program. `stop` must be called in the
    thread of the event loop.
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
        # Whether `take_new_taints` may return something.
        self.has_new_taints = False
        self._signal: asyncio.Future[None] | None = None

    @property
    def tainted(self) -> tuple[str, ...]:
        """Return the sources of text of others, in the order of arrival; empty where there
        is none.
        """
        return tuple(self._taints.values())

    def taint(self, why: str) -> None:
        """Note that text of others came in; a `ContainedTaint` counts for fewer calls."""
        add_taint(self._taints, why)
        self.has_new_taints = True

    def take_new_taints(self) -> list[str]:
        """Return the reasons added since the last call, to be recorded.

        A reason that was contained and now counts for all calls is new.
        """
        new = [why for weight, why in self._weights().items() if weight not in self._taken]
        self._taken.update(self._weights())
        self.has_new_taints = False
        return new

    def _weights(self) -> dict[tuple[str, bool], str]:
        return {(str(why), isinstance(why, ContainedTaint)): why for why in self._taints.values()}

    def stop(self) -> None:
        """Cancel what runs, and start nothing more: each remaining call gets the outcome
        `cancelled`.
        """
        self.stopped = True
        if self._signal is not None and not self._signal.done():
            self._signal.set_result(None)

    async def wait(self, work: asyncio.Future[Any], seconds: float | None = None) -> bool:
        """Wait for some work, a timeout or the stop of the turn; return whether the work is
        done.
        """
        loop = asyncio.get_running_loop()
        # A turn may be resumed in another event loop; a future belongs to one.
        if self._signal is None or self._signal.get_loop() is not loop:
            self._signal = loop.create_future()
        if not self.stopped and not work.done():
            ends = {work, self._signal}
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return work.done()


# --- Events of a runtime while calls run, before their outcomes ---


class Judged(msgspec.Struct, frozen=True):
    """The policy's judgement of a call, or the failure that stops it whatever the policy says."""

    call: Call
    verdict: Judgement | Failure


class Began(msgspec.Struct, frozen=True):
    """A call was allowed, and its tool has started."""

    id: str


class ToolShowed(msgspec.Struct, frozen=True):
    """Text that a running tool shows; it is not its output."""

    id: str
    text: str


Progress: TypeAlias = Judged | Began | ToolShowed
Listener: TypeAlias = Callable[[Progress], None]

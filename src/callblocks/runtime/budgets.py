"""Places that many share: so many at once for a server, fewer for one user, the rest wait in turn.

    budget = Budget(4, share=2)
    async with budget.place("anna", lambda ahead: …):      told how many are served before
        ...

Users take turns: whoever asks for a hundred places does not make the others wait for a hundred.
Within one user, whoever came first is served first. A budget is used in one event loop; nothing in
it awaits while its queues change, so it needs no lock.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import msgspec

from callblocks.tools.tool import Tool

__all__ = ("Budget", "BudgetFull", "Budgets", "TellPlace")

TellPlace: TypeAlias = Callable[[int], None]
"""Told how many are served before, each time that the number changes."""


class BudgetFull(Exception):
    """As many wait as may; `is_own` where they are all of the user who asks."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__("too many wait for a place")
        self.is_own = is_own


class Budget:
    """`limit` places at once, `share` of them for one user.

    `waiting` may wait, and `waiting_share` of one user; `None` is any number.
    """

    def __init__(
        self,
        limit: int,
        share: int | None = None,
        *,
        waiting: int | None = None,
        waiting_share: int | None = None,
    ) -> None:
        self._limit = limit
        self._share = limit if share is None else min(share, limit)
        self._most = waiting
        self._most_of_one = waiting_share
        self._held: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[_Waiter]] = OrderedDict()
        """Those who wait, by user; the first user is the next whose turn it is."""

    @property
    def held(self) -> int:
        """How many places are taken."""
        return self._held.total()

    @property
    def waiting(self) -> int:
        """How many wait for one."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def place(
        self, user: str = "", tell: TellPlace | None = None
    ) -> AsyncGenerator[None, None]:
        """Hold a place, once there is one; `BudgetFull` where too many wait already."""
        await self._take(user, tell)
        try:
            yield
        finally:
            self._held[user] -= 1
            if not self._held[user]:
                del self._held[user]
            self._serve()

    async def _take(self, user: str, tell: TellPlace | None) -> None:
        if user not in self._queues and self._has_room(user):
            self._held[user] += 1
            return
        own = len(self._queues.get(user, ()))
        if self._most_of_one is not None and own >= self._most_of_one:
            raise BudgetFull(is_own=True)
        if self._most is not None and self.waiting >= self._most:
            raise BudgetFull(is_own=False)
        waiter = _Waiter(asyncio.get_running_loop().create_future(), tell)
        self._queues.setdefault(user, deque()).append(waiter)
        self._tell()
        try:
            await waiter.served
        except asyncio.CancelledError:
            self._leave(user, waiter)
            raise

    def _leave(self, user: str, waiter: _Waiter) -> None:
        """Take one out who waits no more; a place that it was given meanwhile goes on."""
        queue = self._queues.get(user)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._queues[user]
        elif waiter.served.done() and not waiter.served.cancelled():
            self._held[user] -= 1
        self._serve()

    def _has_room(self, user: str) -> bool:
        return self.held < self._limit and self._held[user] < self._share

    def _serve(self) -> None:
        """Give free places away, to one user after another."""
        while (user := next(filter(self._has_room, self._queues), None)) is not None:
            queue = self._queues.pop(user)
            waiter = queue.popleft()
            if queue:
                self._queues[user] = queue
            if not waiter.served.done():
                self._held[user] += 1
                waiter.served.set_result(None)
        self._tell()

    def _tell(self) -> None:
        """Tell each who waits how many are served before."""
        queues = list(self._queues.values())
        for turn, queue in enumerate(queues):
            for at, waiter in enumerate(queue):
                # Each round serves one of each user who still waits in it.
                before = at + sum(
                    min(len(other), at + (other_turn < turn))
                    for other_turn, other in enumerate(queues)
                    if other_turn != turn
                )
                waiter.hear(before)


class _Waiter:
    """One who waits, and the last number that it was told."""

    def __init__(self, served: asyncio.Future[None], tell: TellPlace | None) -> None:
        self.served = served
        self._tell = tell
        self._told = -1

    def hear(self, before: int) -> None:
        if self._tell is not None and before != self._told:
            self._told = before
            self._tell(before)


class Budgets(msgspec.Struct, frozen=True):
    """What the turns of one program share, beside its disk: processes, and streams of models.

    `sandboxes` run programs, `renderers` make documents and run isolated tools.
    """

    sandboxes: Budget
    renderers: Budget
    streams: Budget

    @classmethod
    def of(
        cls,
        sandboxes: tuple[int, int] = (4, 1),
        renderers: tuple[int, int] = (4, 1),
        streams: tuple[int, int] = (500, 400),
    ) -> Budgets:
        """Return budgets of so many places each: for the program, and for one user.

        However many chats a user has, they start no more processes at once than one chat does.
        """
        return cls(Budget(*sandboxes), Budget(*renderers), Budget(*streams))

    def of_tool(self, tool: Tool) -> Budget | None:
        """Return the budget of what a tool starts; `None` where it starts no process."""
        if tool.traits.kind == "exec":
            return self.sandboxes
        is_apart = tool.isolated or tool.traits.result == "rendering"
        return self.renderers if is_apart else None

"""The service that all handlers of a server share: host, chats, metrics and limits."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.models.model import Model
from callblocks.server.chats.chats import Chats
from callblocks.server.chats.known_chats import KnownChats
from callblocks.server.cpu_program import Work
from callblocks.server.cpu_work import CpuWork
from callblocks.server.http.event_stream import until_gone
from callblocks.server.http.faults import NOT_KEPT
from callblocks.server.http.health_check import HealthCheck
from callblocks.server.http.metrics import Metrics
from callblocks.server.http.rate_limits import Slots, client_name
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host
from callblocks.session.team_events import replay_of
from callblocks.timeline.log.store import Head
from callblocks.views.replay import Replay

__all__ = ("Service", "readable", "service_of")

T = TypeVar("T")
_THREADS = 4
"""How many long reads of the disk there are at once."""


class Service:
    """One server at work; made in the event loop, closed at its end."""

    def __init__(self, settings: ServerSettings, host: Host, metrics: Metrics) -> None:
        self.settings = settings
        self.host = host
        self.metrics = metrics
        self.chats = Chats(host, metrics, settings.max_turns)
        self.known = KnownChats(host.store)
        self.health = HealthCheck(host)
        self.slots = Slots(settings.max_streams)
        self._ends = asyncio.Event()
        self._threads = asyncio.Semaphore(_THREADS)
        self._cpu = CpuWork(
            settings.processes, settings.work_seconds, waiting=settings.work_waiting
        )

    @contextmanager
    def follower(self) -> Generator[None]:
        """Count a client that follows a stream; `too_many_streams` where there are too many."""
        with self.slots.hold(), self.metrics.following():
            yield

    async def read(self, work: Callable[[], T]) -> T:
        """Do in a thread what would hold up all others."""
        async with self._threads:
            return await asyncio.to_thread(work)

    async def work(
        self,
        request: Request,
        work: Work,
        mime: str = "application/json",
        headers: Mapping[str, str] = NOT_KEPT,
    ) -> Response:
        """Answer with the result of processor work, which ends when its client goes away."""
        content = await _unless_gone(request, self._cpu.do(client_name(request.scope), work))
        return Response(content, 200, dict(headers), mime)

    async def existing(self, name: str) -> Head:
        """The end of a timeline that must be there."""
        head = await self.read(lambda: self.host.store.head(name))
        if not head.count:
            raise TimelineError("unknown_timeline", f"no timeline has the name {name}")
        return head

    async def existing_chat(self, name: str) -> Head:
        """The end of a chat that must be there, and is not what a member of a team does."""
        head = await self.existing(name)
        if not await self.read(lambda: self.is_chat(name)):
            words = f"{name} is what a member of a team does, and no chat"
            raise TimelineError("unknown_timeline", f"{words}; /api/timelines/{name} has it")
        return head

    def entries(self, name: str) -> list[Entry]:
        """All blocks of a timeline that can be read."""
        return list(readable(self.host.store.entries(name)))

    def replay(self, name: str) -> Replay:
        """Return the function that replays the turns of a chat as events."""
        return replay_of(self.host.settings.team, name, self.entries)

    @property
    def models(self) -> Sequence[Model]:
        """Every model that replies here, once."""
        team = self.host.settings.team
        return [one.model for one in self.host.offered] if team is None else team.models

    def is_chat(self, name: str) -> bool:
        """Return whether a timeline is a chat, and not the timeline of a team member."""
        return not self.host.is_member(name)

    async def until_end(self, items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """The same, but over when the server ends."""
        ends = asyncio.ensure_future(self._ends.wait())
        try:
            async with aclosing(items):
                while True:
                    coming = asyncio.ensure_future(anext(items, None))
                    try:
                        await asyncio.wait((coming, ends), return_when=asyncio.FIRST_COMPLETED)
                        if not coming.done() or (item := coming.result()) is None:
                            return
                    finally:
                        coming.cancel()
                        await asyncio.gather(coming, return_exceptions=True)
                    yield item
        finally:
            ends.cancel()

    async def end(self) -> None:
        """End streams and turns; it may be called again."""
        self._ends.set()
        await self.chats.close(self.settings.grace)
        self._cpu.close()
        self.health.close()


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work; cancel it where the client goes away."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(until_gone(request.receive))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    return request.app.state.service


def readable(entries: Iterable[Entry]) -> Iterator[Entry]:
    """All that can be read: what cannot stands as a damaged block."""
    try:
        yield from entries
    except TimelineError as error:
        if error.code != "store_damaged":
            raise

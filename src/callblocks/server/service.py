"""The service that all handlers of a server share: host, chats, metrics and limits.

Processor work of requests, done in processes beside the server.

    await cpu.do(client, ParseWork(text, dialect))

A loop of Python in a thread keeps the event loop waiting for the interpreter; in a process it does
not. A few processes serve all clients in turn (see `Budget`). One request has `seconds`, then its
process is killed and the request ends with `too_much_work`. A process that died is replaced. A
request that is cancelled, because its client went away, kills its process and gives its place back.

A process starts with normal priority and then works with a lower one (`SCHED_BATCH`, `nice` 10), so
that the server runs first whenever it wakes up. The process stays in the session of the
server, because Linux groups tasks by session (autogroups) and priorities count within a group only.
See docs/decisions/062-processor-work.md.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.guard.workers.threads import Budget, BudgetFull
from callblocks.guard.workers.worker_process import Patience, Worker
from callblocks.models.model import Model
from callblocks.server.chats.chats import Chats, TurnsHere
from callblocks.server.chats.known_chats import (
    LABELS,
    ChatLabels,
    ChatStatus,
    ChatSummary,
    ChatWatch,
    KnownChats,
    Marked,
)
from callblocks.server.cpu_program import Work, framed, receive_frame
from callblocks.server.http.event_stream import until_gone
from callblocks.server.http.faults import NOT_KEPT, ApiFault
from callblocks.server.http.monitoring import HealthCheck, Metrics
from callblocks.server.http.rate_limits import Slots, client_name
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host
from callblocks.session.team import replay_of
from callblocks.timeline.log.log import Head, Summary
from callblocks.timeline.recall.search import Search, open_search
from callblocks.timeline.timeline import SEARCH, TIMELINES
from callblocks.views.replay import Replay

__all__ = (
    "CpuWork",
    "MakeChats",
    "Service",
    "readable",
    "service_of",
)

_RETRY = {"retry-after": "5"}


class CpuWork:
    """The processes of one server; `close` ends them.

    One client has `share` of them at a time, and `waiting` requests that wait for one.
    """

    def __init__(self, processes: int, seconds: float, *, share: int = 1, waiting: int = 8) -> None:
        self._budget = Budget(processes, share, waiting=waiting * 8, waiting_share=waiting)
        self._threads = ThreadPoolExecutor(processes, "callblocks-cpu")
        self._seconds = seconds
        # The event loop and the threads share what follows.
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._is_closed = False

    async def do(self, client: str, work: Work) -> bytes:
        """Return the result of some work; `too_busy` or `too_much_work` where there is none."""
        try:
            async with self._budget.place(client):
                if self._is_closed:
                    raise _shutting_down()
                return await self._in_thread(work)
        except BudgetFull as error:
            if error.is_own:
                words = "this client asks for more than it gets at once; wait, and ask again"
                raise ApiFault("too_many_requests", words, _RETRY) from error
            raise ApiFault("too_busy", headers=_RETRY) from error

    def close(self) -> None:
        """End the processes; work that is under way ends with `shutting_down`."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()
        self._threads.shutdown(wait=False)

    async def _in_thread(self, work: Work) -> bytes:
        """Let a thread wait for a process; a cancelled caller keeps its place until both ended."""
        is_cancelled = threading.Event()
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._threads, self._perform_apart, work, is_cancelled)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            is_cancelled.set()
            await asyncio.wait((done,))
            # Nobody wants it any more; an exception that nobody looks at would be logged.
            done.exception()
            raise

    def _perform_apart(self, work: Work, is_cancelled: threading.Event) -> bytes:
        """Do some work in a process, and wait for it; called in a thread."""
        latest = time.monotonic() + self._seconds

        def patience() -> None:
            if time.monotonic() > latest or self._is_closed or is_cancelled.is_set():
                raise TimeoutError

        frame = framed(pickle.dumps(work))
        try:
            idle = self._take_idle()
            content = None if idle is None else self._exchange(idle, frame, patience)
            if content is None:
                # An idle process may die before the work reaches it, and nobody knows which of the
                # two came first. So a death counts against the work only in a process of its own.
                content = self._exchange(_started(), frame, patience)
        except TimeoutError as error:
            if self._is_closed:
                raise _shutting_down() from error
            words = f"it takes more than {self._seconds:g} seconds; give less at once"
            raise ApiFault("too_much_work", words) from error
        if content is None:
            raise ApiFault("too_much_work", "it needs too much room; give less at once")
        return content

    def _exchange(self, worker: Worker, frame: bytes, patience: Patience) -> bytes | None:
        """Return the answer of a process; `None` where it died."""
        content = None
        try:
            worker.write(frame, patience)
            content = receive_frame(lambda size: worker.read(patience, size))
        finally:
            self._give_back(worker, is_usable=content is not None)
        return content

    def _take_idle(self) -> Worker | None:
        """Return a process that waits for work; those that were killed meanwhile are dropped."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None or worker.child.poll() is None:
                return worker
            worker.end()

    def _give_back(self, worker: Worker, *, is_usable: bool) -> None:
        with self._lock:
            if is_usable and not self._is_closed:
                self._idle.append(worker)
                return
        worker.end()


def _started() -> Worker:
    try:
        return Worker("callblocks.server.cpu_program")
    except OSError as error:
        raise ApiFault("too_busy", headers=_RETRY) from error


def _shutting_down() -> ApiFault:
    return ApiFault("shutting_down", headers=_RETRY)


T = TypeVar("T")
MakeChats: TypeAlias = Callable[[Host, Metrics, int], TurnsHere]
_THREADS = 4
"""How many long reads of the disk there are at once."""


class Service:
    """One server at work; made in the event loop, closed at its end."""

    def __init__(
        self, settings: ServerSettings, host: Host, metrics: Metrics, make_chats: MakeChats = Chats
    ) -> None:
        self.settings = settings
        self.host = host
        self.metrics = metrics
        self.chats = make_chats(host, metrics, settings.max_turns)
        self.known = KnownChats(host.store)
        self.labels = ChatLabels(host.store)
        self.watch = ChatWatch(self._marks, self._summaries)
        self.health = HealthCheck(host)
        self.slots = Slots(settings.max_streams)
        self._ends = asyncio.Event()
        self._threads = asyncio.Semaphore(_THREADS)
        self._cpu = CpuWork(
            settings.processes, settings.work_seconds, waiting=settings.work_waiting
        )

    @contextmanager
    def follower(self, followed: AbstractContextManager[object] | None = None) -> Generator[None]:
        """Count a client that follows a stream; `too_many_streams` where there are too many.

        `followed` is entered for as long.
        """
        with self.slots.hold(), self.metrics.following(), followed or nullcontext():
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
        """Return whether a timeline is a chat, and not that of a team member or of the labels."""
        return name != LABELS and not self.host.is_member(name)

    def title(self, chat: Summary) -> str:
        """Return what somebody called a chat, else the beginning of its first prompt."""
        return self.labels.title(chat.name) or self.known.title(chat)

    def listed(self) -> list[Summary]:
        """Return the chats that were not deleted, the latest first; called in a thread."""
        self.labels.refresh()
        known = [
            one
            for one in self.host.store.names()
            if self.is_chat(one.name) and not self.labels.is_deleted(one)
        ]
        return sorted(known, key=lambda one: (one.updated, one.name), reverse=True)

    def summary(self, chat: Summary) -> ChatSummary:
        """Return what a list says of a chat; called in a thread."""
        waiting = self.chats.questions(chat.name)
        status: ChatStatus = "waiting" if waiting else "running"
        return ChatSummary(
            id=chat.name,
            is_running=waiting is not None,
            last=chat.count,
            created=chat.created,
            updated=chat.updated,
            title=self.title(chat),
            status=self.known.status(chat) if waiting is None else status,
            waiting=waiting or 0,
        )

    async def _marks(self) -> list[Marked]:
        return await self.read(lambda: [Marked(one.name, self._mark(one)) for one in self.listed()])

    def _mark(self, chat: Summary) -> object:
        waiting = self.chats.questions(chat.name)
        return chat.count, chat.updated, waiting, self.labels.title(chat.name)

    async def _summaries(self, names: Sequence[str]) -> list[ChatSummary]:
        wanted = set(names)
        return await self.read(
            lambda: [self.summary(one) for one in self.listed() if one.name in wanted]
        )

    @cached_property
    def search(self) -> Search:
        """The index of what was said in all chats; made when it is first asked."""
        state = self.host.settings.state
        return open_search(self.host.settings.store or str(state / TIMELINES), state / SEARCH)

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

    @property
    def is_ending(self) -> bool:
        """Return whether the server ends: it takes no more work."""
        return self._ends.is_set()

    async def end(self) -> None:
        """End streams and turns; it may be called again."""
        self._ends.set()
        await self.chats.close(self.settings.grace)
        self._cpu.close()
        self.health.close()
        if "search" in self.__dict__:
            self.search.close()


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

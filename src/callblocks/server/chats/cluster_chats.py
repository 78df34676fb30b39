"""The turns of a cluster, as a replica serves them: none of them runs here.

A prompt becomes a row in the table of turns, and a job of the engine; a worker somewhere runs it.
Whoever follows the turn reads its events from the database, in the order in which the worker
published them, so it does not matter which replica a client asks, or whether it asks another one
next time. A replica keeps nothing: what it has of a turn is read again when somebody follows it.

A turn that goes over to another worker ends its streams as a broken connection does: the client
comes back with the number of its last event, here or elsewhere, and gets the rest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from uuid import UUID, uuid4, uuid5
from weakref import WeakValueDictionary

from callblocks.cluster.turn_table import ActiveTurn, NewTurn, Progress, TooManyTurns
from callblocks.cluster.turns import Job, TurnRequest
from callblocks.cluster.wakeups import decode_events, turn_id
from callblocks.cluster.worker import STOPS, Cluster, approval_id, cancel_id
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError, TimelineError, TurnRunning
from callblocks.core.events import ModelWrote, Status, TurnEnded, TurnEvent
from callblocks.server.chats.chats import FollowedTurn
from callblocks.server.chats.known_chats import LastTurn, status_of
from callblocks.server.chats.schedule import Schedule, ScheduledTurn, When
from callblocks.server.http.faults import ApiFault
from callblocks.server.http.monitoring import Metrics
from callblocks.session.event_gate import Logged, TurnLog
from callblocks.session.host import Host
from callblocks.session.model_choice import NO_CHOICE, Attachment, Choice, ModelMenu, Offered
from callblocks.session.session import Session, named_apart
from callblocks.session.team import replay_of
from callblocks.session.traces import parent
from callblocks.session.turn_lock import cluster_owner
from callblocks.timeline.branches import Branch

__all__ = ("ClusterChats", "RemoteTurn")

# Seconds after which a follower looks without a wake-up.
_LOOK = 2.0
# Seconds for which a list of chats is as it was.
_FRESH = 0.2
_PAUSE = 0.5
_SOON = 0.001
_KEYS = UUID("0c5c2f0e-6f0e-4f7b-9d35-6d2b8a1f5c11")


class RemoteTurn(FollowedTurn):
    """One attempt to run a turn, on a worker somewhere. It is read while somebody follows it."""

    def __init__(
        self,
        cluster: Cluster,
        active: ActiveTurn,
        recall: Callable[[ActiveTurn, int], list[Logged]],
        count: Callable[[TurnEvent], None],
    ) -> None:
        super().__init__(TurnLog(lambda: 0), count)
        self.id = active.id
        self.attempt = active.attempt
        self.turn = active.turn
        self._cluster = cluster
        self._active = active
        self._recalled = recall
        self._fence = 0
        self._base = 0
        self._number = 0
        self._followers = 0
        self._more = asyncio.Event()
        self._loading = asyncio.Lock()
        self._pump: asyncio.Task[None] | None = None
        self._is_named = asyncio.Event()

    @property
    def first(self) -> int:
        """The number of the turn's first block."""
        return self.log.events[0].seq if self._replayed else self._base + 1

    async def begun(self) -> None:
        """Read what there is: a turn that waits for a worker is followed, too."""
        await self._load()

    async def named(self) -> str:
        """Return the number of the turn, once a worker has begun it."""
        await self._is_named.wait()
        return self.turn

    def following(self) -> AbstractContextManager[object]:
        """Enter this while the turn is followed: then it is read."""
        return self._following()

    @contextmanager
    def _following(self) -> Generator[None]:
        self._followers += 1
        if self._pump is None:
            self._pump = asyncio.ensure_future(self._follow())
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                self._pump.cancel()
                self._pump = None

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()

        def hint() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody follows
                loop.call_soon_threadsafe(self._more.set)

        with self._cluster.wakeups.hearing(turn_id(self.id), hint):
            while not self.log.is_over:
                self._more.clear()
                try:
                    await self._load()
                except TimelineError:
                    # The database is away for a moment.
                    await asyncio.sleep(_PAUSE)
                    continue
                if not self.log.is_over:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._more.wait(), _LOOK)

    async def _load(self) -> None:
        """Read the events that are new."""
        async with self._loading:
            while not self.log.is_over:
                progress = await asyncio.to_thread(
                    self._cluster.table.progress, self.id, self._number
                )
                if progress is None or progress.attempt != self.attempt:
                    # Another attempt has other events. Those who follow come back for them.
                    self._close()
                elif not await self._take(progress):
                    return

    async def _take(self, progress: Progress) -> bool:
        """Take what is new; return whether there may be more."""
        if not self._fence and progress.fence and progress.state != "queued":
            self._fence, self._base = progress.fence, progress.base
            if self._base:
                await self._recall()
        for body in progress.events:
            self._number += 1
            for logged in decode_events(body):
                if not isinstance(logged.event, ModelWrote):
                    self.note(logged.event)
                self.log.keep(logged)
        # What the turn did before this attempt stands in the log then, too.
        if self.log.events:
            self._is_named.set()
        if progress.events or self.log.is_over:
            return True
        if progress.is_over:
            # Its worker died, or was never needed, after the end was written.
            status: Status = "failed"
            for known in ("answered", "stopped", "limited", "interrupted"):
                status = known if progress.status == known else status
            ended = TurnEnded(
                turn=self.turn, status=status, code=progress.code, message=progress.message
            )
            self.log.keep(Logged(self._base, 0, ended))
            self._close()
        return False

    async def _recall(self) -> None:
        """Take what happened in this turn before this attempt: the timeline has it."""

        for one in await asyncio.to_thread(self._recalled, self._active, self._base):
            if not isinstance(one.event, TurnEnded) or one.event.member:
                self.note(one.event)
                self.log.keep(one)
        self._replayed = len(self.log.events)

    def _close(self) -> None:
        self._is_named.set()
        self.log.close()


class ClusterChats:
    """The turns of all chats of a cluster, as one replica sees them."""

    def __init__(self, cluster: Cluster, host: Host, metrics: Metrics) -> None:
        self._cluster = cluster
        self._table = cluster.table
        self._host = host
        self._metrics = metrics
        # Those that somebody follows, or looks at.
        self._known: WeakValueDictionary[int, RemoteTurn] = WeakValueDictionary()
        self._is_closing = False
        self._looked = self._cost = 0.0
        self._questions: dict[str, int] = {}

    @property
    def schedule(self) -> Schedule:
        """The turns that are due later."""
        return _ClusterSchedule(self._cluster, self)

    async def measure(self) -> None:
        """Put into the metrics how the queue stands."""
        counts = await asyncio.to_thread(self._table.counts)
        for name, value in counts._asdict().items():
            self._metrics.queue(name, value)

    async def count(self) -> int:
        """Return how many turns run or wait in the cluster."""
        return await asyncio.to_thread(self._table.count_active)

    async def find(self, name: str) -> RemoteTurn | None:
        """Return the turn of a chat that runs or waits."""
        active = await asyncio.to_thread(self._table.active, name)
        if active is None:
            return None
        turn = self._remote(active)
        await turn.begun()
        return None if turn.log.is_over and not turn.log.events else turn

    def questions(self, name: str) -> int | None:
        """Return how many questions of a chat's turn wait; `None` where none runs or waits.

        A list asks for each of its chats, so all are read at once, and kept for a moment.
        """
        now = time.monotonic()
        # With a hundred thousand turns in the queue the look itself takes a while.
        if now - self._looked > max(_FRESH, 10 * self._cost):
            self._questions = self._table.open_questions()
            self._looked = time.monotonic()
            self._cost = self._looked - now
        return self._questions.get(name)

    def session(self, name: str) -> Session:
        """Return the session of a chat, to read from: only a worker writes."""
        return self._host.session(name)

    async def ended(self, name: str) -> None:
        """Wait until no turn of a chat runs or waits."""
        while await asyncio.to_thread(self._table.active, name) is not None:
            await asyncio.sleep(_PAUSE)

    async def cancel(self, name: str, call: str) -> bool:
        """Ask the worker to cancel one call; return whether a turn runs that may have it."""
        active = await asyncio.to_thread(self._table.active, name)
        if active is not None:
            self._cluster.wakeups.tell(cancel_id(active.id, call))
        return active is not None

    async def asking(self, approvals: Sequence[str]) -> Mapping[str, str]:
        """Return the chats whose turns asked these questions, by question."""
        return await asyncio.to_thread(self._table.asking, approvals)

    def wake(self, approval: str) -> None:
        """Let the worker of a question know that there is an answer."""
        self._cluster.wakeups.tell(approval_id(approval))

    async def start(
        self,
        name: str,
        prompt: str,
        attachments: Sequence[Attachment],
        choice: Choice = NO_CHOICE,
        user: str = "",
        branch: Branch | None = None,
        calls: Sequence[Call] = (),
        key: str = "",
    ) -> RemoteTurn:
        """Take a turn of a user; one that runs or waits is a `turn_running` fault."""
        files = await self.check(name, prompt, attachments, choice)
        request = TurnRequest.of(prompt, files, choice, branch, calls)
        # What is asked again, since the answer was lost, is the turn that is there.
        number = uuid5(_KEYS, f"{name} {key}") if key else uuid4()
        job = await self.submit(NewTurn(number, name, user, request))
        return self._remote(ActiveTurn(job.turn, name, "queued", job.attempt, 0, 0, "", (), ()))

    async def check(
        self, name: str, prompt: str, attachments: Sequence[Attachment], choice: Choice
    ) -> Sequence[Attachment]:
        """Refuse what no worker would begin; return the files under names of their own."""
        # All that the worker would refuse is refused here, where somebody hears it.
        team = self._host.settings.team
        voice = None if team is None else team.consensus
        offered = self._host.offered if voice is None else (Offered(voice.model, voice.dialect),)
        ModelMenu(offered).check(choice)
        if not prompt.strip() and not attachments:
            raise CallerError("the prompt is empty; say what to ask, or attach a file")
        files = named_apart(attachments)
        if await asyncio.to_thread(self._host.is_member, name):
            raise CallerError(f"{name} is what a member of a team does; choose another name")
        return files

    async def resume(self, name: str, user: str = "") -> RemoteTurn:
        """Go on with a turn that was interrupted."""
        entries = await asyncio.to_thread(lambda: list(self._host.store.entries(name)))
        if status_of(entries) != "interrupted":
            raise ApiFault("nothing_to_resume")
        turn = LastTurn(entries).turn
        new = NewTurn(uuid4(), name, user, TurnRequest(is_resumed=True, trace=parent()), turn=turn)
        job = await self.submit(new)
        return self._remote(ActiveTurn(job.turn, name, "queued", job.attempt, 0, 0, turn, (), ()))

    async def stop(self, name: str) -> bool:
        """Stop the turn of a chat; whether there was one."""
        stopped = await asyncio.to_thread(self._table.stop, name)
        if stopped is not None:
            self._cluster.wakeups.tell(STOPS, turn_id(stopped))
        return stopped is not None

    async def close(self, grace: float) -> None:
        """Take no more turns; those that run do so elsewhere."""
        self._is_closing = True

    async def submit(self, new: NewTurn) -> Job:
        """Write a turn into the table, and hand it to the engine."""
        if self._is_closing:
            raise ApiFault("shutting_down", headers={"retry-after": "5"})
        try:
            job = await asyncio.to_thread(self._table.submit, new)
        except TooManyTurns as error:
            raise ApiFault("too_many_turns", str(error), {"retry-after": "5"}) from error
        except TurnRunning as error:
            raise ApiFault("turn_running", await self._busy(new.timeline)) from error
        await asyncio.to_thread(self._cluster.enqueue, job)
        return job

    async def _busy(self, name: str) -> str:
        active = await asyncio.to_thread(self._table.active, name)
        if active is not None and active.waiting:
            asked = active.waiting[0]
            return f"a turn of this chat waits for the approval {asked}: answer, or stop it"
        return "a turn of this chat runs: wait until it is over, or stop it"

    def _remote(self, active: ActiveTurn) -> RemoteTurn:
        known = self._known.get(active.id)
        if known is not None and known.attempt == active.attempt:
            return known
        turn = RemoteTurn(
            self._cluster,
            active,
            self._recall,
            # Each replica would count it: its worker does.
            lambda event: None,
        )
        self._known[active.id] = turn
        return turn

    def _recall(self, active: ActiveTurn, count: int) -> list[Logged]:
        """Return the events of a turn in the first blocks of its chat."""
        name, store = active.timeline, self._host.store
        entries = list(store.entries(name, limit=count))
        last = LastTurn(entries, replay_of(self._host.settings.team, name, store.entries))
        # The worker before may have died before the table had the name of the turn.
        owner = cluster_owner(active.id)
        is_ours = any(
            one.block.turn_id == last.turn and one.block.meta.get("owner") == owner
            for one in entries
        )
        return last.told() if is_ours or (last.turn and last.turn == active.turn) else []


class _ClusterSchedule:
    """The turns of a cluster that are due later."""

    def __init__(self, cluster: Cluster, chats: ClusterChats) -> None:
        self._cluster = cluster
        self._chats = chats

    async def add(self, chat: str, prompt: str, choice: Choice, user: str, when: When) -> int:
        """Take a turn; return its number."""
        await self._chats.check(chat, prompt, (), choice)
        request = TurnRequest.of(prompt, (), choice)
        # One that is due at once is delayed too: its chat may be busy now.
        wait = when.delay if when.at is not None else max(when.delay, _SOON)
        new = NewTurn(uuid4(), chat, user, request, wait, every=when.every, due=when.at)
        job = await self._chats.submit(new)
        return job.turn

    async def waiting(self) -> Sequence[ScheduledTurn]:
        """Return the turns that are due later, the next ones first."""
        return [
            ScheduledTurn(one.id, one.chat, one.prompt, _utc(one.due), one.every)
            for one in await asyncio.to_thread(self._cluster.table.due_later)
        ]

    async def cancel(self, id: int) -> bool:
        """End a turn that is due later, and its series; return whether there was one."""
        job = await asyncio.to_thread(self._cluster.table.unschedule, id)
        if job is not None:
            # Whatever an engine raises: the job is refused when it is due.
            with suppress(Exception):
                await asyncio.to_thread(self._cluster.engine.withdraw, [job])
        return job is not None


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

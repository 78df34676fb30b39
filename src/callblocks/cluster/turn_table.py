"""The table of turns: what is to be done, who does it, and what became of it.

States of a turn
    delayed      it is due later; its chat is free until then
    queued       it waits for a worker
    running      a worker has it
    ended        it is over, in whatever way
    quarantined  as ended: too many workers died of it

A turn that is queued or running is active, and a chat has one of these at a time: the database
holds that, whichever replica takes the prompt.

Invariants
    - Each claim gives the turn a new fence, from one sequence, and raises that of its timeline in
      the same transaction. From then on nobody with an earlier claim can write there.
    - A turn that is to be run has a row before the engine has a job. Whoever finds such a row
      without a job enqueues it, so a process may die between the two.
    - The attempt grows whenever the turn goes back to the queue. The job of an earlier attempt is
      refused, so an engine may keep and repeat its jobs as it likes.
    - All times are those of the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import msgspec
import psycopg

from callblocks.cluster.cluster_database import Connection, Database
from callblocks.cluster.turns import FORMAT, ClusterLimits, Job, TurnRequest
from callblocks.core.errors import TimelineError, TurnRunning
from callblocks.timeline.log.log import genesis

__all__ = (
    "ActiveTurn",
    "Claimed",
    "DueTurn",
    "NewTurn",
    "Progress",
    "QueueCounts",
    "Standing",
    "TooManyTurns",
    "TurnTable",
)


# Seconds for which events that are to be forgotten are looked for: far more than between two looks.
_SWEPT = 3600.0


class TooManyTurns(TurnRunning):
    """A user has as many turns waiting as one may have."""


class NewTurn(NamedTuple):
    """A turn that a replica takes; `turn` is its name, where one goes on that was interrupted.

    It is due in `delay` seconds, or at the time `due` in seconds since 1970, by the clock of the
    server; and then again each `every` seconds.
    """

    key: UUID
    timeline: str
    user: str
    request: TurnRequest
    delay: float = 0.0
    turn: str = ""
    every: float = 0.0
    due: float | None = None


class DueTurn(msgspec.Struct, frozen=True):
    """A turn that is due later; `due` is in seconds since 1970, `every` 0 for once."""

    id: int
    chat: str
    prompt: str
    due: float
    every: float


class QueueCounts(NamedTuple):
    """How many turns stand how, the seconds that the first in the queue waits, and the workers."""

    delayed: int
    queued: int
    running: int
    oldest: float
    workers: int


class Claimed(NamedTuple):
    """A turn that a worker has: what is to be done, and how often that killed a worker.

    `waited` is for how many seconds it was due, `before` the fence of the last claim of its chat.
    """

    id: int
    timeline: str
    user: str
    request: TurnRequest
    fence: int
    deaths: int
    is_stopped: bool
    waited: float = 0.0
    before: int = 0


class Standing(NamedTuple):
    """How a running turn stands: its name on the timeline, its open questions, and all of them."""

    turn: str
    waiting: Sequence[str]
    asked: Sequence[str]


class ActiveTurn(msgspec.Struct, frozen=True):
    """A turn that is queued or running. `base` is the last block before the present attempt."""

    id: int
    timeline: str
    state: str
    attempt: int
    fence: int
    base: int
    turn: str
    waiting: tuple[str, ...]
    asked: tuple[str, ...]


class Progress(NamedTuple):
    """How far a turn is, for its followers, and the events that they do not have yet."""

    state: str
    attempt: int
    fence: int
    base: int
    turn: str
    waiting: Sequence[str]
    asked: Sequence[str]
    status: str
    code: str
    message: str
    events: Sequence[bytes]

    @property
    def is_over(self) -> bool:
        """Return whether nothing more will happen."""
        return self.state in ("ended", "quarantined")


_ACTIVE: LiteralString = (
    "select id, timeline, state, attempt, fence, base, turn, waiting, asked from callblocks_turns"
    " where state in ('queued', 'running')"
)
# The timelines of a team's members follow that of the chat.
_RAISE: LiteralString = (
    "update callblocks_timelines set fence = greatest(fence, %(fence)s)"
    " where name = %(name)s or starts_with(name, %(name)s || '.')"
)
_MAKE: LiteralString = (
    "insert into callblocks_timelines (name, count, hash, fence) values (%s, 0, %s, %s)"
    " on conflict (name) do update set fence = greatest(callblocks_timelines.fence, excluded.fence)"
    " returning count"
)
_CLAIM: LiteralString = """
update callblocks_turns set state = 'running', worker = %(worker)s, is_enqueued = true,
    fence = nextval('callblocks_fences'), began = coalesce(began, now()), waiting = '{}'
where id = %(turn)s and attempt = %(attempt)s and state in ('delayed', 'queued')
    and exists (select from callblocks_workers where id = %(worker)s and not is_dead for share)
returning id, timeline, username, request, fence, deaths, is_stopped,
    extract(epoch from clock_timestamp() - greatest(created, due))::float8
"""
# A claim whose answer was lost with the connection is found again.
_CLAIMED: LiteralString = """
select id, timeline, username, request, fence, deaths, is_stopped, 0::float8
from callblocks_turns where id = %(turn)s and attempt = %(attempt)s and state = 'running'
    and worker = %(worker)s
"""
_TAKE_FROM: LiteralString = """
update callblocks_turns set state = 'queued', worker = null, attempt = attempt + 1,
    deaths = deaths + 1, is_enqueued = false, fence = nextval('callblocks_fences'), waiting = '{}'
where worker = %s and state = 'running' returning timeline, fence
"""
# The next of a series: due once more, whatever was missed meanwhile. Its key says which it is, so
# that a turn that is claimed again has one next turn.
_NEXT: LiteralString = """
insert into callblocks_turns (key, timeline, username, format, request, state, every, due)
select md5(key::text || ' next')::uuid, timeline, username, format, request, 'delayed', every,
    due + make_interval(secs => every * greatest(
        ceil(extract(epoch from clock_timestamp() - due)::float8 / every), 1
    ))
from callblocks_turns where id = %s and every > 0
on conflict (key) do nothing
"""
_DUE: LiteralString = """
select id, timeline, request, extract(epoch from due)::float8, every from callblocks_turns
where state = 'delayed' order by due, id limit 1000
"""
_UNSCHEDULE: LiteralString = """
update callblocks_turns set state = 'ended', status = 'stopped', code = 'stopped', ended = now(),
    request = ''
where id = %s and state = 'delayed' returning id, attempt, username, format
"""
_COUNTS: LiteralString = """
select count(*) filter (where state = 'delayed'), count(*) filter (where state = 'queued'),
    count(*) filter (where state = 'running'), coalesce(extract(epoch from clock_timestamp()
    - min(greatest(created, due)) filter (where state = 'queued')), 0)::float8,
    (select count(*) from callblocks_workers where not is_dead)
from callblocks_turns where state in ('delayed', 'queued', 'running')
"""
_AGAIN: LiteralString = """
update callblocks_turns set attempt = attempt + 1, is_enqueued = false
where id = %s and attempt = %s and state in ('delayed', 'queued')
"""
_GIVE_BACK: LiteralString = """
update callblocks_turns set state = 'queued', worker = null, attempt = attempt + 1,
    is_enqueued = false, waiting = '{}'
where id = %s and fence = %s and state = 'running' returning id
"""
_LATER: LiteralString = """
update callblocks_turns set attempt = attempt + 1, is_enqueued = false,
    due = now() + interval '1 second'
where id = %s and attempt = %s and state = 'delayed'
"""
_END: LiteralString = """
update callblocks_turns set state = %s, worker = null, status = %s, code = %s, message = %s,
    ended = now(), waiting = '{}', request = ''
where id = %s and fence = %s and state = 'running' returning id
"""
# A turn that was taken once has blocks on its timeline, which a worker has to end.
_STOP: LiteralString = """
update callblocks_turns set is_stopped = true,
    state = case when state = 'queued' and attempt = 1 then 'ended' else state end,
    status = case when state = 'queued' and attempt = 1 then 'stopped' else status end,
    code = case when state = 'queued' and attempt = 1 then 'stopped' else code end,
    ended = case when state = 'queued' and attempt = 1 then now() else ended end
where timeline = %s and state in ('queued', 'running') returning id
"""
_PROGRESS: LiteralString = """
select state, attempt, fence, base, turn, waiting, asked, status, code, message,
    array(
        select body from callblocks_turn_events as event
        where event.turn = turns.id and event.fence = turns.fence and number >= %s
        order by number limit 200
    )
from callblocks_turns as turns where id = %s
"""
_UNQUEUED: LiteralString = """
select id, attempt, username, format,
    greatest(extract(epoch from due - now()), 0)::float8
from callblocks_turns where not is_enqueued and state in ('delayed', 'queued')
    and created < now() - make_interval(secs => %s) order by id limit 500
"""


class TurnTable:
    """The turns of a cluster. Every method blocks, and may be called from any thread."""

    def __init__(self, database: Database, limits: ClusterLimits) -> None:
        self._database = database
        self._limits = limits

    def submit(self, new: NewTurn) -> Job:
        """Take a turn; it is on disk when this returns. A `key` that is there is the same turn.

        `TurnRunning` where a turn of the timeline is active, `TooManyTurns` where the user has too
        many.
        """
        body, user, timeline = msgspec.json.encode(new.request), new.user, new.timeline
        state = "delayed" if new.delay > 0 or new.due is not None else "queued"

        def work(connection: Connection) -> Job:
            (waiting,) = _one(
                connection,
                "select count(*) from (select from callblocks_turns where username = %s"
                " and state in ('delayed', 'queued') limit %s) as waiting",
                (user, self._limits.waiting),
            )
            if waiting >= self._limits.waiting:
                raise TooManyTurns(f"{waiting} turns of this user wait, which is the limit here")
            row = connection.execute(
                "insert into callblocks_turns"
                " (key, timeline, username, format, request, state, turn, every, due) values"
                " (%s, %s, %s, %s, %s, %s, %s, %s, coalesce(to_timestamp(%s), now())"
                " + make_interval(secs => %s))"
                " on conflict (key) do update set key = excluded.key returning id, attempt,"
                " greatest(extract(epoch from due - now()), 0)::float8",
                (*(new.key, timeline, user, FORMAT, body, state), *_due(new)),
            ).fetchone()
            assert row is not None
            return Job(row[0], row[1], user, FORMAT, row[2])

        try:
            return self._database.do(work)
        except TimelineError as error:
            if not isinstance(error.__cause__, psycopg.errors.UniqueViolation):
                raise
            raise TurnRunning(f"a turn of {timeline} runs already; wait for its end") from error

    def enqueued(self, job: Job) -> None:
        """Note that the engine has the job."""
        self._database.execute(
            "update callblocks_turns set is_enqueued = true where id = %s and attempt = %s",
            job.turn,
            job.attempt,
        )

    def unqueued(self, age: float = 0.0) -> list[Job]:
        """Return jobs that no engine has, though they are older than some seconds."""
        return [Job(*row) for row in self._database.execute(_UNQUEUED, age)]

    def claim(self, job: Job, worker: int) -> Claimed | None:
        """Take a turn for a worker; `None` where the attempt is not the present one.

        A delayed turn whose chat is busy waits a second more.
        """
        values = {"turn": job.turn, "attempt": job.attempt, "worker": worker}

        def work(connection: Connection) -> Claimed | None:
            row = connection.execute(_CLAIM, values).fetchone()
            if row is None:
                row = connection.execute(_CLAIMED, values).fetchone()
            if row is None:
                return None
            claimed = _claimed(*row, before=_claimed_before(connection, row[1], row[4]))
            base = _raise_fence(connection, claimed.timeline, claimed.fence)
            connection.execute(
                "update callblocks_turns set base = %s where id = %s", (base, claimed.id)
            )
            connection.execute(_NEXT, (claimed.id,))
            return claimed

        try:
            return self._database.do(work)
        except TimelineError as error:
            if not isinstance(error.__cause__, psycopg.errors.UniqueViolation):
                raise
        self._database.execute(_LATER, job.turn, job.attempt)
        return None

    def publish(
        self, claimed: Claimed, number: int, body: bytes, standing: Standing | None
    ) -> None:
        """Keep some events under their number, and how the turn stands, if that changed.

        Those of an earlier claim are kept apart, and nobody reads them.
        """

        def work(connection: Connection) -> None:
            connection.execute(
                "insert into callblocks_turn_events values (%s, %s, %s, %s) on conflict do nothing",
                (claimed.id, claimed.fence, number, body),
            )
            if standing is not None:
                connection.execute(
                    "update callblocks_turns set turn = %s, waiting = %s, asked = %s"
                    " where id = %s and fence = %s",
                    (*map(_plain, standing), claimed.id, claimed.fence),
                )

        self._database.do(work)

    def end(
        self,
        claimed: Claimed,
        status: str,
        code: str = "",
        message: str = "",
        *,
        is_quarantined: bool = False,
    ) -> bool:
        """End a turn; false where another worker has it."""
        state = "quarantined" if is_quarantined else "ended"
        values = (state, status, code, message, claimed.id, claimed.fence)
        return bool(self._database.execute(_END, *values))

    def give_back(self, claimed: Claimed) -> bool:
        """Return a turn to the queue; false where another worker has it."""
        return bool(self._database.execute(_GIVE_BACK, claimed.id, claimed.fence))

    def again(self, jobs: Sequence[Job]) -> None:
        """Return jobs to the queue that a worker took and never claimed."""

        def work(connection: Connection) -> None:
            for job in jobs:
                connection.execute(_AGAIN, (job.turn, job.attempt))

        self._database.do(work)

    def take_from(self, worker: int) -> int:
        """Return the turns of a dead worker to the queue; return how many there were.

        The fence of each timeline is raised: what the worker writes from now on is refused.
        """

        def work(connection: Connection) -> int:
            connection.execute(
                "update callblocks_workers set is_dead = true where id = %s", (worker,)
            )
            taken = connection.execute(_TAKE_FROM, (worker,)).fetchall()
            for timeline, fence in taken:
                _raise_fence(connection, timeline, fence)
            return len(taken)

        return self._database.do(work)

    def waiting_longest(self, age: float, limit: int = 100) -> list[Job]:
        """Return jobs that the engine was given, and that wait since more than some seconds."""
        rows = self._database.execute(
            "select id, attempt, username, format from callblocks_turns"
            " where state = 'queued' and is_enqueued"
            " and greatest(created, due) < now() - make_interval(secs => %s) order by id limit %s",
            age,
            limit,
        )
        return [Job(*row) for row in rows]

    def living(self) -> set[str]:
        """Return the names of the workers that nobody takes for dead."""
        rows = self._database.execute("select name from callblocks_workers where not is_dead")
        return {row[0] for row in rows}

    def stop(self, timeline: str) -> int | None:
        """Ask for the end of a chat's active turn; return its number, `None` where there is none.

        One that waits has its end at once.
        """

        def work(connection: Connection) -> int | None:
            row = connection.execute(_STOP, (timeline,)).fetchone()
            return row[0] if row else None

        return self._database.do(work)

    def stopped(self, worker: int) -> list[int]:
        """Return the turns of a worker that are to be stopped."""
        return [
            row[0]
            for row in self._database.execute(
                "select id from callblocks_turns where worker = %s and is_stopped", worker
            )
        ]

    def active(self, timeline: str) -> ActiveTurn | None:
        """Return the active turn of a chat."""
        rows = self._database.execute(_ACTIVE + " and timeline = %s", timeline)
        return _active(rows[0]) if rows else None

    def open_questions(self) -> dict[str, int]:
        """Return how many questions wait in each chat that has an active turn."""
        return dict(
            self._database.execute(
                "select timeline, cardinality(waiting) from callblocks_turns"
                " where state in ('queued', 'running')"
            )
        )

    def due_later(self) -> list[DueTurn]:
        """Return the turns that are due later, the next ones first."""
        return [
            DueTurn(id, chat, _request(body).prompt, due, every)
            for id, chat, body, due, every in self._database.execute(_DUE)
        ]

    def unschedule(self, turn: int) -> Job | None:
        """End a turn that is due later, and its series; `None` where there is none such."""
        rows = self._database.execute(_UNSCHEDULE, turn)
        return Job(*rows[0]) if rows else None

    def counts(self) -> QueueCounts:
        """Return how many turns stand how, and how many workers there are."""
        return QueueCounts(*self._database.execute(_COUNTS)[0])

    def count_active(self) -> int:
        """Return the number of active turns."""
        rows = self._database.execute(
            "select count(*) from callblocks_turns where state in ('queued', 'running')"
        )
        return rows[0][0]

    def asking(self, approvals: Sequence[str]) -> dict[str, str]:
        """Return the chats whose active turns asked these questions, by question."""
        rows = self._database.execute(
            "select timeline, asked from callblocks_turns"
            " where state in ('queued', 'running') and asked && %s",
            list(approvals),
        )
        known = set(approvals)
        return {id: timeline for timeline, asked in rows for id in asked if id in known}

    def progress(self, turn: int, number: int) -> Progress | None:
        """Return how far a turn is, with its events from a number on."""
        rows = self._database.execute(_PROGRESS, number, turn)
        return Progress(*rows[0]) if rows else None

    def forget_old(self) -> None:
        """Delete events and turns that nobody asks for any more."""
        self._database.execute(
            "delete from callblocks_turn_events where turn in (select id from callblocks_turns"
            " where ended between now() - make_interval(secs => %s)"
            " and now() - make_interval(secs => %s))",
            self._limits.keep_events + _SWEPT,
            self._limits.keep_events,
        )
        self._database.execute(
            "delete from callblocks_turns where ended < now() - make_interval(secs => %s)",
            self._limits.keep,
        )


def _one(connection: Connection, query: LiteralString, values: Sequence[Any]) -> tuple[Any, ...]:
    row = connection.execute(query, values).fetchone()
    assert row is not None, "an aggregate has one row"
    return row


def _due(new: NewTurn) -> tuple[str, float, float | None, float]:
    return new.turn, new.every, new.due, new.delay


def _raise_fence(connection: Connection, timeline: str, fence: int) -> int:
    """Let no smaller fence write to a chat and to its members; return the number of its blocks."""
    row = connection.execute(_MAKE, (timeline, genesis(timeline), fence)).fetchone()
    connection.execute(_RAISE, {"name": timeline, "fence": fence})
    assert row is not None, "the statement returns the row that it wrote or found"
    return row[0]


_FIELDS = ActiveTurn.__struct_fields__


def _plain(value: str | Sequence[str]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _active(row: Sequence[Any]) -> ActiveTurn:
    return msgspec.convert(dict(zip(_FIELDS, row, strict=True)), ActiveTurn)


def _claimed(
    id: int,
    timeline: str,
    user: str,
    body: bytes,
    fence: int,
    deaths: int,
    is_stopped: bool,
    waited: float,
    before: int,
) -> Claimed:
    request = _request(body)
    return Claimed(id, timeline, user, request, fence, deaths, is_stopped, waited, before)


def _claimed_before(connection: Connection, timeline: str, fence: int) -> int:
    """Return the fence of the last claim of a chat, and keep this one."""
    row = connection.execute(
        "select fence from callblocks_claims where timeline = %s for update", (timeline,)
    ).fetchone()
    connection.execute(
        "insert into callblocks_claims values (%s, %s)"
        " on conflict (timeline) do update set fence = excluded.fence",
        (timeline, fence),
    )
    return row[0] if row else 0


def _request(body: bytes) -> TurnRequest:
    return msgspec.json.decode(body, type=TurnRequest)

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from callblocks.cluster.cluster_database import Database, prepare_cluster
from callblocks.cluster.turn_table import (
    Claimed,
    NewTurn,
    Standing,
    TooManyTurns,
    TurnTable,
)
from callblocks.cluster.turns import ClusterLimits, Job, TurnRequest
from callblocks.core.errors import TimelineError, TurnRunning
from callblocks.timeline.log.postgres_store import PostgresStore
from support.postgres import connect, fresh_database
from support.stores import block


class World:
    """A table of turns, a store, and two workers."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.store = PostgresStore(address)
        prepare_cluster(address)
        self.database = Database(address)
        self.table = TurnTable(self.database, ClusterLimits(waiting=3))
        self.first, self.second = (
            self.database.execute(
                "insert into callblocks_workers (name, format) values (%s, 1) returning id", name
            )[0][0]
            for name in ("first", "second")
        )

    def submit(
        self, chat: str = "trip", user: str = "ann", delay: float = 0.0, key: UUID | None = None
    ) -> Job:
        request = TurnRequest(prompt="Go.")
        return self.table.submit(NewTurn(key or uuid4(), chat, user, request, delay))

    def claim(self, job: Job, worker: int | None = None) -> Claimed:
        claimed = self.table.claim(job, worker or self.first)
        assert claimed is not None
        return claimed

    def jobs(self) -> list[Job]:
        return [Job(job.turn, job.attempt) for job in self.table.unqueued()]

    def close(self) -> None:
        self.database.close()
        self.store.close()


@pytest.fixture
def world() -> Iterator[World]:
    with fresh_database() as address:
        world = World(address)
        yield world
        world.close()


def test_a_chat_has_one_active_turn_whoever_takes_it(world: World) -> None:
    job = world.submit()
    with pytest.raises(TurnRunning):
        world.submit()
    claimed = world.claim(job)
    with pytest.raises(TurnRunning):
        world.submit()
    assert world.table.end(claimed, "answered")
    world.submit()


def test_a_turn_that_is_submitted_twice_under_one_key_is_one(world: World) -> None:
    key = uuid4()
    assert world.submit(key=key) == world.submit(key=key)


def test_a_user_has_so_many_turns_waiting_and_no_more(world: World) -> None:
    for chat in "abc":
        world.submit(chat)
    with pytest.raises(TooManyTurns):
        world.submit("d")
    world.submit("d", user="bob")


def test_only_the_present_attempt_is_claimed_and_only_once(world: World) -> None:
    job = world.submit()
    claimed = world.claim(job)
    assert claimed.request.prompt == "Go."
    assert world.table.claim(job, world.second) is None
    # The answer of the first claim may have been lost with its connection.
    assert world.claim(job).fence == claimed.fence
    assert world.table.take_from(world.first) == 1
    assert world.table.claim(job, world.second) is None
    assert world.jobs() == [Job(job.turn, 2)]
    again = world.claim(Job(job.turn, 2), world.second)
    assert again.fence > claimed.fence
    assert again.deaths == 1
    assert not world.table.end(claimed, "answered")
    assert world.table.end(again, "answered")


def test_a_worker_that_is_dead_to_the_others_claims_nothing(world: World) -> None:
    job = world.submit()
    world.table.take_from(world.first)
    assert world.table.claim(job, world.first) is None


def test_a_takeover_fences_the_chat_and_its_members_before_anybody_claims_it(world: World) -> None:
    claimed = world.claim(world.submit())
    for name in ("trip", "trip.critic", "trips"):
        world.store.append(name, [block("a")], fence=claimed.fence)
    world.table.take_from(world.first)
    for name in ("trip", "trip.critic"):
        with pytest.raises(TimelineError) as caught:
            world.store.append(name, [block("b")], fence=claimed.fence)
        assert caught.value.code == "fenced"
    world.store.append("trips", [block("b")], fence=claimed.fence)


def test_a_turn_that_was_handed_back_counts_no_death(world: World) -> None:
    claimed = world.claim(world.submit())
    assert world.table.give_back(claimed)
    assert not world.table.give_back(claimed)
    again = world.claim(world.jobs()[0], world.second)
    assert again.deaths == 0
    assert not world.table.give_back(claimed)


def test_jobs_that_a_worker_took_and_never_claimed_wait_again(world: World) -> None:
    job = world.submit()
    world.table.enqueued(job)
    assert world.jobs() == []
    world.table.again([job])
    assert world.jobs() == [Job(job.turn, 2)]
    world.table.again([job])
    assert world.jobs() == [Job(job.turn, 2)]


def test_a_turn_that_waits_is_stopped_at_once_and_one_that_runs_by_its_worker(world: World) -> None:
    waiting = world.submit("a")
    assert world.table.stop("a") == waiting.turn
    assert world.table.claim(waiting, world.first) is None
    claimed = world.claim(world.submit("b"))
    assert world.table.stop("b") == claimed.id
    assert world.table.stopped(world.first) == [claimed.id]
    assert world.table.stop("c") is None
    # One that is between two workers has blocks on its timeline, which a worker has to end.
    world.table.take_from(world.first)
    assert world.table.stop("b") == claimed.id
    assert world.claim(Job(claimed.id, 2), world.second).is_stopped


def test_a_delayed_turn_leaves_its_chat_free_until_it_is_due(world: World) -> None:
    later = world.submit(delay=60)
    assert later.delay == 60
    (job,) = world.table.unqueued()
    assert 50 < job.delay <= 60
    now = world.claim(world.submit())
    # It is due, and the chat is busy: it waits a second more.
    assert world.table.claim(later, world.second) is None
    world.table.end(now, "answered")
    assert world.claim(Job(later.turn, 2), world.second).id == later.turn


def test_followers_read_the_events_of_the_present_claim_in_order(world: World) -> None:
    claimed = world.claim(world.submit())
    table = world.table
    table.publish(claimed, 0, b"zero", Standing("turn_1", ["q1"], ["q1"]))
    table.publish(claimed, 1, b"one", None)
    table.publish(claimed, 1, b"one again", None)
    progress = table.progress(claimed.id, 0)
    assert progress is not None
    assert (progress.turn, progress.waiting, progress.is_over) == ("turn_1", ["q1"], False)
    assert list(progress.events) == [b"zero", b"one"]
    assert table.asking(["q1", "q2"]) == {"q1": "trip"}
    assert table.open_questions() == {"trip": 1}
    table.take_from(world.first)
    table.claim(Job(claimed.id, 2), world.second)
    table.publish(claimed, 2, b"of a zombie", Standing("turn_9", [], []))
    progress = table.progress(claimed.id, 0)
    assert progress is not None
    assert (progress.turn, list(progress.events)) == ("turn_1", [])


def test_events_are_forgotten_some_time_after_the_end(world: World) -> None:
    claimed = world.claim(world.submit())
    world.table.publish(claimed, 0, b"zero", None)
    world.table.end(claimed, "answered")
    world.table.forget_old()
    progress = world.table.progress(claimed.id, 0)
    assert progress is not None
    assert list(progress.events) == [b"zero"]
    with connect(world.address) as connection:
        connection.execute("update callblocks_turns set ended = now() - interval '2 minutes'")
    world.table.forget_old()
    progress = world.table.progress(claimed.id, 0)
    assert progress is not None
    assert list(progress.events) == []
    with connect(world.address) as connection:
        connection.execute("update callblocks_turns set ended = now() - interval '8 days'")
    world.table.forget_old()
    assert world.table.progress(claimed.id, 0) is None


def test_work_is_done_again_where_the_connection_was_lost(world: World) -> None:
    world.submit("a")
    with connect(world.address) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where pid <> pg_backend_pid() and query ilike '%callblocks_%'"
        )
    world.submit("b")
    assert world.table.count_active() == 2


def test_tables_of_a_newer_version_are_refused(world: World) -> None:
    with connect(world.address) as connection:
        connection.execute("update callblocks_cluster set version = 7")
    with pytest.raises(TimelineError) as caught:
        prepare_cluster(world.address)
    assert caught.value.code == "newer_schema"


def test_a_series_has_one_next_turn_however_often_one_of_it_is_claimed(world: World) -> None:
    request = TurnRequest(prompt="Water the plants.")
    job = world.table.submit(NewTurn(uuid4(), "trip", "ann", request, delay=30, every=60))
    # Three of its times were missed.
    world.database.execute(
        "update callblocks_turns set due = due - interval '200 seconds', created = created"
        " - interval '400 seconds' where id = %s",
        job.turn,
    )
    claimed = world.claim(job)
    assert claimed.waited > 100
    assert world.table.take_from(world.first) == 1
    (again,) = [one for one in world.jobs() if one.turn == job.turn]
    world.claim(again, world.second)
    (following,) = world.table.due_later()
    assert (following.chat, following.prompt, following.every) == ("trip", request.prompt, 60)
    ((wait,),) = world.database.execute(
        "select extract(epoch from due - now())::float8 from callblocks_turns where id = %s",
        following.id,
    )
    assert 0 < wait <= 60
    assert world.table.unschedule(following.id) is not None
    assert world.table.unschedule(following.id) is None
    assert world.table.due_later() == []


def test_a_time_is_meant_by_the_clock_of_the_server(world: World) -> None:
    ((now,),) = world.database.execute("select extract(epoch from now())::float8")
    request = TurnRequest(prompt="Go.")
    job = world.table.submit(NewTurn(uuid4(), "trip", "ann", request, due=now + 100))
    assert 90 < job.delay <= 100
    (waiting,) = world.table.due_later()
    assert waiting.due == pytest.approx(now + 100)
    late = world.table.submit(NewTurn(uuid4(), "trip", "ann", request, due=now - 100))
    assert late.delay == 0


def test_the_counts_say_how_the_queue_stands(world: World) -> None:
    world.claim(world.submit())
    world.submit("other")
    world.submit("later", delay=60)
    counts = world.table.counts()
    assert (counts.delayed, counts.queued, counts.running, counts.workers) == (1, 1, 1, 2)
    assert counts.oldest >= 0


def test_newer_tables_that_allow_it_are_used(world: World) -> None:
    world.database.execute("alter table callblocks_cluster add column oldest integer")
    world.database.execute("update callblocks_cluster set version = version + 1, oldest = version")
    prepare_cluster(world.address)

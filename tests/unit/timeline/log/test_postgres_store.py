from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from callblocks.core import extras
from callblocks.core.errors import TimelineError
from callblocks.timeline.log import postgres_store as postgres_follow
from callblocks.timeline.log.log import AppendRequest, encode
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.postgres_store import PostgresStore, PostgresWriter
from callblocks.timeline.log.transfer import verify
from support.postgres import connect, fresh_database
from support.stores import block


@pytest.fixture
def address() -> Iterator[str]:
    with fresh_database() as address:
        yield address


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    with PostgresStore(address) as store:
        yield store


def refused(use: Callable[[], object]) -> TimelineError:
    with pytest.raises(TimelineError) as caught:
        use()
    return caught.value


def break_connections(address: str) -> None:
    """End every connection but our own, as a server that is restarted does."""
    with connect(address) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where pid <> pg_backend_pid() and backend_type = 'client backend'"
            " and query ilike '%callblocks_%'"
        )


def texts(store: PostgresStore) -> list[str | None]:
    return [entry.block.text for entry in store.entries("talk")]


def test_a_store_of_a_newer_version_is_refused(store: PostgresStore, address: str) -> None:
    with connect(address) as connection:
        connection.execute("update callblocks_schema set version = 7")
    error = refused(lambda: open_store(address))
    assert error.code == "newer_schema"
    assert error.details["version"] == 7


def test_a_newer_store_is_used_if_it_says_that_this_version_may(
    store: PostgresStore, address: str
) -> None:
    with connect(address) as connection:
        connection.execute("alter table callblocks_schema add column oldest integer")
        connection.execute("update callblocks_schema set version = 7, oldest = 2")
    with open_store(address) as neighbour:
        assert neighbour.names() == []
    with connect(address) as connection:
        assert connection.execute("select version, oldest from callblocks_schema").fetchall() == [
            (7, 2)
        ]
        connection.execute("update callblocks_schema set oldest = 3")
    assert refused(lambda: open_store(address)).code == "newer_schema"


def test_a_server_that_is_not_there_is_unavailable_and_the_password_stays_secret() -> None:
    error = refused(lambda: open_store("postgresql://me:hunter2@127.0.0.1:1/talks"))
    assert error.code == "store_unavailable"
    assert "postgresql://127.0.0.1/talks" in error.message
    assert "hunter2" not in error.message
    error = refused(lambda: open_store("postgres://me:hunter2@/talks?nonsense=1"))
    assert error.code == "store_unavailable"
    assert "hunter2" not in error.message


def test_without_the_driver_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "fault_of", lambda extra: "needs packages that are not installed")
    error = refused(lambda: open_store("postgresql://127.0.0.1/talks"))
    assert error.code == "store_unavailable"
    assert "callblocks[postgres]" in error.message


def test_a_connection_that_broke_is_made_anew(store: PostgresStore, address: str) -> None:
    store.append("talk", [block("a")])
    assert texts(store) == ["a"]
    break_connections(address)
    store.append("talk", [block("b")], expected=1)
    break_connections(address)
    assert texts(store) == ["a", "b"]
    assert verify(store, "talk") == []


class Failing:
    """A cursor whose next statement fails."""

    def __init__(self, writer: Any, error: BaseException) -> None:
        self.writer = writer
        self.real = writer._cursor
        self.error = error

    def execute(self, *values: Any, **options: Any) -> Any:
        self.writer._cursor = self.real
        raise self.error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def test_of_two_that_wait_for_each_other_the_one_that_is_stopped_tries_again(
    store: PostgresStore,
) -> None:
    store.append("talk", [block("a")])
    writer: Any = store._writer
    writer._cursor = Failing(writer, psycopg.errors.DeadlockDetected("stopped"))
    store.append("talk", [block("b")], expected=1)
    assert texts(store) == ["a", "b"]


def test_an_interrupted_append_leaves_a_store_that_works(store: PostgresStore) -> None:
    store.append("talk", [block("a")])
    writer: Any = store._writer
    writer._cursor = Failing(writer, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        store.append("talk", [block("b")])
    store.append("talk", [block("c")], expected=1)
    assert texts(store) == ["a", "c"]


class Losing:
    """A cursor that loses the answer to a statement: before it is done, or after."""

    def __init__(self, real: psycopg.Cursor[Any], *, done: bool) -> None:
        self.real = real
        self.done = done

    def execute(self, *values: Any, **options: Any) -> Any:
        if self.done:
            self.real.execute(*values, **options)
        self.real.connection.close()
        raise psycopg.OperationalError("the connection is lost")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("number", [1, 3])
def test_when_the_answer_is_lost_blocks_are_written_once(
    store: PostgresStore, done: bool, number: int
) -> None:
    store.append("talk", [block("a")])
    writer: Any = store._writer
    writer._cursor = Losing(writer._cursor, done=done)
    written = store.append("talk", [block(f"b{at}") for at in range(number)])
    assert [entry.seq for entry in written] == list(range(2, number + 2))
    store.append("talk", [block("c")], expected=number + 1)
    assert texts(store) == ["a", *(f"b{at}" for at in range(number)), "c"]
    assert verify(store, "talk") == []


@pytest.mark.parametrize("expected", [1, None])
def test_equal_blocks_of_another_writer_are_not_taken_for_our_own(
    store: PostgresStore, address: str, expected: int | None
) -> None:
    store.append("talk", [block("a")])
    writer: Any = store._writer

    class Beaten(Losing):
        def execute(self, *values: Any, **options: Any) -> Any:
            with PostgresStore(address) as other:
                other.append("talk", [block("mine")])
            return super().execute(*values, **options)

    writer._cursor = Beaten(writer._cursor, done=False)
    if expected is None:
        assert [entry.seq for entry in store.append("talk", [block("mine")])] == [3]
        assert texts(store) == ["a", "mine", "mine"]
    else:
        error = refused(lambda: store.append("talk", [block("mine")], expected))
        assert error.code == "conflict"
        assert texts(store) == ["a", "mine"]
    assert verify(store, "talk") == []


def test_when_the_server_stays_away_the_caller_is_told(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append("talk", [block("a")])
    writer: Any = store._writer
    writer._cursor = Losing(writer._cursor, done=False)
    monkeypatch.setattr(writer, "_address", "postgresql://127.0.0.1:1/talks")
    assert refused(lambda: store.append("talk", [block("b")])).code == "store_unavailable"
    monkeypatch.undo()
    store.append("talk", [block("c")], expected=1)
    assert texts(store) == ["a", "c"]


def test_a_follower_goes_on_when_its_connection_broke(
    store: PostgresStore, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_follow, "_PAUSE", 0.01)

    async def main() -> list[str | None]:
        found: list[str | None] = []
        async for entry in store.follow("talk"):
            found.append(entry.block.text)
            if len(found) in (1, 3):
                await asyncio.sleep(0.05)
                await asyncio.to_thread(break_connections, address)
                await asyncio.to_thread(store.append, "talk", [block("b"), block("c")])
            if len(found) == 5:
                break
        return found

    store.append("talk", [block("a")])
    assert asyncio.run(asyncio.wait_for(main(), 120)) == ["a", "b", "c", "b", "c"]


def test_a_follower_gives_up_on_a_server_that_stays_away(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_follow, "_PAUSE", 0.01)
    monkeypatch.setattr(postgres_follow, "_PATIENCE", 0.05)
    monkeypatch.setattr(store, "address", "postgresql://127.0.0.1:1/talks")

    async def main() -> None:
        async for _ in store.follow("talk"):
            pass

    assert refused(lambda: asyncio.run(main())).code == "store_unavailable"


def test_a_commit_goes_to_the_disk_whatever_the_server_does_by_itself(address: str) -> None:
    with PostgresStore(f"{address}%20-csynchronous_commit%3Doff") as store:
        store.append("talk", [block("a")])
        connection = store._writer._connection
        assert connection is not None
        assert connection.execute("show synchronous_commit").fetchone() == ("on",)


def test_a_writer_that_another_keeps_waiting_gives_up(store: PostgresStore, address: str) -> None:
    store.append("talk", [block("a")])
    connection = store._writer._connection
    assert connection is not None
    connection.execute("set lock_timeout = '50ms'")
    with psycopg.connect(address) as other:
        other.execute("select from callblocks_timelines for update")
        assert refused(lambda: store.append("talk", [block("b")])).code == "store_busy"
        other.rollback()
    store.append("talk", [block("c")], expected=1)
    assert texts(store) == ["a", "c"]


def test_a_store_whose_table_is_gone_is_damaged(store: PostgresStore, address: str) -> None:
    store.append("talk", [block("a")])
    with connect(address) as connection:
        connection.execute("drop table callblocks_blocks")
    assert refused(lambda: list(store.entries("talk"))).code == "store_damaged"
    assert refused(lambda: store.append("talk", [block("b")])).code == "store_damaged"
    assert store.head("talk").count == 1


def test_two_who_open_an_empty_database_at_the_same_time_both_can(address: str) -> None:
    async def main() -> list[Any]:
        opening = [asyncio.to_thread(PostgresStore, address) for _ in range(6)]
        return await asyncio.gather(*opening)

    for store in asyncio.run(main()):
        store.append("talk", [block("a")])
        store.close()
    with connect(address) as connection:
        assert connection.execute("select version from callblocks_schema").fetchall() == [(2,)]


def test_a_writer_with_a_smaller_fence_is_refused_from_then_on(
    store: PostgresStore, address: str
) -> None:
    store.append("talk", [block("a")], fence=3)
    with PostgresStore(address) as other:
        other.append("talk", [block("b")], fence=4)
        for expected in (None, 1, 2):
            error = refused(lambda at=expected: store.append("talk", [block("c")], at, fence=3))
            assert error.code == "fenced"
            assert error.details == {"fence": 3, "known": 4}
        assert refused(lambda: store.append("talk", [block("c")])).code == "fenced"
        other.append("talk", [block("d")], expected=2, fence=4)
    assert texts(store) == ["a", "b", "d"]


def test_a_fence_that_was_raised_alone_refuses_the_next_append(
    store: PostgresStore, address: str
) -> None:
    store.append("talk", [block("a")], fence=3)
    with connect(address) as connection:
        connection.execute("update callblocks_timelines set fence = 4")
    assert refused(lambda: store.append("talk", [block("b")], fence=3)).code == "fenced"
    store.append("talk", [block("c")], fence=4)
    assert texts(store) == ["a", "c"]


def test_of_requests_in_one_batch_each_counts_with_its_own_fence(address: str) -> None:
    writer = PostgresWriter(address)
    with PostgresStore(address) as store:
        store.append("talk", [block("a")], fence=2)
        batch = [
            AppendRequest("talk", [encode(block(str(fence)))], None, fence=fence)
            for fence in (1, 2, 3, 2)
        ]
        writer.write(batch)
        assert [one.error.code if one.error else "" for one in batch] == [
            "fenced",
            "",
            "",
            "fenced",
        ]
        assert texts(store) == ["a", "2", "3"]
    writer.close()


def test_a_store_of_the_first_version_is_brought_up_to_date(address: str) -> None:
    with PostgresStore(address) as store:
        store.append("talk", [block("a")])
    with connect(address) as connection:
        connection.execute("alter table callblocks_timelines drop column fence")
        connection.execute("update callblocks_schema set version = 1")
    with PostgresStore(address) as store:
        store.append("talk", [block("b")], expected=1, fence=1)
        assert texts(store) == ["a", "b"]


def test_a_store_that_is_to_tell_of_its_appends_tells_what_was_written(address: str) -> None:
    told: list[set[str]] = []
    with PostgresStore(address, tell=lambda names: told.append(set(names))) as store:
        store.append("talk", [block("a")])
        store.append("talk", [block("b")])
        refused(lambda: store.append("talk", [block("b")], expected=7))
    assert told == [{"talk"}, {"talk"}, set()]

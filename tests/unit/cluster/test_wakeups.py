from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from callblocks.cluster.wakeups import Wakeups
from support.postgres import connect, fresh_database


@pytest.fixture
def address() -> Iterator[str]:
    with fresh_database() as address:
        yield address


def test_an_id_that_is_told_wakes_who_waits_for_it_elsewhere(address: str) -> None:
    here, there = Wakeups(address), Wakeups(address, sender="elsewhere")
    heard, other = threading.Event(), threading.Event()
    with there.hearing("turn/1", heard.set), there.hearing("turn/2", other.set):
        # What was told before the other listens is lost, and then all are woken.
        assert heard.wait(10)
        heard.clear()
        other.clear()
        here.tell("turn/1")
        assert heard.wait(10)
    assert not other.is_set()
    here.close()
    there.close()


def test_who_waits_in_the_same_process_is_woken_at_once(address: str) -> None:
    wakeups = Wakeups(address)
    heard = threading.Event()
    with wakeups.hearing("turn/1", heard.set):
        wakeups.tell("turn/1")
        assert heard.is_set()
    heard.clear()
    wakeups.tell("turn/1")
    assert not heard.is_set()
    wakeups.close()


def test_many_ids_are_sent_with_few_commits(address: str) -> None:
    here, there = Wakeups(address), Wakeups(address, sender="elsewhere")
    last = threading.Event()
    with there.hearing("turn/4999", last.set):
        assert last.wait(10)
        last.clear()
        for number in range(5000):
            here.tell(f"turn/{number}")
        assert last.wait(10)
    here.close()
    assert here.commits < 500
    there.close()


def test_after_a_broken_connection_everybody_looks(address: str) -> None:
    wakeups = Wakeups(address)
    heard = threading.Event()
    with wakeups.hearing("turn/1", heard.set):
        assert heard.wait(10)
        heard.clear()
        with connect(address) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and query ilike 'listen%'"
            )
        assert heard.wait(10)
    wakeups.close()

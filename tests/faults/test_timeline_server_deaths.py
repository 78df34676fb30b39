"""A PostgreSQL server, or a part of it, dies under those who write to it."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.log import Store
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import verify
from support.postgres import connect, fresh_database, start_server
from support.stores import block


def producing(store: Store, name: str, number: int) -> tuple[list[threading.Thread], Any]:
    """Threads that append, and what they were told: an entry, or the code of an error."""
    told: list[list[Entry | str]] = [[] for _ in range(4)]

    def produce(producer: int) -> None:
        for at in range(number):
            try:
                told[producer] += store.append(name, [block(f"{producer}.{at}")])
            except TimelineError as error:
                told[producer].append(error.code)

    threads = [threading.Thread(target=produce, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    return threads, told


def check_told(store: Store, name: str, told: list[list[Entry | str]]) -> None:
    """Acknowledged blocks are there; what nobody knows of is there once or not at all."""
    assert verify(store, name) == []
    entries = list(store.entries(name))
    assert len({entry.block.text for entry in entries}) == len(entries), "none is there twice"
    for producer, answers in enumerate(told):
        for answer in answers:
            assert answer == "store_unavailable" or answer in entries
        texts = [str(entry.block.text).split(".") for entry in entries]
        own = [int(text[1]) for text in texts if text[0] == str(producer)]
        assert own == sorted(own)


def test_a_backend_that_dies_loses_nothing_and_doubles_nothing() -> None:
    with (
        fresh_database() as address,
        open_store(address) as store,
        connect(address) as other,
    ):
        threads, told = producing(store, "talk", 60)
        for _ in range(12):
            before = sum(map(len, told))
            while any(map(threading.Thread.is_alive, threads)) and sum(map(len, told)) < before + 9:
                threading.Event().wait(0.002)
            other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and backend_type = 'client backend'"
                " and query ilike '%callblocks_%'"
            )
        for thread in threads:
            thread.join()
        check_told(store, "talk", told)
        assert [len(answers) for answers in told] == [60] * 4


@pytest.fixture
def own_server() -> Iterator[Any]:
    """A server of this test alone."""
    server = start_server(tempfile.mkdtemp(prefix="pg-"))
    yield server
    server.cleanup()


def kill_server(server: Any) -> None:
    """Kill every process of a server at once, as a loss of power does."""
    postmaster = psutil.Process(server.get_pid())
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=120)


def test_a_server_that_is_killed_keeps_what_was_acknowledged(own_server: Any) -> None:
    with open_store(own_server.get_uri()) as store:
        for name in ("first", "second"):
            threads, told = producing(store, name, 50)
            while sum(map(len, told)) < 40:
                threading.Event().wait(0.002)
            kill_server(own_server)
            for thread in threads:
                thread.join()
            own_server.ensure_postgres_running()
            check_told(store, name, told)
            store.append(name, [block("the last")], expected=store.head(name).count)
        check_told(store, "first", [])

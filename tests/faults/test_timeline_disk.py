"""No room is left on the disk: what was written stays, and once there is room it goes on."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import RunLimits
from callblocks.server.http.monitoring import HealthCheck
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.log import Store
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import artifact_of, verify
from callblocks.tools.declare import tool
from support.postgres import connect, fresh_database, server_address
from support.recorded_sessions import a_session
from support.scripted_sessions import Replies, some_host
from support.stores import block
from support.tool_runtime import call, run_one


@contextmanager
def small_disk(folder: Path, options: str) -> Generator[Path, None, None]:
    """A file system of its own, with a file in it that can make room."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
    try:
        (folder / "filler").write_bytes(b"x" * 200_000)
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 600 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, "size=600k") as disk:
        yield disk


def fill(store: Store, size: int) -> tuple[list[Entry], TimelineError]:
    """Append until there is no more room: what was written, and the refusal."""
    written: list[Entry] = []
    for at in range(10_000):
        # A server would make little of what repeats itself.
        text = Random(at).randbytes(size // 2).hex()
        try:
            written += store.append("talk", [block(text), block(f"{at} more")])
        except TimelineError as error:
            return written, error
    raise AssertionError("the disk never filled")


def check_refused(
    store: Store, written: list[Entry], error: TimelineError, code: str = "store_full"
) -> None:
    """Nothing half-written, and everything before it can be read."""
    assert error.code == code
    assert list(store.entries("talk")) == written
    assert verify(store, "talk") == []
    assert store.head("talk").count == len(written)
    assert [one.count for one in store.names()] == [len(written)]


@pytest.mark.parametrize("size", [10, 3000, 60_000])
def test_on_a_full_disk_an_append_is_refused_whole_and_later_goes_on(disk: Path, size: int) -> None:
    path = disk / "timeline.sqlite"
    with open_store(path) as store:
        written, error = fill(store, size)
        check_refused(store, written, error)
        # Asked again it is no different.
        with pytest.raises(TimelineError) as raised:
            store.append("talk", [block("x" * size * 2), block("x" * 50_000)])
        check_refused(store, written, raised.value)
        (disk / "filler").unlink()
        written += store.append("talk", [block("more")], expected=len(written))
        assert list(store.entries("talk")) == written
    with open_store(path) as store:
        assert list(store.entries("talk")) == written
        assert verify(store, "talk") == []


def test_producers_on_a_full_disk_are_each_told_the_truth(disk: Path) -> None:
    told: list[list[Entry]] = [[] for _ in range(6)]
    codes: list[str] = []

    def produce(producer: int) -> None:
        error: TimelineError | None = None
        while error is None:
            try:
                told[producer] += store.append("talk", [block(f"{producer} {'x' * 1500}")])
            except TimelineError as refused:
                error = refused
        codes.append(error.code)

    with open_store(disk / "timeline.sqlite") as store:
        threads = [threading.Thread(target=produce, args=(at,)) for at in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert codes == ["store_full"] * 6
        found = list(store.entries("talk"))
        assert sorted(chain.from_iterable(told), key=lambda entry: entry.seq) == found
        assert verify(store, "talk") == []


def test_a_store_is_opened_on_a_full_disk_or_says_why_not(disk: Path) -> None:
    with open_store(disk / "timeline.sqlite") as store:
        written = store.append("talk", [block("a"), block("b")])
    left = os.statvfs(disk)
    (disk / "more").write_bytes(b"x" * left.f_bavail * left.f_frsize)
    for path in (disk / "timeline.sqlite", disk / "another.sqlite"):
        with pytest.raises(TimelineError) as raised:
            open_store(path)
        assert raised.value.code == "store_full"
    (disk / "more").unlink()
    with open_store(disk / "timeline.sqlite") as store:
        assert list(store.entries("talk")) == written
    with open_store(disk / "another.sqlite") as store:
        store.append("talk", [block("a")], expected=0)


def test_a_limit_on_file_sizes_refuses_an_append_whole(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(tmp_path / "timeline.sqlite") as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        try:
            written, error = fill(store, 2000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        # SQLite does not tell why it could not write.
        check_refused(store, written, error, "store_unavailable")
        store.append("talk", [block("more")], expected=len(written))
        assert verify(store, "talk") == []


LONG = "long " * 100_000


@tool
def long_tool() -> str:
    """Say much."""
    return LONG


def test_an_output_that_cannot_be_kept_stays_whole(disk: Path) -> None:
    keep = Artifacts(disk / "artifacts")
    small = keep("a.txt", b"small")
    outcome = run_one(
        [long_tool], call("long_tool"), keep=keep, turn=Turn("t"), limits=RunLimits(output=100)
    )
    assert outcome.output == LONG
    assert [notice.code for notice in outcome.notices] == ["not_kept"]
    assert keep.read(small.digest) == b"small"
    assert not list((disk / "artifacts").glob(".new-*"))
    (disk / "filler").unlink()
    assert keep.read(keep("b.txt", b"x" * 300_000).digest) == b"x" * 300_000


def test_what_cannot_be_kept_is_still_on_the_timeline(disk: Path, tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        # The blocks have room, and the artifacts have none.
        session.artifacts.folder = disk / "artifacts"
        blocks = session.play([long_tool], call("long_tool"), limits=RunLimits(output=100))
        session.recorder.attach("turn_1", "b.txt", b"b" * 500_000)
        blocks = session.blocks()
        assert not any(map(artifact_of, blocks))
        assert any("not_kept" in (block.text or "") for block in blocks)
        assert any((block.text or "").startswith("long long") for block in blocks)
        attached = [block for block in blocks if block.type == "user.attachment"]
        assert (attached[1].text or "").startswith("bbb")
        assert session.timeline.verify() == []


def test_a_result_without_room_is_written_once_there_is_some(disk: Path) -> None:
    with a_session(disk) as session:
        one = call("long_tool")
        session.recorder.started("turn_1", one)
        outcome = run_one([long_tool], one)
        before = session.timeline.head()
        with pytest.raises(TimelineError) as raised:
            session.recorder.ended("turn_1", one, outcome)
        assert raised.value.code == "store_full"
        assert session.timeline.head() == before
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        session.recorder.ended("turn_1", one, outcome)
        results = [block for block in session.blocks() if block.type == "react.tool.result"]
        assert any((block.text or "").startswith("long long") for block in results)
        assert [block.meta["role"] for block in results] == ["digest", "content"]
        assert session.timeline.verify() == []


@pytest.fixture
def full_server() -> Iterator[tuple[str, Path]]:
    """An empty store on a server whose disk for tables is small."""
    folder = Path(tempfile.mkdtemp(prefix="pg-small-"))
    folder.chmod(0o755)
    with connect(server_address()) as connection:
        owner = _owner(connection.execute("show data_directory").fetchone())
        with small_disk(folder, f"size=4m,uid={owner}"):
            place = folder / "tables"
            place.mkdir(mode=0o700)
            os.chown(place, owner, -1)
            connection.execute(f"create tablespace small location '{place}'".encode())
            try:
                with fresh_database() as address:
                    yield f"{address}%20-cdefault_tablespace%3Dsmall", folder
            finally:
                connection.execute("drop tablespace small")
    folder.rmdir()


def _owner(row: tuple[str, ...] | None) -> int:
    assert row is not None
    return Path(row[0]).stat().st_uid


def test_on_a_server_with_a_full_disk_an_append_is_refused_whole_and_later_goes_on(
    full_server: tuple[str, Path],
) -> None:
    address, disk = full_server
    with open_store(address) as store:
        written, error = fill(store, 40_000)
        check_refused(store, written, error)
        assert "make room" in error.message
        with open_store(address) as other:
            check_refused(other, written, error)
        (disk / "filler").unlink()
        written += store.append("talk", [block("more")], expected=len(written))
        assert list(store.entries("talk")) == written
        assert verify(store, "talk") == []


def test_a_server_on_a_full_disk_is_not_in_good_health(disk: Path) -> None:
    now = 0.0
    with some_host(disk, Replies()) as host:

        async def states() -> list[str]:
            nonlocal now
            check = HealthCheck(host, lambda: now, patience=60.0)
            found = [await check.state()]
            full, now = disk / "full", 2.0
            with full.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"x" * 4096):
                    pass
            found.append(await check.state())
            full.unlink()
            # A state counts for a second.
            found.append(await check.state())
            now = 4.0
            found.append(await check.state())
            check.close()
            return found

        assert asyncio.run(states()) == ["ok", "disk_full", "disk_full", "ok"]


def test_a_check_of_health_that_hangs_is_a_store_that_does_not_answer(disk: Path) -> None:
    now, go_on = 0.0, threading.Event()
    with some_host(disk, Replies()) as host:

        async def states() -> list[str]:
            nonlocal now
            check = HealthCheck(host, lambda: now, patience=0.01)
            found = [await check.state()]
            now = 2.0
            with patch.object(host.store, "head", lambda name: go_on.wait(120)):
                found.append(await check.state())
                now = 13.0
                found.append(await check.state())
                go_on.set()
            hung = HealthCheck(host, lambda: now, stuck=0.0)
            go_on.clear()
            with patch.object(host.store, "head", lambda name: go_on.wait(120)):
                found.append(await hung.state())
                go_on.set()
            check.close()
            hung.close()
            return found

        # A busy disk is not told at once: the state of a moment ago is.
        expected = ["ok", "ok", "store_unavailable", "store_unavailable"]
        assert asyncio.run(states()) == expected

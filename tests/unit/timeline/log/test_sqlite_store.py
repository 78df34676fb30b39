from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callblocks.core.blocks import Entry
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.sqlite_store import SqliteStore
from callblocks.timeline.log.transfer import verify
from support.stores import block


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "timeline.sqlite"


def refused(use: Callable[[], object]) -> TimelineError:
    with pytest.raises(TimelineError) as caught:
        use()
    return caught.value


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_only_the_owner_may_read_the_files(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("talk", [block()])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys([path.name, f"{path.name}-wal", f"{path.name}-shm"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_commit_goes_to_the_disk(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("talk", [block()])
        writer = store._writer
        assert writer is not None
        assert writer.execute("pragma synchronous").fetchone() == (2,)
        assert writer.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_store_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    SqliteStore(path).close()
    change(path, "pragma user_version = 7", "pragma journal_mode = delete")
    before = path.read_bytes()
    error = refused(lambda: open_store(path))
    assert error.code == "newer_schema"
    assert error.details["version"] == 7
    assert "use a newer callblocks" in error.message
    assert path.read_bytes() == before


@pytest.mark.parametrize("mark", ["create table theirs (a)", "pragma user_version = 1"])
def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, mark: str) -> None:
    path.parent.mkdir()
    change(path, mark)
    before = path.read_bytes()
    error = refused(lambda: open_store(path))
    assert error.code == "store_damaged"
    assert "another program" in error.message
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("no database, but long enough to be looked at " * 100)
    error = refused(lambda: open_store(path))
    assert error.code == "store_damaged"
    assert str(path) in error.message


def test_a_place_where_no_file_can_be_is_unavailable(path: Path) -> None:
    path.parent.write_text("a file in the way")
    assert refused(lambda: open_store(path)).code == "store_unavailable"
    assert refused(lambda: open_store(path.parent.parent)).code == "store_unavailable"


def test_what_may_only_be_read_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(path) as store:
        written = store.append("talk", [block()])

    def open_(file: Path, flags: int, mode: int = 0) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, flags, mode)

    real = os.open
    monkeypatch.setattr(os, "open", open_)
    with SqliteStore(path) as store:
        assert list(store.entries("talk")) == written


def test_a_writer_that_another_keeps_waiting_gives_up(path: Path) -> None:
    with SqliteStore(path, patience=0.05) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        error = refused(lambda: store.append("talk", [block()]))
        assert error.code == "store_busy"
        assert list(store.entries("talk")) == []
        other.execute("rollback")
        other.close()
        assert len(store.append("talk", [block()])) == 1


def test_where_no_room_is_left_nothing_is_written(path: Path) -> None:
    with SqliteStore(path) as store:
        first = store.append("talk", [block("a")])
        writer = store._writer
        assert writer is not None
        (pages,) = writer.execute("pragma page_count").fetchone()
        writer.execute(f"pragma max_page_count = {pages + 3}")
        error = refused(lambda: store.append("talk", [block("b"), block("x" * 50_000)]))
        assert error.code == "store_full"
        assert list(store.entries("talk")) == first
        assert verify(store, "talk") == []
        # The limit was the connection's; there is room again.
        store.append("talk", [block("c")], expected=1)


@pytest.fixture
def torn(path: Path) -> Path:
    """A file of 200 blocks, of which a page in the middle is overwritten."""
    with SqliteStore(path) as store:
        store.append("talk", [block("x" * 700) for _ in range(200)])
        store.append("other", [block("well")])
    connection = sqlite3.connect(path)
    query = "select pageno from dbstat where name = 'blocks' and pagetype = 'leaf' order by path"
    try:
        pages = [number for (number,) in connection.execute(query)]
    except sqlite3.OperationalError:
        # Without that table: blocks fill the file from front to end.
        pages = list(range(10, 40))
    connection.close()
    with path.open("r+b") as file:
        file.seek((pages[len(pages) // 2] - 1) * 4096)
        file.write(b"\xa5" * 4096)
    return path


def test_of_a_torn_file_all_that_can_be_read_is_given_and_then_the_error(torn: Path) -> None:
    found: list[Entry] = []
    with SqliteStore(torn) as store:
        reading = store.entries("talk")
        found += [next(reading) for _ in range(200)]
        error = refused(lambda: next(reading))
        assert error.code == "store_damaged"
        assert [entry.seq for entry in found] == list(range(1, 201))
        lost = [entry.seq for entry in found if entry.block.type == "timeline.damaged"]
        assert lost == error.details["lost"]
        assert 0 < len(lost) < 20
        findings = verify(store, "talk")
        assert [(one.seq, one.code) for one in findings] == [(s, "store_damaged") for s in lost]
        assert [entry.block.text for entry in store.entries("other")] == ["well"]


def test_a_store_whose_table_is_gone_is_damaged(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("talk", [block()])
        change(path, "drop table timelines")
        assert refused(lambda: store.append("talk", [block()])).code == "store_damaged"
        assert refused(lambda: list(store.entries("talk"))).code == "store_damaged"
        assert refused(store.names).code == "store_damaged"


def test_a_number_that_is_already_taken_is_never_overwritten(path: Path) -> None:
    with SqliteStore(path) as store:
        written = store.append("talk", [block("a"), block("b")])
        change(path, f"update timelines set count = 1, hash = '{written[0].hash}'")
        assert refused(lambda: store.append("talk", [block("c")])).code == "store_damaged"
        assert list(store.entries("talk")) == written


def test_many_who_open_a_new_file_at_the_same_time_all_can(path: Path) -> None:
    def use(number: int) -> int:
        with SqliteStore(path) as store:
            return len(store.append("talk", [block(str(number))]))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(24))) == 24
    with SqliteStore(path) as store:
        assert store.head("talk").count == 24
        assert verify(store, "talk") == []


def test_a_follower_whose_loop_is_gone_is_forgotten(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("talk", [block("a")])
        loop = asyncio.new_event_loop()
        following = store.follow("talk")
        assert loop.run_until_complete(anext(following)).seq == 1
        loop.close()
        assert len(store._followers) == 1
        store.append("talk", [block("b")])
        assert len(store._followers) == 0


def loosened(path: Path, table: str, change_to: str) -> None:
    """Do to a table what a turned bit does: have it hold values of other types."""
    change(
        path,
        f"create table loose as select * from {table}",
        f"drop table {table}",
        f"alter table loose rename to {table}",
        f"update {table} set {change_to}",
    )


@pytest.mark.parametrize("value", ["body = null", "body = 7", "body = 'text'", "hash = x'00'"])
def test_a_block_of_another_type_cannot_be_read_and_the_others_can(path: Path, value: str) -> None:
    with SqliteStore(path) as store:
        written = store.append("talk", [block("a"), block("b"), block("c")])
    loosened(path, "blocks", f"{value} where seq = 2")
    with SqliteStore(path) as store:
        assert [row.body is None for row in store.rows("talk")] == [False, True, False]
        assert [(one.seq, one.code) for one in verify(store, "talk")] == [(2, "store_damaged")]
        reading = store.entries("talk")
        assert [next(reading) for _ in range(3)][::2] == written[::2]
        assert refused(lambda: next(reading)).code == "store_damaged"


@pytest.mark.parametrize("value", ["count = null", "count = -1", "count = 'x'", "hash = x'00'"])
def test_an_end_of_another_type_is_damage_and_the_blocks_can_be_read(
    path: Path, value: str
) -> None:
    with SqliteStore(path) as store:
        written = store.append("talk", [block("a")])
        store.append("other", [block("b")])
    loosened(path, "timelines", f"{value} where name = 'talk'")
    with SqliteStore(path) as store:
        assert list(store.entries("talk")) == written
        assert [one.code for one in verify(store, "talk")] == ["store_damaged"]
        assert refused(lambda: store.append("talk", [block("c")])).code == "store_damaged"
        assert [one.name for one in store.names()] == ["other", "talk"]
        store.append("other", [block("d")], expected=1)


def rewritten(path: Path, old: bytes, new: bytes, page: int | None = None) -> None:
    """Change bytes of the file, on one page or everywhere."""
    content = path.read_bytes()
    start, end = (0, len(content)) if page is None else ((page - 1) * 4096, page * 4096)
    assert old in content[start:end]
    path.write_bytes(content[:start] + content[start:end].replace(old, new) + content[end:])


def test_a_name_that_the_index_lost_is_damage_and_no_empty_timeline(path: Path) -> None:
    with SqliteStore(path) as store:
        store.append("talk", [block("a")])
        store.append("other", [block("b")])
    connection = sqlite3.connect(path)
    query = "select rootpage from sqlite_schema where name = 'sqlite_autoindex_timelines_1'"
    (page,) = connection.execute(query).fetchone()
    connection.close()
    rewritten(path, b"talk", b"tbll", page)
    with SqliteStore(path) as store:
        assert refused(lambda: list(store.entries("talk"))).code == "store_damaged"
        assert refused(lambda: store.append("talk", [block("c")])).code == "store_damaged"
        assert [one.code for one in verify(store, "talk")] == ["store_damaged"]
        assert [one.name for one in store.names()] == ["other", "talk"]
        assert len(list(store.entries("other"))) == 1
        assert list(store.entries("unknown")) == []


def test_text_that_is_none_is_damage(path: Path) -> None:
    with SqliteStore(path) as store:
        first, second = store.append("talk", [block("a"), block("b")])
    rewritten(path, first.hash.encode(), b"\xff" * 64)
    with SqliteStore(path) as store:
        reading = store.entries("talk")
        assert next(reading).block.type == "timeline.damaged"
        assert next(reading) == second
        assert refused(lambda: next(reading)).code == "store_damaged"
    rewritten(path, b"CREATE TABLE", b"\xffREATE TABLE")
    assert refused(lambda: open_store(path)).code == "store_damaged"


def test_a_reader_is_not_led_in_circles(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(path) as store:
        written = store.append("talk", [block("a"), block("b"), block("c")])
        rows = list(store.rows("talk"))
        monkeypatch.setattr(store, "_page", lambda name, after: [rows[1], rows[2], rows[0]])
        assert list(store.entries("talk")) == written


def test_a_count_beyond_all_room_is_not_counted_up_to(torn: Path) -> None:
    change(torn, f"update timelines set count = {1 << 39} where name = 'talk'")
    with SqliteStore(torn) as store:
        assert {one.code for one in verify(store, "talk")} == {"store_damaged", "chain_broken"}
        assert len([row for row in store.rows("talk") if row.body is not None]) > 180


ENDLESS = """
create view blocks as with recursive n (i) as (select 1 union all select i + 1 from n)
select (1 << 40) + i as place, 'h' as hash, x'7b7d' as body, 1 as timeline, i as seq from n
"""


@pytest.mark.parametrize(
    "statements",
    [
        ["alter table blocks rename to old", ENDLESS],
        ["drop table timelines"],
        ["alter table blocks add column more text"],
        ["drop table blocks", "create virtual table blocks using fts5 (place)"],
        ["create trigger more after insert on blocks begin delete from timelines; end"],
        ["alter table blocks rename to old", ENDLESS, "pragma user_version = 0"],
    ],
)
def test_a_file_whose_tables_are_not_ours_is_refused(path: Path, statements: list[str]) -> None:
    with SqliteStore(path) as store:
        store.append("talk", [block()])
    change(path, *statements)
    assert refused(lambda: open_store(path)).code == "store_damaged"


@pytest.mark.parametrize(
    ("was", "becomes"), [(0o666, 0o600), (0o644, 0o600), (0o660, 0o600), (0o640, 0o640)]
)
def test_a_file_that_is_open_to_everybody_becomes_the_owners(
    path: Path, was: int, becomes: int
) -> None:
    SqliteStore(path).close()
    path.chmod(was)
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == becomes


def test_many_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    for number in range(20):
        place, start = tmp_path / f"{number}.sqlite", threading.Barrier(4)

        def open_it(place: Path = place, start: threading.Barrier = start) -> None:
            start.wait()
            SqliteStore(place).close()

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(open_it) for _ in range(4)]:
                done.result()

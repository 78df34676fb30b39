from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.search import index as store
from callblocks.toolkits.search.index import PLACE, use_store
from support.roots import code_of, snapshot
from support.search_files import Finding


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as root:
        yield root


def count(store: sqlite3.Connection) -> int:
    return store.execute("select count(*) from files").fetchone()[0]


def add(store: sqlite3.Connection) -> None:
    store.execute("insert into folders values ('a', 1)")


def folders(store: sqlite3.Connection) -> list[tuple[str, int]]:
    return store.execute("select path, mtime from folders").fetchall()


def test_the_index_is_a_file_of_the_owner_alone(root: Root, tmp_path: Path) -> None:
    use_store(root, add)
    assert use_store(root, folders) == [("a", 1)]
    place = tmp_path / PLACE
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_damaged_index_is_made_anew(root: Root, tmp_path: Path, damage: bytes) -> None:
    use_store(root, add)
    (tmp_path / PLACE).write_bytes(damage)
    assert use_store(root, folders) == []


def test_damage_in_the_middle_is_found_when_it_is_met(root: Root, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("harbour " * 5_000)
    find = Finding(root)
    assert find.paths("harbour") == ["a.md"]
    place = tmp_path / PLACE
    content = bytearray(place.read_bytes())
    content[8_192:] = b"\xa5" * (len(content) - 8_192)
    place.write_bytes(content)
    assert find.paths("harbour") == ["a.md"]


def test_a_database_of_others_is_replaced_and_its_orders_are_not_followed(
    root: Root, tmp_path: Path
) -> None:
    use_store(root, add)
    with closing(sqlite3.connect(tmp_path / PLACE)) as other:
        other.execute("create trigger t after insert on files begin delete from folders; end")
        other.commit()
    assert use_store(root, folders) == []
    with closing(sqlite3.connect(tmp_path / PLACE)) as other:
        assert not other.execute("select 1 from sqlite_master where type = 'trigger'").fetchall()


def test_an_index_of_another_version_is_made_anew(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_store(root, add)
    monkeypatch.setattr(store, "_VERSION", store._VERSION + 1)
    store._own_tables.cache_clear()
    try:
        assert use_store(root, folders) == []
    finally:
        store._own_tables.cache_clear()


@pytest.mark.parametrize("name", ["office", "office/.index", PLACE])
def test_links_are_never_followed_to_an_index(root: Root, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.md").write_text("harbour")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "x"
    if name == PLACE:
        target.write_bytes(b"mine")
    else:
        target.mkdir()
    link = tmp_path / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    before = snapshot(tmp_path)
    assert Finding(root).paths("harbour") == ["a.md"]
    assert snapshot(tmp_path) == before


def test_where_nothing_can_be_written_the_index_is_held_in_memory(
    root: Root, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("harbour")
    (tmp_path / "office").write_text("a file where a folder should be")
    assert Finding(root).paths("harbour") == ["a.md"]


def test_an_index_that_others_hold_too_long_is_busy(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("harbour")
    find = Finding(root)
    assert find.paths("harbour") == ["a.md"]
    (tmp_path / "b.md").write_text("harbour")
    monkeypatch.setattr(store, "_WAIT", 0.01)
    with closing(sqlite3.connect(tmp_path / PLACE, isolation_level=None)) as other:
        other.execute("begin immediate")
        # What is there is found; what is new waits.
        assert find.paths("harbour") == ["a.md"]
        assert find.notices == ["index_behind"]
        with pytest.raises(ToolError) as raised:
            find("file_ingest", path="b.md")
        assert code_of(raised) == "busy"
    assert sorted(find.paths("harbour")) == ["a.md", "b.md"]


def test_many_writers_at_once_lose_nothing(root: Root, tmp_path: Path) -> None:
    for number in range(24):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}" / "a.txt").write_text(f"word{number} harbour")
    faults: list[BaseException] = []

    def ingest(start: int) -> None:
        try:
            for number in range(start, 24, 4):
                Finding(root)("file_ingest", path=f"f{number}")
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=ingest, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert use_store(root, count) == 24
    assert len(Finding(root).paths("harbour", limit=100)) == 24

"""The database of the drive: damaged, held by others, and used by several at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Page
from callblocks.toolkits.office.local import database
from callblocks.toolkits.office.local.drive.drive import LocalDrive

WORKER = """
import sys
from pathlib import Path
from callblocks.toolkits.office.local.drive.drive import LocalDrive

drive = LocalDrive(Path(sys.argv[1]))
for number in range(12):
    name = {"name": f"{number}.txt", "mimeType": "text/plain"}
    made = drive.create(name, sys.argv[2].encode())
    if number % 3 == 0:
        drive.delete(made["id"])
    if number % 3 == 1:
        drive.update(made["id"], {"trashed": True}, None)
    drive.edit(sys.argv[3], lambda old: old + sys.argv[2].encode())
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    return tmp_path / "office"


@pytest.fixture
def drive(office: Path) -> LocalDrive:
    return LocalDrive(office)


def make(drive: LocalDrive, name: str) -> str:
    return drive.create({"name": name, "mimeType": "text/plain"}, b"x")["id"]


def every(drive: LocalDrive, query: str = "") -> Page:
    return drive.files(query=query, order="name", limit=100, page="")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as base:
        base.execute("create table other (x)")


def linked(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to(path.with_name("real"))


def torn(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


DAMAGES = {
    "garbage": lambda path: path.write_bytes(b"not a database" * 100),
    "torn": torn,
    "foreign": foreign,
    "link": linked,
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_put_aside_and_begun_anew(
    drive: LocalDrive, office: Path, damage: str
) -> None:
    make(drive, "a.txt")
    DAMAGES[damage](office / "drive.sqlite")
    page = every(LocalDrive(office))
    assert [one["name"] for one in page.items] == ["a.txt"]
    assert len(page.faults) == 1
    assert "drive.sqlite was damaged" in page.faults[0]
    assert len(list(office.glob("drive.sqlite.damaged-*"))) == 1
    again = every(LocalDrive(office))
    assert again.faults == ()
    assert again.items == page.items


def test_those_who_find_the_damage_at_once_begin_one_new_database(
    drive: LocalDrive, office: Path
) -> None:
    make(drive, "a.txt")
    torn(office / "drive.sqlite")
    together = Barrier(6)

    def look(_: int) -> str:
        own = LocalDrive(office)
        together.wait()
        return every(own).items[0]["id"]

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(look, range(6)))
    assert len(found) == 1
    assert len(list(office.glob("drive.sqlite.damaged-*"))) == 1


def test_an_empty_database_is_none(drive: LocalDrive, office: Path) -> None:
    make(drive, "a.txt")
    (office / "drive.sqlite").write_bytes(b"")
    assert every(LocalDrive(office)).faults == ()


def test_a_lost_database_loses_only_ids(drive: LocalDrive, office: Path) -> None:
    before = make(drive, "a.txt")
    (office / "drive.sqlite").unlink()
    after = every(drive).items[0]
    assert after["name"] == "a.txt"
    assert after["id"] != before


def test_a_damaged_index_of_texts_is_made_anew(drive: LocalDrive, office: Path) -> None:
    make(drive, "a.txt")
    assert len(every(drive, "fullText contains 'x'").items) == 1
    (office / ".index/drive-texts.sqlite").write_bytes(b"garbage" * 1000)
    assert len(every(LocalDrive(office), "fullText contains 'x'").items) == 1


def test_a_database_that_another_holds_is_busy(
    drive: LocalDrive, office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_WAIT", 0.01)
    made = make(drive, "a.txt")
    with closing(sqlite3.connect(office / "drive.sqlite", isolation_level=None)) as base:
        base.execute("begin immediate")
        with pytest.raises(ToolError) as error:
            make(drive, "b.txt")
        assert error.value.code == "busy"
        assert drive.file(made)["name"] == "a.txt"
    assert [one["name"] for one in every(drive).items] == ["a.txt"]


def test_two_processes_lose_nothing(drive: LocalDrive, office: Path) -> None:
    shared = drive.create({"name": "shared", "mimeType": "text/plain"}, b"")["id"]
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(office), letter, shared])
        for letter in "ab"
    ]
    assert [one.wait(120) for one in running] == [0, 0]
    files = every(drive).items
    assert len(files) == 1 + 2 * 8
    assert len({one["id"] for one in files}) == len(files)
    trashed = [one for one in files if one["trashed"]]
    assert len(trashed) == 2 * 4
    assert sorted(drive.content(shared, "")[0].decode()) == ["a"] * 12 + ["b"] * 12
    assert every(drive).faults == ()


def test_many_threads_share_a_drive(drive: LocalDrive) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda number: make(drive, f"{number % 3}"), range(16)))
    assert {one["id"] for one in every(drive).items} == set(made)


def test_a_file_whose_row_was_not_written_is_found(drive: LocalDrive, office: Path) -> None:
    """As after a death between the file and the database."""
    make(drive, "a.txt")
    with closing(sqlite3.connect(office / "drive.sqlite")) as base, base:
        base.execute("delete from files")
    assert [one["name"] for one in every(LocalDrive(office)).items] == ["a.txt"]


def test_a_change_that_finds_damage_elsewhere_is_tried_once(
    drive: LocalDrive, office: Path
) -> None:
    made = make(drive, "a.txt")
    tried: list[bytes] = []

    def edit(old: bytes) -> bytes:
        tried.append(old)
        raise ToolError("workspace_damaged", "the file a.txt is damaged")

    with pytest.raises(ToolError, match="is damaged"):
        drive.edit(made, edit)
    assert tried == [b"x"]
    assert list(office.glob("*.damaged-*")) == []

"""What lies beside an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from callblocks.guard.files.replace_file import foreign_journal


def test_nothing_beside_a_file_is_right(tmp_path: Path) -> None:
    assert foreign_journal(tmp_path / "a.sqlite") == ""


def test_a_journal_of_the_file_itself_is_right(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    base.execute("create table t (x)")
    base.execute("begin immediate")
    base.execute("insert into t values (1)")
    assert (tmp_path / "a.sqlite-journal").exists()
    assert foreign_journal(tmp_path / "a.sqlite") == ""
    base.close()


def test_the_journal_of_a_change_to_two_files_is_foreign(tmp_path: Path) -> None:
    magic = bytes.fromhex("d9d505f920a163d7")
    (tmp_path / "a.sqlite-journal").write_bytes(b"x" * 600 + magic)
    assert "a.sqlite-journal beside it names another file" in foreign_journal(tmp_path / "a.sqlite")


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_links_and_pipes_are_foreign(tmp_path: Path, ending: str) -> None:
    place = tmp_path / f"a.sqlite{ending}"
    place.symlink_to(tmp_path / "elsewhere")
    assert foreign_journal(tmp_path / "a.sqlite")
    place.unlink()
    os.mkfifo(place)
    assert foreign_journal(tmp_path / "a.sqlite")

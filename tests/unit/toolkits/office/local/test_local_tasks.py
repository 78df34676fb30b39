"""Tasks of the local office: their file, what is wrong with it, and many writers."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.tasks import LocalTasks
from support.google.calling import Calling


@pytest.fixture
def office(local_office: Office) -> Office:
    return local_office


@pytest.fixture
def here(call: Calling) -> Calling:
    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "office" / "tasks.sqlite"


def _add(here: Calling, title: str, **more: str) -> str:
    return here("tasks_create", taskListId="@default", title=title, **more)["id"]


def _titles(here: Calling) -> list[str]:
    return [one["title"] for one in here("tasks_list")["items"]]


def test_reading_makes_no_file(here: Calling, file: Path) -> None:
    assert here("tasks_list") == {"items": []}
    assert here.failure("tasks_get", taskListId="@default", taskId="t") == "not_found"
    assert here.failure("tasks_list", taskListId="other") == "not_found"
    assert not file.parent.exists()


def test_the_file_is_readable_with_sqlite_and_by_its_owner_only(here: Calling, file: Path) -> None:
    _add(here, "x", due="2030-01-31")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("select title from lists").fetchall() == [("My Tasks",)]
        assert connection.execute("select title, due, status from tasks").fetchall() == [
            ("x", "2030-01-31", "needsAction")
        ]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_what_was_deleted_can_be_brought_back_by_hand(here: Calling, file: Path) -> None:
    parent = _add(here, "trip")
    _add(here, "pack", parent=parent)
    here("tasks_delete", taskListId="@default", taskId=parent)
    assert _titles(here) == []
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("update tasks set deleted = 0 where title = 'pack'")
        connection.commit()
    assert _titles(here) == ["pack"]


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_named_and_left_alone(here: Calling, file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    for name, more in [("tasks_list", {}), ("tasks_create", {"title": "x"})]:
        error = here.error(name, taskListId="@default", **more)
        assert error.code == "workspace_damaged"
        assert "tasks.sqlite" in error.message
    assert file.read_bytes() == content


def test_a_link_is_not_followed(here: Calling, file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    file.symlink_to(tmp_path / "elsewhere")
    assert here.failure("tasks_create", taskListId="@default", title="x") == "workspace_damaged"
    assert not (tmp_path / "elsewhere").exists()


def test_tasks_that_are_each_others_parent_do_no_harm(here: Calling, file: Path) -> None:
    one, other = _add(here, "one"), _add(here, "other")
    _add(here, "good")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("update tasks set parent = ? where id = ?", (one, other))
        connection.execute("update tasks set parent = ? where id = ?", (other, one))
        connection.commit()
    assert _titles(here) == ["good"]
    here("tasks_delete", taskListId="@default", taskId=one)


_ADDING = """
import sys
from pathlib import Path
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.tasks import LocalTasks
tasks = LocalTasks(Path(sys.argv[1]))
for number in range(15):
    tasks.create("@default", {"title": f"{sys.argv[2]}{number}"}, parent="", previous="")
"""


def test_two_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    office = tmp_path / "office"
    writers = [
        subprocess.Popen([sys.executable, "-c", _ADDING, str(office), name], env=os.environ)
        for name in "xy"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    tasks = LocalTasks(office)
    found = tasks.tasks("@default", completed=True, due_min="", due_max="", limit=100, page="")
    titles = [one["title"] for one in found.items]
    assert sorted(titles) == sorted(f"{name}{number}" for name in "xy" for number in range(15))
    assert len({one["position"] for one in found.items}) == 30
    assert len(tasks.lists(limit=10, page="").items) == 1

"""Origins of a workspace: marks that last, and what counts as marked where they cannot be read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files import origins as origin_marks
from callblocks.guard.files.origins import Identity, Mark, Marks, MarksUnavailable
from callblocks.guard.files.real_path import FileLimits
from callblocks.guard.files.root import Root
from callblocks.tools.tool import Context, running_as

STATE = ".callblocks"


@pytest.fixture
def marks(tmp_path: Path) -> Iterator[Marks]:
    with closing(Marks(tmp_path)) as marks:
        yield marks


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with closing(Root(tmp_path)) as root:
        yield root


def _link_of_the_folder(workspace: Path) -> None:
    (workspace / "elsewhere").mkdir()
    (workspace / STATE).symlink_to("elsewhere")


def _link_of_the_file(workspace: Path) -> None:
    (workspace / STATE).mkdir()
    (workspace / STATE / "origins.sqlite").symlink_to(workspace / "elsewhere")


def _other_tables(workspace: Path) -> None:
    (workspace / STATE).mkdir()
    with closing(sqlite3.connect(workspace / STATE / "origins.sqlite")) as file:
        file.execute("create table origins (resource text)")


def _foreign_journal(workspace: Path) -> None:
    (workspace / STATE).mkdir()
    (workspace / STATE / "origins.sqlite").touch()
    (workspace / STATE / "origins.sqlite-journal").symlink_to(workspace / "elsewhere")


def _no_database(workspace: Path) -> None:
    (workspace / STATE).mkdir()
    (workspace / STATE / "origins.sqlite").write_bytes(b"no database" * 1000)


each_damage = pytest.mark.parametrize(
    "damage",
    [_link_of_the_folder, _link_of_the_file, _other_tables, _foreign_journal, _no_database],
)


@each_damage
def test_a_damaged_file_of_marks_takes_none(
    damage: Callable[[Path], None], tmp_path: Path, marks: Marks
) -> None:
    damage(tmp_path)
    with pytest.raises(MarksUnavailable, match=r"origins\.sqlite cannot be used"):
        marks.put(["file:a"], "a web page", contained=False)


@each_damage
def test_a_file_counts_as_marked_where_marks_cannot_be_read(
    damage: Callable[[Path], None], tmp_path: Path, root: Root
) -> None:
    damage(tmp_path)
    (tmp_path / "a.md").write_text("text")
    # A link to a folder that holds no file of marks is a workspace without marks.
    expected = damage is not _link_of_the_folder
    assert (root.origins.of_file("a.md") is not None) is expected
    with pytest.raises(ToolError, match="its origin could not be noted"):
        root.origins.put(["file:a.md"], ("a web page",))


def test_marks_of_a_workspace_without_any(marks: Marks) -> None:
    assert marks.find(["file:a"]) is None
    assert marks.find_below("file:") is None
    marks.clear(["file:a"])


def test_a_mark_is_found_by_name_and_by_the_start_of_it(marks: Marks) -> None:
    marks.put(["file:notes/a"], "a web page", contained=True)
    assert marks.find(["file:notes/a"]) == Mark("file:notes/a", contained=True)
    assert marks.find_below("file:notes/") == Mark("file:notes/a", contained=True)
    assert marks.find_below("file:note/") is None


def test_a_contained_reason_does_not_weaken_a_mark(marks: Marks) -> None:
    for contained in (True, False, True):
        marks.put(["file:a"], "why", contained=contained)
    assert marks.find(["file:a"]) == Mark("file:a", contained=False)


def test_a_file_of_marks_that_was_deleted_is_begun_anew(tmp_path: Path, marks: Marks) -> None:
    marks.put(["file:a"], "why", contained=False)
    (tmp_path / STATE / "origins.sqlite").unlink()
    assert marks.find(["file:a"]) is None
    marks.put(["file:b"], "why", contained=False)
    assert marks.find(["file:b"]) is not None


def test_a_change_that_fails_leaves_the_marks_as_they_were(marks: Marks) -> None:
    marks.put(["file:a"], "why", contained=False)
    too_large = Identity(1 << 80, 1, 1)
    with pytest.raises(OverflowError):
        marks.identify("file:a", too_large)
    marks.put(["file:b"], "why", contained=False)
    assert marks.find(["file:a"]) is not None


def test_a_moved_file_keeps_its_mark(tmp_path: Path, marks: Marks) -> None:
    (tmp_path / "a").write_text("text")
    file = Identity.of(os.stat(tmp_path / "a"))
    marks.put(["file:a"], "why", contained=False)
    marks.identify("file:a", file)
    marks.clear(["file:a"])
    assert marks.find(["file:a"]) is None
    assert marks.find(["file:b"], file) is not None
    marks.clear(["file:b"], file)
    assert marks.find(["file:b"], file) is None


def test_a_folder_with_a_link_to_a_file_of_others_is_of_others(tmp_path: Path, root: Root) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "a").write_text("text")
    (tmp_path / "notes").mkdir()
    assert root.origins.of_path("notes") is None
    (tmp_path / "notes" / "a").symlink_to("../downloads/a")
    assert root.origins.of_path("notes") == "file of others: downloads/a"


def test_a_link_that_leads_nowhere_is_of_others(tmp_path: Path, root: Root) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "b").symlink_to("../a")
    (tmp_path / "a").write_text("text")
    assert root.origins.of_path("notes") is None
    (tmp_path / "notes" / "c").symlink_to("/etc/hostname")
    assert root.origins.of_path("notes") == "file of others: notes/c"


def test_a_file_moved_into_a_folder_makes_it_of_others(tmp_path: Path, root: Root) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "a").write_text("text")
    (tmp_path / "notes" / "own").write_text("text")
    root.origins.put(["file:a"], ("a web page",))
    root.origins._identify("a")
    assert root.origins.of_path("notes") is None
    (tmp_path / "a").rename(tmp_path / "notes" / "b")
    assert root.origins.of_path("notes") == "text of others in notes/b"


def test_a_hard_link_to_a_file_of_others_is_of_others(tmp_path: Path, root: Root) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "a").write_text("text")
    (tmp_path / "own").write_text("text")
    os.link(tmp_path / "own", tmp_path / "own2")
    os.link(tmp_path / "downloads" / "a", tmp_path / "b")
    assert root.origins.of_file("own") is None
    assert root.origins.of_file("b") == "file of others: b"


def test_a_folder_too_large_to_look_through_is_of_others(tmp_path: Path) -> None:
    for name in ("notes", "downloads"):
        (tmp_path / name).mkdir()
        for number in range(9):
            (tmp_path / name / str(number)).write_text("text")
    os.link(tmp_path / "notes" / "1", tmp_path / "second name")
    with closing(Root(tmp_path, limits=FileLimits(scan=5))) as root:
        assert root.origins.of_path("notes") is not None
        assert root.origins.of_file("second name") is not None


def test_a_folder_that_vanishes_is_of_others(
    tmp_path: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()

    def gone(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("callblocks.guard.files.origins.Walk.below", gone)
    assert root.origins.of_path("notes") is not None


def test_a_call_that_reads_marked_rows_or_their_file_is_tainted(root: Root) -> None:
    root.origins.put(["task:1", "file:tasks.json"], ("a web page",))
    for read in (
        lambda: root.origins.saw("task:1", "task 1"),
        lambda: root.origins.saw_store("tasks.json"),
    ):
        context = Context()
        with running_as(context):
            read()
        assert len(context.taints) == 1


def test_two_programs_may_make_the_file_of_marks_at_once(
    tmp_path: Path, marks: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks.put(["file:a"], "why", contained=False)
    tables, empty = origin_marks._tables, [set[str]()]
    monkeypatch.setattr(
        origin_marks, "_tables", lambda store: empty.pop() if empty else tables(store)
    )
    with closing(Marks(tmp_path)) as other:
        assert other.find(["file:a"]) is not None

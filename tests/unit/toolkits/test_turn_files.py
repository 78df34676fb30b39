"""The files of turns in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.core.errors import CallerError, TimelineError, ToolError
from callblocks.core.paths import FilePath
from callblocks.toolkits import turn_files
from callblocks.toolkits.turn_files import FolderFiles
from support.roots import code_of, open_files

PLAN = FilePath("turn_1", "notes/plan.md")


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FolderFiles]:
    with FolderFiles(tmp_path / "turns") as files:
        yield files


def test_what_is_written_is_read_again(files: FolderFiles, tmp_path: Path) -> None:
    files.write(PLAN, b"first")
    files.write(PLAN, b"second")
    assert files.read(PLAN) == b"second"
    assert (tmp_path / "turns/turn_1/files/notes/plan.md").read_bytes() == b"second"


def test_attachments_lie_beside_the_files(files: FolderFiles, tmp_path: Path) -> None:
    files.write(FilePath("turn_1", "a.txt", "attachments"), b"given")
    assert (tmp_path / "turns/turn_1/attachments/a.txt").read_bytes() == b"given"
    assert files.read(FilePath("turn_1", "a.txt")) is None


def test_what_is_not_there_is_none(files: FolderFiles) -> None:
    files.write(PLAN, b"x")
    for name in ("none", "notes", "notes/plan.md/deeper"):
        assert files.read(FilePath("turn_1", name)) is None
    assert files.read(FilePath("turn_2", "notes/plan.md")) is None


def test_no_link_is_followed_not_even_one_that_stays_inside(
    files: FolderFiles, tmp_path: Path
) -> None:
    files.write(PLAN, b"secret")
    folder = tmp_path / "turns/turn_1/files"
    (folder / "file").symlink_to("notes/plan.md")
    (folder / "folder").symlink_to("notes")
    (folder / "out").symlink_to("/etc/hostname")
    for name in ("file", "folder/plan.md", "out"):
        assert files.read(FilePath("turn_1", name)) is None
        with pytest.raises(ToolError):
            files.write(FilePath("turn_1", name), b"new")
    assert files.read(PLAN) == b"secret"


def test_a_folder_of_a_turn_that_is_a_link_is_not_entered(
    files: FolderFiles, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere/files").mkdir(parents=True)
    (tmp_path / "turns/turn_1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolError):
        files.write(FilePath("turn_1", "a"), b"x")
    assert list((tmp_path / "elsewhere/files").iterdir()) == []


def test_a_pipe_is_no_file(files: FolderFiles, tmp_path: Path) -> None:
    files.write(PLAN, b"x")
    os.mkfifo(tmp_path / "turns/turn_1/files/pipe")
    assert files.read(FilePath("turn_1", "pipe")) is None
    with pytest.raises(ToolError) as raised:
        files.write(FilePath("turn_1", "pipe"), b"x")
    assert code_of(raised) == "wrong_file_type"


def test_what_steers_other_programs_is_written_for_the_person_only(files: FolderFiles) -> None:
    with pytest.raises(ToolError) as raised:
        files.write(FilePath("turn_1", ".git/hooks/pre-commit"), b"x")
    assert code_of(raised) == "protected_path"
    given = FilePath("turn_1", "AGENTS.md", "attachments")
    files.write(given, b"x")
    assert files.read(given) == b"x"


def test_a_name_that_is_swept_away_is_not_written(files: FolderFiles) -> None:
    for path in (
        FilePath("turn_1", ".callblocks-0123456789abcdef.tmp"),
        FilePath("turn_1", ".callblocks-0123456789abcdef.tmp", "attachments"),
    ):
        with pytest.raises(ToolError) as raised:
            files.write(path, b"report")
        assert code_of(raised) == "protected_path"


def test_what_is_too_large_is_neither_read_nor_written(
    files: FolderFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write(PLAN, b"12345")
    monkeypatch.setattr(turn_files, "MAX_FILE", 4)
    assert files.read(PLAN) is None
    with pytest.raises(ToolError) as raised:
        files.write(PLAN, b"12345")
    assert code_of(raised) == "file_too_large"
    files.write(PLAN, b"1234")
    assert files.read(PLAN) == b"1234"


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = open_files()
    with FolderFiles(tmp_path / "turns") as files:
        files.write(PLAN, b"x")
        files.read(PLAN)
        files.read(FilePath("turn_9", "none"))
    assert open_files() == before


def test_a_folder_that_cannot_be_made_or_read_is_a_fault_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(TimelineError, match="cannot be kept") as made:
        FolderFiles(tmp_path / "file" / "turns")
    files = FolderFiles(tmp_path / "turns")
    files.close()
    with pytest.raises(TimelineError, match="cannot be kept") as read:
        files.turns()
    assert made.value.code == read.value.code == "store_unavailable"


def test_a_machine_with_no_room_for_another_folder_is_a_fault_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        raise CallerError(f"no workspace at {folder}: Too many open files")

    monkeypatch.setattr(turn_files, "Root", full)
    with pytest.raises(TimelineError, match="Too many open files") as error:
        FolderFiles(tmp_path / "turns")
    assert error.value.code == "store_unavailable"

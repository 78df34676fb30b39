from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.guard.files import real_path as entries
from callblocks.guard.files.real_path import FolderEntry, Listing, Opener, Walk, open_by_steps
from support.roots import each_opener, open_files


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


def fill(root: Path) -> None:
    (root / "b/inner/deep").mkdir(parents=True)
    (root / "b/z").write_text("12345")
    (root / "b/inner/y").write_text("1")
    (root / "a").write_text("")
    (root / "c.sh").write_text("run")
    (root / "c.sh").chmod(0o700)
    os.symlink("b", root / "link")
    os.symlink("/etc", root / "out")
    os.mkfifo(root / "pipe")


def walked(folder: int, opener: Opener, depth: int | None, scan: int = 100) -> list[str]:
    walk = Walk(folder, opener, depth=depth, scan=scan)
    found = [entry.path for entry in walk.below(".")]
    assert walk.complete
    return found


@each_opener
def test_a_walk_gives_each_folder_before_what_is_in_it(
    tmp_path: Path, folder: int, opener: Opener
) -> None:
    fill(tmp_path)
    top = ["a", "b", "c.sh", "link", "out", "pipe"]
    assert walked(folder, opener, 1) == top
    one = ["a", "b", "b/inner", "b/z", "c.sh", "link", "out", "pipe"]
    assert walked(folder, opener, 2) == one
    everything = [
        *("a", "b", "b/inner", "b/inner/deep", "b/inner/y", "b/z"),
        *("c.sh", "link", "out", "pipe"),
    ]
    assert walked(folder, opener, 3) == everything
    assert walked(folder, opener, None) == everything


def test_each_entry_is_what_it_is(tmp_path: Path, folder: int) -> None:
    fill(tmp_path)
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(tmp_path / "socket"))
    walk = Walk(folder, open_by_steps, depth=2, scan=100)
    assert list(walk.below(".")) == [
        FolderEntry(path="a", kind="file", size=0, executable=False),
        FolderEntry(path="b", kind="folder"),
        FolderEntry(path="b/inner", kind="folder"),
        FolderEntry(path="b/z", kind="file", size=5),
        FolderEntry(path="c.sh", kind="file", size=3, executable=True),
        FolderEntry(path="link", kind="link"),
        FolderEntry(path="out", kind="link"),
        FolderEntry(path="pipe", kind="other"),
        FolderEntry(path="socket", kind="other"),
    ]


def test_entries_and_listings_do_not_change() -> None:
    entry = FolderEntry(path="b", kind="folder")
    assert (entry.size, entry.executable) == (0, False)
    for value, name in ((entry, "size"), (Listing((entry,), complete=True), "complete")):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)


def test_a_walk_may_start_further_down(tmp_path: Path, folder: int) -> None:
    fill(tmp_path)
    walk = Walk(folder, open_by_steps, depth=1, scan=100)
    assert [entry.path for entry in walk.below("b")] == ["b/inner", "b/z"]


def test_a_walk_needs_a_folder_to_start_from(tmp_path: Path, folder: int) -> None:
    fill(tmp_path)
    walk = Walk(folder, open_by_steps, depth=1, scan=100)
    for start, error in {"no": FileNotFoundError, "a": NotADirectoryError, "link": OSError}.items():
        with pytest.raises(error):
            list(walk.below(start))


@pytest.mark.parametrize(("scan", "complete"), [(3, True), (2, False)])
def test_a_folder_with_too_many_names_is_not_complete(
    tmp_path: Path, folder: int, scan: int, complete: bool
) -> None:
    for name in "abc":
        (tmp_path / name).write_text("")
    walk = Walk(folder, open_by_steps, depth=1, scan=scan)
    assert len(list(walk.below("."))) == scan
    assert walk.complete is complete


def test_a_folder_that_cannot_be_read_is_named_and_the_walk_not_complete(
    tmp_path: Path, folder: int
) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "z").write_text("")

    def refuse(folder: int, path: str, flags: int) -> int:
        if path == "shut":
            raise PermissionError
        return open_by_steps(folder, path, flags)

    walk = Walk(folder, refuse, depth=2, scan=100)
    assert [entry.path for entry in walk.below(".")] == ["shut", "z"]
    assert not walk.complete


@pytest.mark.parametrize("name", [b"\xff", b"a\nb", b"a\\b", b"~x", b"x\xe2\x80\xae"])
def test_names_that_are_no_paths_are_left_out(tmp_path: Path, folder: int, name: bytes) -> None:
    with open(os.fsencode(tmp_path) + b"/" + name, "w"):
        pass
    (tmp_path / "fine").write_text("")
    walk = Walk(folder, open_by_steps, depth=1, scan=100)
    assert [entry.path for entry in walk.below(".")] == ["fine"]
    assert not walk.complete


def test_files_still_being_written_are_not_there_yet(tmp_path: Path, folder: int) -> None:
    (tmp_path / ".callblocks-0123456789abcdef.tmp").write_text("half")
    assert walked(folder, open_by_steps, 1) == []


def test_what_is_deleted_during_the_walk_is_left_out(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").write_text("")
    (tmp_path / "here").write_text("")
    real = entries._status

    def status(entry: os.DirEntry[str]) -> os.stat_result | None:
        if entry.name == "gone":
            (tmp_path / "gone").unlink()
        return real(entry)

    monkeypatch.setattr(entries, "_status", status)
    assert walked(folder, open_by_steps, 1) == ["here"]


def test_a_walk_leaves_nothing_open(tmp_path: Path, folder: int) -> None:
    fill(tmp_path)
    before = open_files()
    walk = Walk(folder, open_by_steps, depth=None, scan=1)
    for _ in walk.below("."):
        assert open_files() == before


def test_folders_nested_deeper_than_a_path_can_say_are_left_out(
    tmp_path: Path, folder: int
) -> None:
    at = os.dup(folder)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    walk = Walk(folder, open_by_steps, depth=None, scan=10)
    assert len(list(walk.below("."))) == 4095 // 201
    assert not walk.complete

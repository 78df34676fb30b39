from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.guard.files import real_path as openat
from callblocks.guard.files.real_path import (
    FOLDER,
    STEP,
    Opener,
    best_opener,
    kernel_opener,
    open_by_steps,
    open_folder,
)
from callblocks.guard.files.replace_file import flush_folder
from support.roots import OPENERS, each_opener, open_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_text("inside")
    (root / "top").write_text("top")
    (tmp_path / "outside").write_text("outside")
    os.symlink("b", root / "a/link")
    os.symlink("b/file", root / "a/filelink")
    os.symlink("../outside", root / "out")
    os.symlink("..", root / "up")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def folder(tree: Path) -> Iterator[int]:
    opened = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


def outcome(opener: Opener, folder: int, path: str, flags: int) -> object:
    """The file that was opened, or the error."""
    try:
        opened = opener(folder, path, flags)
    except OSError as error:
        return error.errno
    try:
        assert not os.get_inheritable(opened)
        return os.fstat(opened).st_ino
    finally:
        os.close(opened)


PATHS = {
    ".": 0,
    "a": 0,
    "a/b": 0,
    "a/b/file": 0,
    "top": 0,
    "missing": errno.ENOENT,
    "a/missing/x": errno.ENOENT,
    "top/x": errno.ENOTDIR,
    "pipe/x": errno.ENOTDIR,
    "a/link": errno.ELOOP,
    "a/link/file": errno.ELOOP,
    "a/filelink": errno.ELOOP,
    "a/filelink/x": errno.ELOOP,
    "out": errno.ELOOP,
    "up/outside": errno.ELOOP,
    "up": errno.ELOOP,
}


@each_opener
@pytest.mark.parametrize(("path", "expected"), PATHS.items())
def test_a_path_without_links_is_opened_and_any_other_not(
    tree: Path, folder: int, opener: Opener, path: str, expected: int
) -> None:
    before = open_files()
    got = outcome(opener, folder, path, os.O_RDONLY)
    assert got == (expected or (tree / path).stat().st_ino)
    assert open_files() == before


@pytest.mark.parametrize("flags", [os.O_RDONLY, FOLDER, STEP, STEP | os.O_DIRECTORY])
@pytest.mark.parametrize("path", [path for path in PATHS if path != "pipe"])
def test_both_ways_give_the_same(folder: int, path: str, flags: int) -> None:
    kernel, steps = (outcome(opener, folder, path, flags) for opener in OPENERS.values())
    assert kernel == steps


@each_opener
def test_dots_that_leave_are_not_followed_by_the_kernel(folder: int, opener: Opener) -> None:
    if opener is not open_by_steps:
        assert outcome(opener, folder, "../outside", os.O_RDONLY) == errno.EXDEV
        assert outcome(opener, folder, "/etc/passwd", os.O_RDONLY) == errno.EXDEV


def test_a_step_never_opens_for_reading() -> None:
    assert STEP & os.O_PATH
    assert STEP & os.O_NOFOLLOW
    assert FOLDER == os.O_RDONLY | os.O_DIRECTORY


def test_the_best_opener_is_the_kernels_where_it_works() -> None:
    assert best_opener() is best_opener()
    assert best_opener() is not open_by_steps


def test_without_the_kernels_the_walk_is_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openat, "kernel_opener", lambda: None)
    best_opener.cache_clear()
    try:
        assert best_opener() is open_by_steps
    finally:
        best_opener.cache_clear()


def test_other_systems_have_no_kernel_opener(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert kernel_opener() is None


@pytest.mark.parametrize(
    ("machine", "known"), [("x86_64", True), ("aarch64", True), ("alpha", False)]
)
def test_only_machines_whose_number_is_known_are_asked(
    monkeypatch: pytest.MonkeyPatch, machine: str, known: bool
) -> None:
    real = os.uname()
    named = os.uname_result((*real[:4], machine))
    monkeypatch.setattr(os, "uname", lambda: named)
    assert (kernel_opener() is not None) is known


def test_a_kernel_that_refuses_the_call_has_no_opener(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: int, path: str, flags: int) -> int:
        raise OSError(errno.ENOSYS, "x")

    monkeypatch.setattr(openat, "_load_openat2", lambda: refuse)
    before = open_files()
    assert kernel_opener() is None
    assert open_files() == before


def test_a_signal_during_the_call_does_not_fail_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("")
    real = ctypes.CDLL(None, use_errno=True)
    calls: list[int] = []

    class Library:
        @staticmethod
        def syscall(*arguments: object) -> int:
            calls.append(1)
            if len(calls) == 1:
                ctypes.set_errno(errno.EINTR)
                return -1
            return real.syscall(*arguments)

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library)
    opener = openat._load_openat2()
    root = os.open(tmp_path, FOLDER)
    os.close(opener(root, "x", os.O_RDONLY))
    os.close(root)
    assert len(calls) == 2


def test_the_number_of_an_opened_file_may_be_nought(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        @staticmethod
        def syscall(*_: object) -> int:
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library)
    assert openat._load_openat2()(5, "x", os.O_RDONLY) == 0


@each_opener
def test_what_is_mounted_below_is_below(opener: Opener) -> None:
    top = os.open("/", FOLDER)
    try:
        assert (
            outcome(opener, top, "proc/version", os.O_RDONLY) == Path("/proc/version").stat().st_ino
        )
    finally:
        os.close(top)


@each_opener
def test_folders_are_made_where_asked(tree: Path, folder: int, opener: Opener) -> None:
    before = open_files()
    made = open_folder(folder, "a/new/deep", opener=opener, make=True)
    assert os.fstat(made).st_ino == (tree / "a/new/deep").stat().st_ino
    assert not os.get_inheritable(made)
    os.close(made)
    assert open_files() == before


@each_opener
def test_folders_are_not_made_unasked(tree: Path, folder: int, opener: Opener) -> None:
    with pytest.raises(FileNotFoundError):
        open_folder(folder, "a/new", opener=opener)
    assert not (tree / "a/new").exists()


@each_opener
@pytest.mark.parametrize("path", ["top/new", "up/new", "a/link/new", "out"])
def test_no_folder_is_made_behind_a_link_or_a_file(
    tree: Path, folder: int, opener: Opener, path: str
) -> None:
    before = open_files()
    with pytest.raises(OSError) as raised:  # noqa: PT011 the number is what counts
        open_folder(folder, path, opener=opener, make=True)
    assert raised.value.errno in (errno.ELOOP, errno.ENOTDIR)
    assert open_files() == before
    assert not list(tree.parent.rglob("new"))


@pytest.mark.parametrize("swap", ["link", "file"])
def test_making_folders_never_passes_what_was_put_in_between(
    tree: Path, folder: int, swap: str
) -> None:
    def late(folder: int, path: str, flags: int) -> int:
        if swap == "link":
            os.symlink("..", tree / "x")
        else:
            (tree / "x").write_text("")
        raise FileNotFoundError(errno.ENOENT, "x")

    before = open_files()
    with pytest.raises(NotADirectoryError):
        open_folder(folder, "x/new", opener=late, make=True)
    assert open_files() == before
    assert not (tree.parent / "new").exists()


def test_a_folder_that_another_call_made_meanwhile_is_used(
    tree: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.mkdir

    def twice(name: str, *, dir_fd: int) -> None:
        real(name, dir_fd=dir_fd)
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", twice)
    os.close(open_folder(folder, "new", opener=open_by_steps, make=True))
    assert (tree / "new").is_dir()


def test_a_folder_that_was_made_is_flushed(
    tree: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda opened: flushed.append(os.fstat(opened).st_ino))
    os.close(open_folder(folder, "a/x/y", opener=open_by_steps, make=True))
    assert flushed == [(tree / "a").stat().st_ino, (tree / "a/x").stat().st_ino]


def test_file_systems_that_cannot_flush_folders_are_let_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(number: int) -> None:
        raise OSError(number, "x")

    monkeypatch.setattr(os, "fsync", fail)
    flush_folder(errno.EINVAL)
    with pytest.raises(OSError, match="x"):
        flush_folder(errno.EIO)

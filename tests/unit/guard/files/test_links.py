from __future__ import annotations

import ctypes
import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.files import real_path as links
from callblocks.guard.files.real_path import MAX_LINKS, MAX_TURNS, Opener, open_by_steps, real_path
from support.roots import OPENERS, each_opener, open_files


def resolve(root: Path, path: str, opener: Opener, *, follow_last: bool = True) -> str | int:
    """The real path, or the number of the error."""
    before = open_files()
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return real_path(folder, path, opener, follow_last=follow_last)
    except OSError as error:
        return error.errno or 0
    finally:
        os.close(folder)
        assert open_files() == before


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_text("")
    for name, target in {
        "in": "a/b",
        "a/back": "../a/b/../b",
        "to_file": "a/b/file",
        "chain": "in",
        "here": ".",
        "slashes": "a//./b/",
        "top": "a/../",
        "dangling": "a/new",
        "dangling_deep": "no/new",
        "dangling_up": "no/../a",
        "file_dot": "a/b/file/.",
        "file_up": "a/b/file/../x",
        "out": "..",
        "out_and_back": "../root/a",
        "absolute": "/etc",
        "absolute_inside": str(root / "a"),
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
    }.items():
        os.symlink(target, root / name)
    return root


REAL = {
    ".": ".",
    "a": "a",
    "a/b/file": "a/b/file",
    "in": "a/b",
    "in/file": "a/b/file",
    "a/back/file": "a/b/file",
    "to_file": "a/b/file",
    "chain/file": "a/b/file",
    "here/here/a": "a",
    "here": ".",
    "slashes/file": "a/b/file",
    "top": ".",
    "top/a": "a",
    "new": "new",
    "no/such/path": "no/such/path",
    "in/new/x": "a/b/new/x",
    "dangling": "a/new",
    "dangling/x": "a/new/x",
    "dangling_deep/x": "no/new/x",
    "dangling_up": errno.ENOENT,
    "a/b/file/x": errno.ENOTDIR,
    "to_file/x": errno.ENOTDIR,
    "file_dot": errno.ENOTDIR,
    "file_up": errno.ENOTDIR,
    "out": errno.EXDEV,
    "out/root/a": errno.EXDEV,
    "out_and_back": errno.EXDEV,
    "absolute": errno.EXDEV,
    "absolute/passwd": errno.EXDEV,
    "absolute_inside/b": errno.EXDEV,
    "loop": errno.ELOOP,
    "ping/x": errno.ELOOP,
}


@each_opener
@pytest.mark.parametrize(("path", "real"), REAL.items())
def test_a_path_leads_where_its_links_lead_or_nowhere(
    tree: Path, opener: Opener, path: str, real: str | int
) -> None:
    assert resolve(tree, path, opener) == real


@each_opener
@pytest.mark.parametrize(
    ("path", "real"),
    {
        "in": "in",
        "out": "out",
        "loop": "loop",
        "a/back": "a/back",
        "here/in": "in",
        "chain/file": "a/b/file",
        "new": "new",
        "no/new": "no/new",
        "out/x": errno.EXDEV,
        ".": ".",
    }.items(),
)
def test_a_link_at_the_end_may_be_named_itself(
    tree: Path, opener: Opener, path: str, real: str | int
) -> None:
    assert resolve(tree, path, opener, follow_last=False) == real


def test_links_at_the_end_are_followed_unless_said_otherwise(tree: Path) -> None:
    folder = os.open(tree, os.O_RDONLY)
    try:
        assert real_path(folder, "in", open_by_steps) == "a/b"
    finally:
        os.close(folder)


def test_a_folder_that_may_not_be_searched_ends_the_path(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "x")

    monkeypatch.setattr(os, "readlink", refuse)
    assert resolve(tree, "a", open_by_steps) == errno.EACCES


@each_opener
@pytest.mark.parametrize(("links", "real"), [(MAX_LINKS, "end"), (MAX_LINKS + 1, errno.ELOOP)])
def test_as_many_links_are_followed_as_the_kernel_follows(
    tmp_path: Path, opener: Opener, links: int, real: str | int
) -> None:
    assert MAX_LINKS == 40
    os.symlink("end", tmp_path / "1")
    for at in range(2, links + 1):
        os.symlink(str(at - 1), tmp_path / str(at))
    (tmp_path / "end").write_text("")
    assert resolve(tmp_path, str(links), opener) == real
    assert (by_kernel(tmp_path, str(links)) is None) is (real == errno.ELOOP)


@each_opener
@pytest.mark.parametrize(("turns", "real"), [(MAX_TURNS, "a"), (MAX_TURNS + 1, errno.ELOOP)])
def test_a_path_may_turn_back_only_so_often(
    tmp_path: Path, opener: Opener, turns: int, real: str | int
) -> None:
    assert MAX_TURNS == 100
    (tmp_path / "a").mkdir()
    os.symlink("a/../" * turns + "a", tmp_path / "zigzag")
    assert resolve(tmp_path, "zigzag", opener) == real


def test_after_one_turn_a_path_may_go_down_as_far_as_it_likes(tmp_path: Path) -> None:
    deep = "/".join("b" * (MAX_TURNS + 5))
    (tmp_path / deep).mkdir(parents=True)
    (tmp_path / "a").mkdir()
    os.symlink("../" + deep, tmp_path / "a/over")
    assert resolve(tmp_path, "a/over", open_by_steps) == deep


def test_going_up_many_levels_at_once_is_one_turn(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("a" * 200)
    deep.mkdir(parents=True)
    os.symlink("../" * 199 + "b", deep / "up")
    calls: list[str] = []

    def count(folder: int, path: str, flags: int) -> int:
        calls.append(path)
        return open_by_steps(folder, path, flags)

    assert resolve(tmp_path, "/".join("a" * 200) + "/up", count) == "a/b"
    assert calls == ["a"]


def test_a_folder_that_vanishes_on_the_way_is_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    real = links._read_link

    def vanish(name: str, folder: int) -> str | None:
        target = real(name, folder)
        (tmp_path / "a").rmdir()
        return target

    monkeypatch.setattr(links, "_read_link", vanish)
    assert resolve(tmp_path, "a/b", open_by_steps) == "a/b"


def test_a_folder_swapped_for_a_link_on_the_way_is_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    real = links._read_link

    def swap(name: str, folder: int) -> str | None:
        target = real(name, folder)
        (tmp_path / "a").rmdir()
        os.symlink("/etc", tmp_path / "a")
        return target

    monkeypatch.setattr(links, "_read_link", swap)
    assert resolve(tmp_path, "a/passwd", open_by_steps) == errno.ENOTDIR


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def by_kernel(root: Path, path: str) -> int | None:
    """The file that the kernel itself finds below `root`, following links that stay there."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    how = _How(os.O_PATH, 0, 0x02 | 0x08)
    try:
        opened = ctypes.CDLL(None).syscall(437, folder, path.encode(), ctypes.byref(how), 24)
    finally:
        os.close(folder)
    if opened < 0:
        return None
    try:
        return os.fstat(opened).st_ino
    finally:
        os.close(opened)


names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
targets = st.tuples(
    st.sampled_from(["", "", "", "./", "/"]),
    st.lists(names | st.sampled_from(["..", "..", ".", ""]), min_size=1, max_size=5),
).map(lambda parts: (parts[0] + "/".join(parts[1])) or ".")
trees = st.lists(st.tuples(paths, st.sampled_from(["folder", "file"]) | targets), max_size=8)


def plant(root: Path, tree: list[tuple[str, str]]) -> None:
    """Make what can be made; what stands in the way of what is left out."""
    for path, what in tree:
        at = root / path
        if any(part.is_symlink() for part in (at, *at.parents)) or os.path.lexists(at):
            continue
        try:
            at.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            continue
        if what == "folder":
            at.mkdir()
        elif what == "file":
            at.write_text("")
        else:
            os.symlink(what, at)


@given(trees, paths)
def test_a_path_leads_where_the_kernel_finds_it(tree: list[tuple[str, str]], path: str) -> None:
    base = Path(tempfile.mkdtemp(prefix="callblocks-links-", dir="/dev/shm"))
    root = base / "root"
    root.mkdir()
    try:
        plant(root, tree)
        expected = by_kernel(root, path)
        for opener in OPENERS.values():
            real = resolve(root, path, opener)
            if expected is not None:
                assert isinstance(real, str)
                assert os.stat(root / real, follow_symlinks=False).st_ino == expected
                assert not any((root / real).samefile(p) for p in root.parents)
            elif isinstance(real, str):
                # Where a file would be made: nothing is there yet, and no link on the way.
                assert not os.path.lexists(root / real)
                assert os.path.realpath(root / real) == str(root / real)
    finally:
        shutil.rmtree(base)

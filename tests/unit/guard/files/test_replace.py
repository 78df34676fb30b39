from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.guard.files.replace_file import is_temporary, replace
from support.roots import open_files


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    before = open_files()
    opened = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)
    assert open_files() == before


def put(
    folder: int,
    name: str = "x",
    content: bytes = b"new",
    *,
    executable: bool = False,
    overwrite: bool = True,
) -> None:
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        old = None
    replace(folder, name, content, old=old, executable=executable, overwrite=overwrite)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_new_file_holds_the_content_and_nothing_is_left(tmp_path: Path, folder: int) -> None:
    put(folder, content=b"a" * 100_000)
    assert (tmp_path / "x").read_bytes() == b"a" * 100_000
    assert os.listdir(tmp_path) == ["x"]


def test_an_empty_file_can_be_written(tmp_path: Path, folder: int) -> None:
    put(folder, content=b"")
    assert (tmp_path / "x").read_bytes() == b""


def test_a_write_that_the_system_cuts_short_goes_on(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda opened, content: real(opened, content[:3]))
    put(folder, content=b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


@pytest.mark.parametrize(
    ("mask", "executable", "mode"),
    [(0o022, False, 0o644), (0o022, True, 0o755), (0o077, False, 0o600), (0, True, 0o777)],
)
def test_a_new_file_has_the_mode_that_the_person_asked_for(
    tmp_path: Path, folder: int, mask: int, executable: bool, mode: int
) -> None:
    os.umask(mask)
    put(folder, executable=executable)
    assert mode_of(tmp_path / "x") == mode


@pytest.mark.parametrize(
    ("old", "executable", "mode"),
    [
        (0o600, False, 0o600),
        (0o666, False, 0o666),
        (0o640, True, 0o750),
        (0o755, False, 0o755),
        (0o200, True, 0o200),
        (0o6755, False, 0o755),
        (0o1644, False, 0o644),
    ],
)
def test_a_file_keeps_its_mode_but_never_setuid(
    tmp_path: Path, folder: int, old: int, executable: bool, mode: int
) -> None:
    (tmp_path / "x").write_text("old")
    (tmp_path / "x").chmod(old)
    put(folder, executable=executable)
    assert (tmp_path / "x").read_text() == "new"
    assert mode_of(tmp_path / "x") == mode


def test_a_file_keeps_its_owner(tmp_path: Path, folder: int) -> None:
    (tmp_path / "x").write_text("old")
    os.chown(tmp_path / "x", 12345, 23456)
    put(folder)
    status = (tmp_path / "x").stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


@pytest.mark.parametrize(("old", "mode"), [(0o664, 0o644), (0o660, 0o600), (0o777, 0o777)])
def test_where_the_owner_cannot_be_kept_no_other_group_gains(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch, old: int, mode: int
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "x")

    monkeypatch.setattr(os, "fchown", refuse)
    (tmp_path / "x").write_text("old")
    (tmp_path / "x").chmod(old)
    put(folder)
    assert (tmp_path / "x").read_text() == "new"
    assert mode_of(tmp_path / "x") == mode


def test_another_link_to_the_file_keeps_what_it_had(tmp_path: Path, folder: int) -> None:
    (tmp_path / "x").write_text("old")
    os.link(tmp_path / "x", tmp_path / "other")
    put(folder)
    assert (tmp_path / "other").read_text() == "old"
    assert (tmp_path / "x").read_text() == "new"


def test_without_overwriting_a_name_that_is_taken_meanwhile_stays(
    tmp_path: Path, folder: int
) -> None:
    put(folder, overwrite=False)
    assert (tmp_path / "x").read_text() == "new"
    assert (tmp_path / "x").stat().st_nlink == 1
    with pytest.raises(FileExistsError):
        replace(folder, "x", b"later", old=None, executable=False, overwrite=False)
    assert (tmp_path / "x").read_text() == "new"
    assert os.listdir(tmp_path) == ["x"]


def test_content_is_flushed_then_named_then_the_folder_is_flushed(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    rename, fsync = os.rename, os.fsync

    def flush(opened: int) -> None:
        seen.append("folder" if stat.S_ISDIR(os.fstat(opened).st_mode) else "file")
        fsync(opened)

    def name(*arguments: object, **options: int) -> None:
        seen.append("name")
        rename(*arguments, **options)  # pyright: ignore[reportArgumentType] passed on as they are

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "rename", name)
    put(folder)
    assert seen == ["file", "name", "folder"]


@pytest.mark.parametrize("step", ["write", "fchmod", "fsync", "rename"])
@pytest.mark.parametrize("fault", [OSError(errno.EIO, "x"), KeyboardInterrupt()])
def test_whatever_step_fails_the_old_content_stays_and_nothing_else(
    tmp_path: Path,
    folder: int,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    fault: BaseException,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    (tmp_path / "x").write_text("old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(fault)):
        put(folder)
    assert (tmp_path / "x").read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


def test_the_first_fault_is_told_even_if_cleaning_up_fails_too(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    def stuck(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "stuck")

    monkeypatch.setattr(os, "write", full)
    monkeypatch.setattr(os, "unlink", stuck)
    with pytest.raises(OSError, match="full"):
        put(folder)


def test_a_temporary_file_is_known_by_its_whole_name() -> None:
    assert is_temporary(".callblocks-0123456789abcdef.tmp")
    for name in (
        ".callblocks-0123456789abcde.tmp",
        ".callblocks-0123456789abcdef.tmp.x",
        "x.callblocks-0123456789abcdef.tmp",
        ".callblocks-0123456789abcdeg.tmp",
        ".callblocks-0123456789abcdef-tmp",
    ):
        assert not is_temporary(name)


def leave(path: Path, number: int) -> Path:
    left = path / f".callblocks-{number:016x}.tmp"
    left.write_text("half")
    return left


def test_what_a_dead_process_left_is_removed(tmp_path: Path, folder: int) -> None:
    leave(tmp_path, 1)
    leave(tmp_path, 2)
    (tmp_path / ".callblocks-mine.tmp").write_text("")
    put(folder)
    assert sorted(os.listdir(tmp_path)) == [".callblocks-mine.tmp", "x"]


def test_what_another_process_still_writes_is_left_alone(tmp_path: Path, folder: int) -> None:
    left = leave(tmp_path, 1)
    with left.open("w") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        put(folder)
        assert left.exists()


def test_odd_things_with_the_name_of_a_temporary_file_do_no_harm(
    tmp_path: Path, folder: int
) -> None:
    outside = tmp_path / "kept"
    outside.write_text("kept")
    os.symlink("kept", tmp_path / f".callblocks-{1:016x}.tmp")
    os.mkfifo(tmp_path / f".callblocks-{2:016x}.tmp")
    (tmp_path / f".callblocks-{3:016x}.tmp").mkdir()
    put(folder)
    assert outside.read_text() == "kept"
    assert (tmp_path / "x").read_text() == "new"


def test_a_temporary_name_that_is_taken_is_not_used(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "kept"
    outside.write_text("kept")
    os.symlink("kept", tmp_path / f".callblocks-{1:016x}.tmp")
    tokens = iter([1, 1, 1, 1, 1, 1, 1, 2])
    asked: list[int] = []

    def token(size: int) -> str:
        asked.append(size)
        return f"{next(tokens):016x}"

    monkeypatch.setattr(secrets, "token_hex", token)
    put(folder)
    assert asked == [8] * 8
    assert outside.read_text() == "kept"
    assert (tmp_path / "x").read_text() == "new"


def test_after_eight_taken_names_it_gives_up(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.symlink("nowhere", tmp_path / f".callblocks-{1:016x}.tmp")
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"{1:016x}")
    with pytest.raises(FileExistsError, match="no name is free"):
        put(folder)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("how", ["locked", "swept"])
def test_a_temporary_file_swept_at_once_is_made_again(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Another process looks at the file after it was made and before it was locked."""
    real = fcntl.flock
    calls: list[int] = []

    def flock(opened: int, operation: int) -> None:
        assert operation == fcntl.LOCK_EX | fcntl.LOCK_NB
        calls.append(opened)
        if len(calls) == 1:
            [left] = [name for name in os.listdir(tmp_path) if is_temporary(name)]
            os.unlink(tmp_path / left)
            if how == "locked":
                raise BlockingIOError(errno.EWOULDBLOCK, "x")
        real(opened, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    put(folder)
    assert len(calls) == 2
    assert (tmp_path / "x").read_text() == "new"
    assert os.listdir(tmp_path) == ["x"]


def test_without_locks_files_are_written_and_nothing_is_swept(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "x")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    left = leave(tmp_path, 1)
    put(folder)
    assert (tmp_path / "x").read_text() == "new"
    assert left.exists()

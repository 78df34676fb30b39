from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import TimelineError
from callblocks.timeline.artifacts import artifacts
from callblocks.timeline.artifacts.artifacts import Artifacts, _file_name

HELLO = hashlib.sha256(b"hello").hexdigest()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def keep(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path / "artifacts")


def test_a_file_is_kept_under_its_digest(tmp_path: Path) -> None:
    keep = Artifacts(tmp_path / "new" / "artifacts")
    artifact = keep("turn_1/files/report.txt", b"hello")
    assert artifact.path == f"{HELLO[:2]}/{HELLO}/report.txt"
    assert (artifact.digest, artifact.size, artifact.mime) == (HELLO, 5, "text/plain")
    assert keep.read(artifact.digest) == b"hello"
    assert keep.check(artifact.digest) is None


@given(st.binary(), st.text(max_size=20))
def test_what_is_kept_is_read(content: bytes, name: str) -> None:
    with TemporaryDirectory() as folder:
        keep = Artifacts(folder)
        artifact = keep(name, content)
        assert keep.read(artifact.digest) == (Path(folder) / artifact.path).read_bytes() == content
        assert Artifacts(folder)(name, content) == artifact


def test_the_type_is_told_by_content_unless_the_caller_says_it(keep: Artifacts) -> None:
    assert keep("evil.png", b"<!doctype html>").mime == "text/html"
    assert keep("a.png", b"x", "image/x-own").mime == "image/x-own"
    assert keep("noending", b"\0\xff").mime == "application/octet-stream"


def test_the_same_content_is_kept_once_whatever_its_names(keep: Artifacts) -> None:
    first, again, other = keep("a.bin", b"x"), keep("a.bin", b"x"), keep("b.txt", b"x")
    assert again == first
    found = {(keep.folder / one.path).stat().st_ino for one in (first, again, other)}
    assert len(found) == 1
    assert files(keep.folder) == [first.path, other.path]


def test_many_threads_keep_the_same_and_other_things_at_once(keep: Artifacts) -> None:
    contents = [b"%d" % (number % 5) * 1000 for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda content: keep("a.txt", content), contents))
    assert [keep.read(artifact.digest) for artifact in kept] == contents
    assert files(keep.folder) == sorted({artifact.path for artifact in kept})


def test_where_there_are_no_links_a_second_name_is_a_second_file(
    keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    keep("a.bin", b"x")
    monkeypatch.setattr(os, "link", refuse)
    assert (keep.folder / keep("b.bin", b"x").path).read_bytes() == b"x"


def test_nobody_else_may_look_into_the_folders(keep: Artifacts) -> None:
    before = os.umask(0)
    try:
        artifact = keep("a.txt", b"hello")
    finally:
        os.umask(before)
    file = keep.folder / artifact.path
    for folder in (file.parent, file.parent.parent, keep.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("failing", ["write", "fsync", "rename"])
def test_a_full_disk_leaves_nothing_and_is_an_os_error(
    failing: str, keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left"):
        keep("a.txt", b"hello")
    assert files(keep.folder) == []
    assert keep.check(HELLO) == "artifact_missing"


def test_a_new_file_that_cannot_be_removed_hides_no_fault(
    keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full)
        patch.setattr(os, "unlink", full)
        with pytest.raises(OSError, match="No space left"):
            keep("a.txt", b"hello")
    assert len(files(keep.folder)) == 1
    assert keep.check(HELLO) == "artifact_missing"


def test_all_is_flushed_before_keeping_returns(
    keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda opened: flushed.append(kind_of(opened)))
    keep("a.txt", b"hello")
    assert flushed == ["file", "folder", "folder", "folder"]
    # It may have been written by a process that died before it flushed the folders.
    keep("a.txt", b"hello")
    assert flushed[4:] == ["folder", "folder", "folder"]


def kind_of(opened: int) -> str:
    return "folder" if stat.S_ISDIR(os.fstat(opened).st_mode) else "file"


def test_a_file_with_another_content_is_found_and_written_anew(keep: Artifacts) -> None:
    file = keep.folder / keep("a.txt", b"hello").path
    for wrong in (b"hullo", b"hell", b""):
        file.write_bytes(wrong)
        assert keep.check(HELLO) == "artifact_damaged"
        with pytest.raises(TimelineError, match="has another content"):
            keep.read(HELLO)
        keep("a.txt", b"hello")
        assert keep.read(HELLO) == file.read_bytes() == b"hello"


def test_one_right_file_of_several_is_enough(keep: Artifacts) -> None:
    keep("b.txt", b"hello")
    (keep.folder / HELLO[:2] / HELLO / "a.txt").write_bytes(b"wrong")
    assert keep.read(HELLO) == b"hello"
    keep("a.txt", b"hello")
    assert (keep.folder / HELLO[:2] / HELLO / "a.txt").read_bytes() == b"hello"


@pytest.mark.parametrize(
    "digest", ["", "../../etc/passwd", HELLO.upper(), HELLO[:-1], HELLO + "\n"]
)
def test_what_is_no_digest_is_not_looked_for(digest: str, keep: Artifacts) -> None:
    with pytest.raises(TimelineError, match="no SHA-256 digest") as raised:
        keep.read(digest)
    assert raised.value.code == "artifact_missing"


def test_what_was_never_kept_is_missing(keep: Artifacts) -> None:
    with pytest.raises(TimelineError, match="is not in") as raised:
        keep.read(HELLO)
    assert (raised.value.code, raised.value.details) == ("artifact_missing", {"digest": HELLO})
    assert not keep.folder.exists()


@pytest.mark.parametrize("at", ["a.txt", HELLO, HELLO[:2]])
def test_what_cannot_be_read_is_damaged(
    at: str, keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("a.txt", b"hello")
    real = os.open

    def broken(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == at:
            raise OSError(errno.EIO, "Input/output error")
        return real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", broken)
    with pytest.raises(TimelineError, match="Input/output error") as raised:
        keep.read(HELLO)
    assert raised.value.code == "artifact_damaged"


def link_to(target: Path, place: Path) -> None:
    place.symlink_to(target)


def pipe(_: Path, place: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize("put", [link_to, pipe], ids=["link", "pipe"])
def test_what_is_no_file_is_neither_read_nor_written_through(
    put: Callable[[Path, Path], None], keep: Artifacts, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"hello")
    file = keep.folder / keep("a.txt", b"hello").path
    file.unlink()
    put(outside, file)
    assert keep.check(HELLO) == "artifact_missing"
    keep("a.txt", b"hello")
    assert stat.S_ISREG(file.lstat().st_mode)
    assert outside.stat().st_nlink == 1
    assert keep.read(HELLO) == outside.read_bytes() == b"hello"


@pytest.mark.parametrize("level", [HELLO[:2], f"{HELLO[:2]}/{HELLO}"])
def test_a_folder_that_is_a_link_is_not_entered(
    level: str, keep: Artifacts, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    keep("a.txt", b"hello")
    (keep.folder / level).rename(outside)
    (keep.folder / level).symlink_to(outside)
    before = files(outside)
    assert keep.check(HELLO) == "artifact_missing"
    with pytest.raises(NotADirectoryError):
        keep("b.txt", b"hello")
    assert files(outside) == before


def test_a_folder_in_place_of_a_file_is_an_os_error(keep: Artifacts) -> None:
    (keep.folder / HELLO[:2] / HELLO / "a.txt").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        keep("a.txt", b"hello")
    assert keep.check(HELLO) == "artifact_missing"


def test_what_a_dead_process_left_is_swept_and_what_is_being_written_is_not(
    keep: Artifacts,
) -> None:
    keep.folder.mkdir()
    left, busy = keep.folder / ".new-left", keep.folder / ".new-busy"
    left.write_bytes(b"hal")
    with busy.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        artifact = keep("a.txt", b"hello")
        assert files(keep.folder) == sorted([".new-busy", artifact.path])


def test_a_half_file_of_another_name_is_no_content(keep: Artifacts) -> None:
    artifact = keep("a.txt", b"hello")
    (keep.folder / artifact.path).rename((keep.folder / artifact.path).with_name(".tmp-x"))
    assert keep.check(HELLO) == "artifact_missing"


@pytest.mark.parametrize("fault", [BlockingIOError(), OSError(errno.ENOLCK, "No locks")])
def test_a_new_file_that_another_process_takes_for_left_is_made_again(
    fault: OSError, keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    flock = fcntl.flock

    def once(opened: int, operation: int) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise fault
        flock(opened, operation)

    monkeypatch.setattr(fcntl, "flock", once)
    assert keep.read(keep("a.txt", b"hello").digest) == b"hello"
    assert len(tries) == (2 if isinstance(fault, BlockingIOError) else 1)


def test_keeping_gives_up_where_no_name_is_free(
    keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", busy)
    with pytest.raises(FileExistsError, match="no name is free"):
        keep("a.txt", b"hello")


def test_hosting_says_where_it_is_and_a_name_that_holds_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keep = Artifacts("my artifacts")
    artifact = keep("a.txt", b"hello")
    key = f"{HELLO[:2]}/{HELLO}/a.txt"
    assert keep.hosting(artifact) == {
        "hosted_uri": f"{tmp_path.as_uri()}/my%20artifacts/{key}",
        "rn": f"artifact:sha256:{HELLO}",
        "key": key,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("report.txt", "report.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a b.txt", "a_b.txt"),
        ("..", "file"),
        ("", "file"),
        ("a/", "file"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("$(reboot);`x`", "__reboot___x_"),
        ("a\n\x1b[2J.md", "a___2J.md"),
        ("x" * 300 + ".txt", "x" * 96 + ".txt"),
        ("a." + "y" * 50, "a." + "y" * 19),
        ("字" * 100, "字" * 33),
        ("half \ud800", "half__"),
    ],
)
def test_a_name_means_nothing_to_a_shell_or_a_path(given: str, expected: str) -> None:
    assert _file_name(given) == expected


@given(st.text(max_size=200) | st.text("字𝐀é.", max_size=200))
def test_whatever_the_name_it_is_one_safe_name(name: str) -> None:
    found = _file_name(name)
    assert re.fullmatch(r"[\w.+-]+", found)
    assert not found.startswith((".", "-"))
    assert len(found.encode()) <= 100


def test_a_huge_file_beside_an_artifact_is_not_read(keep: Artifacts) -> None:
    artifact = keep("x.txt", b"hello")
    place = (keep.folder / artifact.path).parent
    with (place / "big").open("wb") as huge:
        huge.truncate(1 << 40)
    assert keep("y.txt", b"hello").digest == artifact.digest
    assert keep.read(artifact.digest) == b"hello"
    for name in ("x.txt", "y.txt"):
        (place / name).unlink()
    assert keep.check(artifact.digest) == "artifact_damaged"
    (place / "big").rename(place / "x.txt")
    assert keep.read(keep("x.txt", b"hello").digest) == b"hello"
    empty = keep.folder / keep("x.txt", b"").path
    os.truncate(empty, 1 << 40)
    assert keep.read(keep("x.txt", b"").digest) == b""


def test_what_is_too_large_to_be_read_again_is_not_kept(
    keep: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "MAX_ARTIFACT", 4)
    keep("a", b"1234")
    with pytest.raises(OSError, match="File too large"):
        keep("a", b"12345")


def test_a_name_of_wide_letters_can_be_kept(keep: Artifacts) -> None:
    assert keep.read(keep("𝐀" * 120 + ".txt", b"x").digest) == b"x"

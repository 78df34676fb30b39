from __future__ import annotations

import io
import os
import socket
import tarfile
import threading
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox.inputs import Survey, survey
from callblocks.guard.sandbox.sandbox import Job, Limits
from callblocks.guard.sandbox.tar_streams import Note, pack, read_exactly


def look(folder: Path, *without: str, **limits: int) -> Survey:
    return survey(Job(argv=("x",), folder=str(folder), without=without, limits=Limits(**limits)))


def packed(folder: Path, found: Survey) -> tuple[tarfile.TarFile, dict[str, Note]]:
    reader, writer = os.pipe()
    notes: dict[str, Note] = {}
    thread = threading.Thread(target=pack, args=(str(folder), found.entries, writer, notes))
    thread.start()
    with open(reader, "rb") as stream:
        archive = tarfile.open(fileobj=io.BytesIO(stream.read()))  # noqa: SIM115 -- held in memory
    thread.join()
    return archive, notes


def test_files_folders_and_inner_links_go_in(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "run").write_text("#!")
    (tmp_path / "d" / "run").chmod(0o4755)
    (tmp_path / "d" / "up").symlink_to("../a")
    (tmp_path / "a").write_text("text")
    archive, notes = packed(tmp_path, look(tmp_path))
    assert archive.getnames() == ["a", "d", "d/run", "d/up"]
    assert archive.getmember("d/run").mode == 0o755
    assert archive.getmember("d/up").linkname == "../a"
    assert set(notes) == {"a", "d/run"}
    assert notes["d/run"].executable


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../x", "d/../../x", "../../../etc"])
def test_a_link_that_leaves_stays_behind(tmp_path: Path, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    found = look(tmp_path)
    assert found.entries == ()
    assert [each.path for each in found.left_out] == ["link"]


def test_pipes_and_sockets_stay_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = look(tmp_path)
    assert found.entries == ()
    assert {each.path for each in found.left_out} == {"pipe", "socket"}


def test_what_is_named_stays_behind_with_all_below(tmp_path: Path) -> None:
    (tmp_path / "state" / "deep").mkdir(parents=True)
    (tmp_path / "state" / "deep" / "key").write_text("secret")
    (tmp_path / "a").write_text("a")
    assert [entry.path for entry in look(tmp_path, "state").entries] == ["a"]


def test_a_folder_too_large_does_not_fit(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).write_bytes(b"x" * 100)
    assert look(tmp_path, copy_bytes=500, copy_files=5).fits
    assert not look(tmp_path, copy_bytes=499).fits
    assert not look(tmp_path, copy_files=4).fits


@pytest.mark.parametrize("name", ["a", "z", "deep/z"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_folder_too_large_to_copy_must_have_nothing_that_leads_out(
    tmp_path: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    for number in range(5):
        (tmp_path / f"m{number}").write_bytes(b"x")
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "pipe":
            os.mkfifo(name)
        else:
            listener.bind(name)
        assert look(tmp_path).fits
        with pytest.raises(ToolError, match=f"too large to copy, and '{name}' in it") as raised:
            look(tmp_path, copy_files=4)
        assert not look(tmp_path, name, copy_files=4).fits
    assert raised.value.code == "sandbox_failed"


def test_a_folder_too_large_to_copy_may_have_links(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "a").write_bytes(b"xx")
    assert not look(tmp_path, copy_bytes=1).fits


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be read") as raised:
        look(tmp_path / "none")
    assert raised.value.code == "sandbox_failed"


def test_a_file_replaced_by_a_pipe_or_a_link_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("text")
    found = look(tmp_path)
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to("/etc/passwd")
    archive, notes = packed(tmp_path, found)
    assert archive.getnames() == ["c"]
    assert set(notes) == {"c"}


def test_a_file_that_shrinks_or_grows_keeps_the_archive_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 1000)
    (tmp_path / "b").write_bytes(b"y" * 10)
    found = look(tmp_path)
    (tmp_path / "a").write_bytes(b"x" * 5)
    (tmp_path / "b").write_bytes(b"y" * 5000)
    archive, _ = packed(tmp_path, found)
    assert [member.size for member in archive.getmembers()] == [1000, 10]


def test_a_deep_folder_does_not_break_the_walk(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert len(look(tmp_path).entries) == 128
    os.system(f"rm -rf {tmp_path}/d")  # pytest's own remover calls itself for each level


def test_nobody_reading_ends_the_packing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * (1 << 20))
    reader, writer = os.pipe()
    os.close(reader)
    pack(str(tmp_path), look(tmp_path).entries, writer, {})


def test_exactly_the_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    for size, expected in ((2, b"ab"), (3, b"abc"), (5, b"abc\0\0")):
        fd = os.open(tmp_path / "a", os.O_RDONLY)
        assert b"".join(read_exactly(fd, size)) == expected

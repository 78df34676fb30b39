"""A full disk, a limit of the system, a broken disk, a killed process: nothing half-written."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import Opener
from callblocks.guard.files.replace_file import is_temporary
from callblocks.guard.files.root import Root
from support.roots import OPENERS, code_of, each_opener


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=12", "none", str(disk)], check=True
    )
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@each_opener
def test_on_a_full_disk_the_old_content_stays(small_disk: Path, opener: Opener) -> None:
    with Root(small_disk, opener=opener) as root:
        root.write("x", b"old")
        with pytest.raises(ToolError) as raised:
            root.write("x", b"n" * 100_000)
        assert code_of(raised) == "disk_full"
        with pytest.raises(ToolError) as raised:
            root.write("new", b"n" * 100_000)
        assert code_of(raised) == "disk_full"
        assert root.read("x") == b"old"
        assert os.listdir(small_disk) == ["x"]
        # The room is there again.
        root.write("x", b"n" * 40_000)


def test_without_room_for_a_name_nothing_changes(small_disk: Path) -> None:
    with Root(small_disk) as root:
        root.write("x", b"old")
        with pytest.raises(ToolError) as raised:  # noqa: PT012 it fails when it fails
            for at in range(20):
                root.write(f"{at}", b"")
        assert code_of(raised) == "disk_full"
        with pytest.raises(ToolError) as raised:
            root.write("x", b"new")
        assert code_of(raised) == "disk_full"
        assert root.read("x") == b"old"
        assert not any(is_temporary(name) for name in os.listdir(small_disk))


def test_a_limit_on_file_sizes_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Root(tmp_path) as root:
        root.write("x", b"old")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(ToolError) as raised:
                root.write("x", b"n" * 5000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)
        assert code_of(raised) == "file_too_large"
        assert root.read("x") == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_disk_that_cannot_be_written_is_access_denied(small_disk: Path) -> None:
    with Root(small_disk) as root:
        root.write("x", b"old")
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
        with pytest.raises(ToolError) as raised:
            root.write("x", b"new")
        assert code_of(raised) == "access_denied"
        assert root.read("x") == b"old"


WRITER = """
import sys
from callblocks.guard.files.root import Root
root = Root(sys.argv[1])
print("ready", flush=True)
while True:
    for letter in b"ab":
        root.write("x", bytes([letter]) * 300_000)
"""


def test_a_killed_process_leaves_the_old_or_the_new_content(tmp_path: Path) -> None:
    for attempt in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.01 + attempt * 0.003)
            writer.kill()
        if (tmp_path / "x").exists():
            content = (tmp_path / "x").read_bytes()
            assert content in (b"a" * 300_000, b"b" * 300_000)


@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_process_killed_at_a_step_leaves_no_trace_after_the_next_write(
    tmp_path: Path, step: str
) -> None:
    (tmp_path / "x").write_text("old")
    program = f"""
import os, sys
from callblocks.guard.files.root import Root
root = Root(sys.argv[1])
os.{step} = lambda *_, **__: os.kill(os.getpid(), 9)
root.write("x", b"new")
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    left = os.listdir(tmp_path)
    assert (tmp_path / "x").read_text() == "old"
    assert [name for name in left if is_temporary(name)], "it was killed in between"
    for opener in OPENERS.values():
        with Root(tmp_path, opener=opener) as root:
            assert [entry.path for entry in root.list().entries] == ["x"]
    with Root(tmp_path) as root:
        root.write("x", b"newer")
    assert os.listdir(tmp_path) == ["x"]


def test_many_writers_at_once_leave_one_whole_content_and_nothing_else(tmp_path: Path) -> None:
    program = """
import sys
from callblocks.guard.files.root import Root
root = Root(sys.argv[1])
for _ in range(60):
    root.write("x", sys.argv[2].encode() * 10_000)
    assert len(root.read("x")) == 10_000
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), letter]) for letter in "abc"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert (tmp_path / "x").read_text() in {letter * 10_000 for letter in "abc"}
    assert os.listdir(tmp_path) == ["x"]

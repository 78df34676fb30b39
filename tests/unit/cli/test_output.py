from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from callblocks.cli.exits import Fault
from callblocks.cli.terminal.io import open_output


def write(path: Path, content: bytes = b"new") -> None:
    with open_output(str(path)) as file:
        file.write(content)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_only_for_its_owner(tmp_path: Path) -> None:
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert mode(tmp_path / "a") == 0o600


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert mode(tmp_path / "a") == 0o640


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_the_file_it_leads_to_is_written(tmp_path: Path, is_there: bool) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "a"
    if is_there:
        target.write_bytes(b"old")
    (tmp_path / "link").symlink_to(target)
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path / "there") == ["a"]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    thread.start()
    write(pipe)
    thread.join(120)
    assert got == [b"new"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    write(tmp_path / "null")
    write(Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    assert os.listdir(tmp_path) == ["null"]


def test_what_standard_output_is_is_not_replaced(tmp_path: Path) -> None:
    script = (
        "from callblocks.cli.terminal.io import open_output\n"
        "with open_output('/dev/stdout') as file: file.write(b'new')"
    )
    with (tmp_path / "log").open("ab") as log:
        log.write(b"old ")
        log.flush()
        subprocess.run([sys.executable, "-c", script], stdout=log, check=True, timeout=120)
    assert (tmp_path / "log").read_bytes() == b"old new"


def test_what_goes_wrong_on_the_way_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def interrupted() -> None:
        with open_output(str(tmp_path / "a")) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["nowhere/a", "file/a", "loop", "socket"])
def test_a_place_that_cannot_be_written_is_named_as_it_was_given(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    with pytest.raises(Fault, match=f"{name}: "):
        write(tmp_path / name)


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / f"a.{os.getpid()}.new"
    other.write_bytes(b"theirs")
    with pytest.raises(Fault, match="is in the way"):
        write(tmp_path / "a")
    assert other.read_bytes() == b"theirs"

"""The program is killed in the middle of keeping a file; no wrong file is left."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callblocks.timeline.artifacts.artifacts import Artifacts

CONTENT = b"hello " * 50_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()

# Each call to the operating system that changes something: the program dies before or after it.
STEPS = ("mkdir", "open", "write", "fsync", "rename")

PROGRAM = """
import os, signal, sys
from callblocks.timeline.artifacts.artifacts import Artifacts

folder, step, number, when = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
done, real, write = 0, getattr(os, step), os.write


def deadly(*args, **named):
    global done
    done += 1
    if done != number:
        return real(*args, **named)
    if step == "write" and when == "after":
        write(args[0], args[1][:len(args[1]) // 2])
    elif when == "after":
        real(*args, **named)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(os, step, deadly)
Artifacts(folder)("a.txt", b"hello " * 50_000)
print("kept")
"""


def crash(folder: Path, step: str, number: int, when: str) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, step, str(number), when],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=False,
        timeout=120,
        text=True,
    )
    assert ended.returncode in (0, -signal.SIGKILL)
    return ended.stdout


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.glob("??/*/*") if path.is_file()]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_no_wrong_file_is_left_and_the_next_one_sweeps(
    step: str, when: str, tmp_path: Path
) -> None:
    for number in range(1, 10):
        folder = tmp_path / str(number)
        told = crash(folder, step, number, when)
        assert [file.read_bytes() == CONTENT for file in kept(folder)] in ([], [True])
        keep = Artifacts(folder)
        assert keep.check(DIGEST) in (None, "artifact_missing")
        keep("a.txt", CONTENT)
        assert keep.read(DIGEST) == CONTENT
        assert [path.name for path in folder.iterdir()] == [DIGEST[:2]]
        if told:
            return
    raise AssertionError("the program was never left alone")

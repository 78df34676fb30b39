"""A pseudo-terminal for a program, and its screen."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

__all__ = ("SECONDS", "Terminal", "drain", "in_terminal", "terminal", "until")

SECONDS = 120
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A terminal with a command in it. Nothing here waits longer than it may."""

    def __init__(self, process: subprocess.Popen[bytes], handle: int) -> None:
        self.process = process
        self.shown = ""
        self._handle = handle
        self._seen = 0
        self._end = time.monotonic() + SECONDS

    def until(self, words: str) -> str:
        """What is shown since the last time, up to some words."""
        while words not in self.shown[self._seen :]:
            assert self._read(), f"{words!r} is not in {self.shown!r}"
        end = self.shown.index(words, self._seen) + len(words)
        found, self._seen = self.shown[self._seen : end], end
        return _COLOUR.sub("", found)

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def wait(self) -> int:
        """The exit code, once all that is shown was read."""
        while self._read():
            pass
        return self.process.wait(max(1, self._end - time.monotonic()))

    def _read(self) -> bool:
        left = self._end - time.monotonic()
        if left <= 0 or not select.select([self._handle], [], [], left)[0]:
            return False
        try:
            piece = os.read(self._handle, 65536)
        except OSError:  # so a terminal says that everybody has gone
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)


@contextmanager
def in_terminal(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """A command in a session of its own, whose terminal is ours."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _TAKE_TERMINAL, *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        cwd=cwd,
        env=env,
    )
    os.close(theirs)
    try:
        with process:
            try:
                yield Terminal(process, ours)
            finally:
                process.kill()
    finally:
        os.close(ours)


@contextmanager
def terminal(*, rows: int, columns: int) -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        yield ours, theirs
    finally:
        os.close(theirs)
        os.close(ours)


def until(handle: int, words: str) -> str:
    """What a terminal shows, up to some words."""
    shown = b""
    while words.encode() not in shown:
        shown += os.read(handle, 4096)
    return shown.decode(errors="replace")


def drain(handle: int, process: subprocess.Popen[bytes]) -> None:
    """Read what a terminal shows until its writer has ended, so that it never waits for us."""
    os.set_blocking(handle, False)
    while process.poll() is None:
        try:
            os.read(handle, 65536)
        except BlockingIOError:
            continue

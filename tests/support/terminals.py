"""A terminal for a program under test, and what is read from it."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl

__all__ = ("drain", "terminal", "until")


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

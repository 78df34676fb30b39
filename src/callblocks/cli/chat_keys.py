"""Whether the terminal shows what is typed: not while a model speaks, and again at a question.

What is typed meanwhile is not lost: the next prompt has it. A program in the background leaves
the terminal as it is.
"""

from __future__ import annotations

import os
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress

__all__ = ("echoing",)

_LOCAL = 3
"""Where the local modes stand among those of a terminal."""


@contextmanager
def echoing(shown: bool) -> Generator[None]:
    """Show what is typed, or do not; however that ends, it is then as it was before."""
    handle = _open()
    if handle is None:
        yield
        return
    try:
        before = _set(handle, shown)
        try:
            yield
        finally:
            _set(handle, before)
    finally:
        os.close(handle)


def _open() -> int | None:
    """The terminal of this program; `None` where it has none, or another has it now."""
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(OSError):
        if os.tcgetpgrp(handle) == os.getpgrp():
            return handle
    os.close(handle)
    return None


def _set(handle: int, shown: bool) -> bool:
    """Set it, and say how it was."""
    try:
        modes = termios.tcgetattr(handle)
        before = bool(modes[_LOCAL] & termios.ECHO)
        modes[_LOCAL] = modes[_LOCAL] | termios.ECHO if shown else modes[_LOCAL] & ~termios.ECHO
        termios.tcsetattr(handle, termios.TCSANOW, modes)
    except termios.error:
        # The terminal has gone, and with it whoever would see something.
        return True
    return before

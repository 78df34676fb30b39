"""A process of ours that works on what others wrote, and says by pipes what comes of it.

It is told no key that lies in the environment, has no file open but those it is given, and is
waited for with patience: what looks on may raise, at any moment, whether it reads, writes or hangs.

    worker = Worker("callblocks.toolkits.rendering.child", cwd=folder)
    worker.write(b"…", patience)
    worker.read(patience)
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

__all__ = ("Patience", "Worker")

Patience: TypeAlias = Callable[[], None]
"""Asked every now and then; raises when nobody waits any more."""

_GLANCE = 0.1
_PIECE = 1 << 20
# What Python and its libraries need to start.
_TOLD = re.compile(r"PYTHON\w*|PATH|LANG|LC_\w+|TZ|HOME|TMPDIR")


class Worker:
    """A Python module that runs in a process of its own; `OSError` where none can be started."""

    def __init__(
        self, module: str, *words: str, cwd: str = "/", fds: Iterable[int] = (), **env: str
    ) -> None:
        told = {name: value for name, value in os.environ.items() if _TOLD.fullmatch(name)}
        self.child = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            pass_fds=tuple(fds),
            env={**told, **env},
            cwd=cwd,
            # Ctrl-C on the terminal is for us alone. Not a new session: Linux lets the priorities
            # of processes count within one session only (autogroups).
            process_group=0,
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._sink, self._source = self.child.stdin.fileno(), self.child.stdout.fileno()
        # A process that does not read must not hold up the one that writes.
        os.set_blocking(self._sink, False)

    def write(self, content: bytes, patience: Patience) -> None:
        """Say something; a process that has ended is heard of when it is listened to."""
        rest = memoryview(content)
        with suppress(BrokenPipeError):
            while rest:
                _wait(self._sink, selectors.EVENT_WRITE, patience)
                with suppress(BlockingIOError):
                    rest = rest[os.write(self._sink, rest) :]

    def read(self, patience: Patience, size: int = _PIECE) -> bytes:
        """What it says next, at most `size` bytes; nothing where it has ended."""
        _wait(self._source, selectors.EVENT_READ, patience)
        return os.read(self._source, min(size, _PIECE))

    def end(self) -> int:
        """End it, if it has not ended; how it ended."""
        self.child.kill()
        status = self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                pipe.close()
        return status


def _wait(pipe: int, event: int, patience: Patience) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, event)
        patience()
        while not selector.select(_GLANCE):
            patience()

"""A subprocess of ours that works on data of others and answers through pipes.

It gets no environment variable that could hold a key, and no open file but those passed to it. Each
wait calls `patience`, which may raise at any time, so a child that neither reads nor writes cannot
block its parent.

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

# A callback run at short intervals during a wait; it raises when nobody waits any more.
Patience: TypeAlias = Callable[[], None]

_GLANCE = 0.1
_PIECE = 1 << 20
# What Python and its libraries need to start.
_TOLD = re.compile(r"PYTHON\w*|PATH|LANG|LC_\w+|TZ|HOME|TMPDIR")


class Worker:
    """A Python module that runs in a subprocess; raises `OSError` where none can be started."""

    def __init__(
        self, module: str, *words: str, cwd: str = "/", fds: Iterable[int] = (), **env: str
    ) -> None:
        # An allow list: a deny list would pass on every key with an unusual name.
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
        """Write bytes to the child; the death of the child is noticed by `read`, not here."""
        rest = memoryview(content)
        with suppress(BrokenPipeError):
            while rest:
                _wait(self._sink, selectors.EVENT_WRITE, patience)
                with suppress(BlockingIOError):
                    rest = rest[os.write(self._sink, rest) :]

    def read(self, patience: Patience, size: int = _PIECE) -> bytes:
        """Return the next bytes from the child, at most `size`; b"" where it has ended."""
        _wait(self._source, selectors.EVENT_READ, patience)
        return os.read(self._source, min(size, _PIECE))

    def end(self) -> int:
        """Kill the child if it still runs; return its exit status."""
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

"""Forked writers that are killed: Python starts once.

    with WriterForks() as forks:
        acknowledged = forks.kill(Order(…))

The process reads orders and answers each, after the death, with how the writer ended and what it
had acknowledged.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from typing import Self

import msgspec

from callblocks.core.blocks import Entry
from support.dying_writer import Order, write

__all__ = ("WriterForks",)


class _Death(msgspec.Struct, frozen=True):
    """How a writer ended; so many bytes of acknowledgements follow."""

    status: int
    size: int


class WriterForks:
    """The process that forks; it ends with the block."""

    def __enter__(self) -> Self:
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.writer_forks"],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def kill(self, order: Order) -> list[list[Entry]]:
        """Have a writer live and die: the appends that it acknowledged."""
        orders, deaths = self._process.stdin, self._process.stdout
        assert orders is not None
        assert deaths is not None
        orders.write(msgspec.json.encode(order) + b"\n")
        orders.flush()
        death = msgspec.json.decode(deaths.readline(), type=_Death)
        said = deaths.read(death.size)
        assert death.status == order.ends_with, f"{death.status}: {order}"
        # What follows the last end of a line was not said in full.
        return [msgspec.json.decode(line, type=list[Entry]) for line in said.split(b"\n")[:-1]]


def main() -> None:
    """Fork a writer for each order."""
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        status, said = _live_and_die(order)
        sys.stdout.buffer.write(msgspec.json.encode(_Death(status, len(said))) + b"\n" + said)
        sys.stdout.buffer.flush()


def _live_and_die(order: Order) -> tuple[int, bytes]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            write(order, writer)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    said = _watch(child, reader, order)
    os.close(reader)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def _watch(child: int, reader: int, order: Order) -> bytes:
    """What it acknowledges until its death, which comes from here if it has no point of its own."""
    said, lives = bytearray(), not order.point
    while True:
        if lives and said.count(b"\n") >= order.after:
            time.sleep(order.delay)
            os.kill(child, signal.SIGKILL)
            lives = False
        piece = os.read(reader, 1 << 16)
        if not piece:
            return bytes(said)
        said += piece


if __name__ == "__main__":
    main()

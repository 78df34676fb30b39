"""The report of bubblewrap and the shell inside, on a pipe that the job does not get.

    { "child-pid": 4711, … }
    ready
    exit 0
    …a tar archive of the folder…
    end 0

A job might still find that pipe and write to it. Then it can only lie about itself: every line is
read once, in this order, and the archive is read as hostile. Lines before `ready` are not the
job's, because it has not started.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from callblocks.runtime.sandbox.changes import Refused
from callblocks.runtime.sandbox.unpacking import Unpacker

if TYPE_CHECKING:
    from asyncio import StreamReader

__all__ = ("Report",)

_PIECE = 256 * 1024
_LINE = 64
_PID = re.compile(rb'"child-pid": ([0-9]{1,9})')


class Report:
    """The reader of the report.

    The callbacks are called when the first process inside is known by its pid here, when the job
    starts, when it has ended, and when the report is invalid. `refused` says why the archive was
    not taken; it is "" while it may still be.
    """

    def __init__(
        self,
        unpacker: Unpacker | None,
        on_pid: Callable[[int], None],
        on_ready: Callable[[], None],
        on_exit: Callable[[], None],
        on_refused: Callable[[], None],
    ) -> None:
        self._unpacker = unpacker
        self._on_pid = on_pid
        self._on_ready = on_ready
        self._on_exit = on_exit
        self._on_refused = on_refused
        self._line = b""
        self.ready = False
        self.exit_code: int | None = None
        self.refused = ""

    @property
    def complete(self) -> bool:
        """Return whether the archive is complete and tar ended with 0 or 1.

        1 means that a file changed while it was read, for example as the last daemon died.
        """
        if self._unpacker is None or not self._unpacker.ended or self.refused:
            return False
        return self._unpacker.rest.strip(b"\0") in (b"end 0\n", b"end 1\n")

    async def pump(self, reader: StreamReader) -> None:
        """Read the report to its end, also when it is no longer trusted, so that the writer never
        blocks.
        """
        while piece := await reader.read(_PIECE):
            self.feed(piece)

    def feed(self, piece: bytes) -> None:
        """Process a piece; never raises."""
        while piece and not self.refused and self.exit_code is None:
            line, newline, rest = piece.partition(b"\n")
            # Bounded: a job that finds the pipe could send a line without end.
            self._line += line[: _LINE + 1]
            if len(self._line) > _LINE:
                self._refuse("the report is not readable")
            elif newline:
                self._read_line()
            piece = rest
        if piece and self._unpacker is not None and not self.refused:
            self._unpack(self._unpacker, piece)

    def _unpack(self, unpacker: Unpacker, piece: bytes) -> None:
        try:
            unpacker.feed(piece)
            if len(unpacker.rest) > _PIECE:
                raise Refused("the archive does not end")
        except Refused as refused:
            self._refuse(str(refused))

    def _read_line(self) -> None:
        line, self._line = self._line, b""
        word, _, number = line.partition(b" ")
        if not self.ready:
            self._read_early(line)
        elif self.ready and word == b"exit" and number.isdigit() and len(number) <= 3:
            self.exit_code = int(number)
            self._on_exit()
        else:
            self._refuse("the report is not readable")

    def _read_early(self, line: bytes) -> None:
        if line == b"ready":
            self.ready = True
            self._on_ready()
        elif found := _PID.search(line):
            self._on_pid(int(found[1]))

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        self._on_refused()

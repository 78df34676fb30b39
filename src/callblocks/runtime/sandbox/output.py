"""The output of a job, passed on as it comes, up to a limit; the rest is counted and dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from callblocks.runtime.sandbox.sandbox import OnOutput, Stream

if TYPE_CHECKING:
    from asyncio import StreamReader

__all__ = ("Output",)

_PIECE = 64 * 1024


class Output:
    """Both streams of one job.

    Until `release`, nothing is passed on: what a sandbox prints before the job starts is not the
    job's, and is in `early` if it never does. When the consumer raises, `fault` keeps the exception
    and nothing more is passed on.
    """

    def __init__(
        self, limit: int, on_output: OnOutput | None, on_fault: Callable[[], None]
    ) -> None:
        self._left = limit
        self._on_output = on_output
        self._on_fault = on_fault
        self._held: list[tuple[Stream, bytes]] | None = []
        self._dropped = 0
        self.total = 0
        self.fault: Exception | None = None

    @property
    def truncated(self) -> bool:
        """Return whether some output was dropped."""
        return self._dropped > 0

    @property
    def early(self) -> str:
        """Return the held output, as text."""
        return b"".join(piece for _, piece in self._held or ()).decode("utf-8", "replace")

    async def pump(self, stream: Stream, reader: StreamReader | None) -> None:
        """Read a stream to its end, also after the limit, so that the job never blocks on a full
        pipe.
        """
        while reader is not None and (piece := await reader.read(_PIECE)):
            self.take(stream, piece)

    def take(self, stream: Stream, piece: bytes) -> None:
        """Count a piece, and pass on as much of it as the limit allows."""
        self.total += len(piece)
        kept = piece[: self._left]
        self._left -= len(kept)
        self._dropped += len(piece) - len(kept)
        if not kept:
            return
        # Output before `ready` comes from bubblewrap or the shell: it explains a failed start, and
        # is not the job's.
        if self._held is not None:
            self._held.append((stream, kept))
        else:
            self._pass_on(stream, kept)

    def release(self) -> None:
        """Pass on the held output, and from now on everything at once."""
        held, self._held = self._held, None
        for stream, piece in held or ():
            self._pass_on(stream, piece)

    def _pass_on(self, stream: Stream, piece: bytes) -> None:
        if self._on_output is None or self.fault is not None:
            return
        try:
            self._on_output(stream, piece)
        except Exception as fault:
            self.fault = fault
            self._on_fault()

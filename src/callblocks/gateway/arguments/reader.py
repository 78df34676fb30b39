"""The base of readers of a notation: a buffer of text that is not read yet, and a loop of steps.

A reader is a state machine. Its `step` reads one part at `pos` and returns True, or returns False
where it needs more text. What a step decides does not depend on how the text was cut. A step that
meets what the notation does not have stops the reader for good (`stop`).

Linear: a step that waits keeps a bounded stretch of text in the buffer (`MOST`), or remembers how
far it has looked (`seen`), or keeps parts in a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from callblocks.gateway.arguments.output import JsonOutput

__all__ = ("MOST", "Reader", "Step")

Step: TypeAlias = Callable[[], bool]

# The most characters of a key, a tag, a number, or blanks.
MOST = 1000


class Reader(ABC):
    """A reader of one call's raw input."""

    def __init__(self, out: JsonOutput) -> None:
        self.out = out
        self.buf: str = ""
        self.pos: int = 0
        self.stopped = False
        self.step: Step = self.begin

    @abstractmethod
    def begin(self) -> bool:
        """Read the beginning of the input: the first step."""

    def feed(self, text: str) -> None:
        """Read more text."""
        if self.stopped:
            return
        self.buf = self.buf[self.pos :] + text
        self.pos = 0
        while not self.stopped and self.step():
            pass

    def stop(self) -> bool:
        """Read nothing more."""
        self.stopped = True
        self.buf, self.pos, self.step = "", 0, self._stopped
        return False

    def _stopped(self) -> bool:
        return False

    def wait(self) -> bool:
        """Wait for more text, unless too much waits already."""
        return self.stop() if len(self.buf) - self.pos > MOST else False

    def skip_blanks(self) -> str:
        """Skip blanks; return the character behind them, or "" where more text is needed."""
        buf, pos = self.buf, self.pos
        while pos < len(buf) and buf[pos] in " \t\r\n":
            pos += 1
        self.pos = pos
        return buf[pos : pos + 1]

    def ahead(self, pos: int) -> tuple[str, int]:
        """Return the character behind blanks at a position, and where it is."""
        buf = self.buf
        while pos < len(buf) and buf[pos] in " \t\r\n":
            pos += 1
        return buf[pos : pos + 1], pos

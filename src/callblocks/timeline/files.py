"""The files of turns, as the timeline needs them: `turn_1/files/report.md`.

What is no regular file inside the folder of its turn is not there: no link is followed, and a
device is no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from callblocks.model.paths import FilePath

__all__ = ("TurnFiles",)


class TurnFiles(Protocol):
    """Reads and writes files by their path on the timeline."""

    def read(self, path: FilePath) -> bytes | None:
        """The content, or `None` where no such file can be read."""
        ...

    def write(self, path: FilePath, content: bytes) -> None:
        """Write a file whole or not at all; `ToolError` or `OSError` where it cannot be."""
        ...

    def turns(self) -> Iterable[str]:
        """The turns that have a place for files already."""
        ...

    def claim(self, turn: str) -> bool:
        """Make the place for the files of a turn; False where somebody made it before."""
        ...

    def give_back(self, turn: str) -> None:
        """Remove the attachments of a turn that was claimed and not taken."""
        ...

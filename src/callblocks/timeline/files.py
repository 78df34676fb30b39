"""The files of turns, as the timeline needs them: `turn_1/files/report.md`.

Only a regular file inside the folder of its turn counts: no link is followed, and a device is no
file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from callblocks.model.paths import FilePath

__all__ = ("TurnFiles",)


class TurnFiles(Protocol):
    """Access to files by their path on the timeline."""

    def read(self, path: FilePath) -> bytes | None:
        """Return the content, or `None` where no such file can be read."""
        ...

    def write(self, path: FilePath, content: bytes) -> None:
        """Write a file whole or not at all; raise `ToolError` or `OSError` where that fails."""
        ...

    def turns(self) -> Iterable[str]:
        """Return the turns that have a folder for files already."""
        ...

    def claim(self, turn: str) -> bool:
        """Create the folder for the files of a turn; return false where it exists."""
        ...

    def give_back(self, turn: str) -> None:
        """Remove the attachments of a turn that was claimed and not taken."""
        ...

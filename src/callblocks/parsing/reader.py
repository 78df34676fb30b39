"""The protocol of readers, which may own a block of text."""

from __future__ import annotations

from typing import ClassVar, Protocol

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.stage import Reading

__all__ = ("Reader",)


class Reader(Protocol):
    """A reader of blocks: a dialect, a code fence, reasoning, the end of a turn."""

    # The name of the reader in events.
    name: ClassVar[str]

    def read(self, block: Block) -> Reading[Refused | None]:
        """Read the block that a marker opened, or refuse it."""
        ...

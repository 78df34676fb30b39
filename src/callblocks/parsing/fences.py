"""Markdown code fences, as CommonMark reads them.

A fence opens at the start of a line, up to three spaces in, with three or more backticks or
tildes and an info string (which holds no backtick after backticks). It closes with a line of
at least as many of the same character and nothing else.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers, line
from callblocks.parsing.stage import Reading

__all__ = ("END_OF_LINE", "FENCE_LINES", "CodeFences", "Fence", "closes", "read_fence")

FENCE_LINES = (line("```"), line("~~~"))
END_OF_LINE = Markers("\n")


class Fence(NamedTuple):
    """The run of characters that opened a fence, and its info string."""

    run: str
    info: str


def read_fence(text: str) -> Fence | None:
    """Read a fence's opening line, without its end."""
    bare = text.strip()
    info = bare.lstrip(bare[:1])
    run = bare[: len(bare) - len(info)]
    if len(run) < 3 or run[0] not in "`~" or (run[0] == "`" and "`" in info):
        return None
    return Fence(run, info.strip())


def closes(text: str, run: str) -> bool:
    """Whether a line (without its end) closes the fence that `run` opened."""
    bare = text.strip()
    return bare.startswith(run) and not bare.strip(run[0])


class CodeFences:
    """Keeps account of the code fence that the prose is in. Its lines stay prose."""

    name: ClassVar = "code-fence"
    OPENERS = FENCE_LINES

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, end = yield from block.until(END_OF_LINE)
        stage, text = block.stage, block.opening + rest
        fence = None if stage.fence else read_fence(text)
        if fence:
            stage.fence = fence.run
        elif stage.fence and closes(text, stage.fence):
            stage.fence = ""
        # The line's end may belong to the block on the next line.
        block.give_back(block.offset - len(end))
        block.prose()
        return None

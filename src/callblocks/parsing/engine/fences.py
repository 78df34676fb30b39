"""Markdown code fences, as CommonMark reads them.

A fence opens at the start of a line, after up to three spaces, with a run of three or more
backticks or tildes and an info string. After backticks the info string must hold no backtick:
```` ```sh``` ```` on one line is a code span. A fence closes with a line of at least as many of the
same character and nothing else; a shorter run inside is content.

States of `Stage.fence`: `""` outside, the opening run inside. A closing line is compared with that
run, so fences do not nest, but a fence of four backticks may show one of three.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, line, line_start
from callblocks.parsing.engine.parse_state import Reading

__all__ = (
    "CLOSING",
    "END_OF_LINE",
    "FENCE_LINES",
    "CodeFences",
    "Fence",
    "closes",
    "read_fence",
    "read_fence_body",
)

FENCE_LINES = (line("```"), line("~~~"))
END_OF_LINE = Markers("\n")
CLOSING = {"`": Markers(FENCE_LINES[0]), "~": Markers(FENCE_LINES[1])}


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
    """Return whether a line (without its end) closes the fence that `run` opened."""
    bare = text.strip()
    return bare.startswith(run) and not bare.strip(run[0])


def read_fence_body(block: Block, run: str) -> Reading[tuple[str, int | None]]:
    """Read up to the closing line; return the body and that line's offset, None if it is missing.

    The body is emitted as input while it arrives.
    """
    parts: list[str] = []
    # The marker of a closing line is three backticks at a line start. Such a line may still be
    # content ("```python" inside of a fence), so it is read up to its end before it counts. The
    # newline before a closing line belongs to the body.
    while True:
        text, marker = yield from block.stream(CLOSING[run[0]])
        parts.append(text)
        if not marker:
            return "".join(parts), None
        newline = line_start(marker)
        line_at = block.offset - len(marker) + len(newline)
        rest, end = yield from block.until(END_OF_LINE)
        block.stage.scan.fresh = bool(end)
        if closes(marker + rest, run):
            if newline:
                block.input(newline, end=line_at)
            return "".join([*parts, newline]), line_at
        parts.append(marker + rest + end)
        block.input(parts[-1])


class CodeFences:
    """A reader that tracks the code fence around the prose. The lines of the fence stay prose."""

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
        # The newline is returned: it may be the first character of a line marker.
        block.give_back(block.offset - len(end))
        block.prose()
        return None

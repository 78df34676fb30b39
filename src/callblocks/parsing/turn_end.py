"""Tokens that end a model's turn (`<|im_end|>`, `<end_of_turn>`), and stray closing markers.

Most servers strip turn ends; one at the end of a text is markup. A dialect's closing marker without
an open call is markup right behind one of its calls, and at the end of a text with a call; each is
reported. Anywhere else both are prose, because then the text is about them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import ClassVar

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.reader import Reader
from callblocks.parsing.stage import Reading, Stage

__all__ = ("TURN_ENDS", "TurnEnd", "closers_of", "lone_markers", "read_strays")

# A marker in brackets with at least one letter.
_LONE = re.compile(r"[<\[].*[A-Za-z].*[>\]]")
_BLANKS = "[ \\t\\r\\n]{0,100}"

# Tokens that are unambiguous, whatever the model is.
TURN_ENDS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("<|eos|>", "<|EOT|>", "<|assistant_end|>", "<|user|>", "<|observation|>"),
    *("<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<turn|>", "<seed:eos>", "<｜end▁of▁sentence｜>"),
)


class TurnEnd:
    """A reader of a run of such tokens at the end of the text.

    `unsure` ones count only in a text with a call. `strays` are the closing markers among them.
    """

    name: ClassVar = "turn-end"

    def __init__(
        self, tokens: tuple[str, ...], unsure: tuple[str, ...], strays: tuple[str, ...]
    ) -> None:
        self._tokens = Markers(*tokens)
        self._unsure = unsure
        self._strays = strays

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self._unsure and not block.stage.ready:
            return block.refuse(expected="a call before it", at=block.start)
        found, char = [block.opening], (yield from block.peek())
        while char and (token := (yield from block.match(self._tokens))):
            found.append(token)
            char = yield from block.peek()
        if char:
            return block.refuse(until=block.offset, expected="the end of the text")
        block.markup()
        for token in found:
            if token in self._strays:
                block.problem("stray-closer", f"{token} closes nothing")
        return None


def read_strays(stage: Stage, name: str, closers: Markers) -> Reading[None]:
    """Consume the closing markers right behind a call, and report that they close nothing."""
    while True:
        marker, certain = stage.scan.match(closers)
        while not certain:
            yield
            marker, certain = stage.scan.match(closers)
        if marker is None:
            return
        block = Block(stage, name, marker)
        block.markup()
        block.problem("stray-closer", f"{marker.strip()} closes nothing")


# The cache has room for every dialect, its siblings, and dialects of the caller.
@lru_cache(maxsize=1024)
def closers_of(reader: Reader) -> Markers | None:
    """Return a reader's closing markers with blanks before them; None if it has none."""
    tokens: tuple[str, ...] = getattr(reader, "closers", ())
    shapes = (Shape((_BLANKS, *map(re.escape, token))) for token in tokens)
    return Markers(*shapes) if tokens else None


@cache
def lone_markers(*markers: str) -> tuple[str, ...]:
    """Return the markers that are unambiguous alone: letters in brackets, as `</call>`, not `)`."""
    return tuple(dict.fromkeys(one for one in markers if _LONE.fullmatch(one)))

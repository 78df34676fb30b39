"""Tokens that end a model's turn (`<|im_end|>`, `<end_of_turn>`), and closers that close nothing.

Most servers leave the former out; where one stands at the end of a text, it is markup. Closing
markers of a dialect are markup right behind one of its calls, and at the end of a text that has
one, each with a problem. Anywhere else both are text, for then somebody writes about them.
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

_LONE = re.compile(r"[<\[].*[A-Za-z].*[>\]]")
_BLANKS = "[ \\t\\r\\n]{0,100}"

# Those that nothing else looks like, whoever the model is.
TURN_ENDS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("<|eos|>", "<|EOT|>", "<|assistant_end|>", "<|user|>", "<|observation|>"),
    *("<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<turn|>", "<seed:eos>", "<｜end▁of▁sentence｜>"),
)


class TurnEnd:
    """One such token after the other, up to the end of the text; `unsure` ones after a call.

    `strays` are closing markers among them.
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
    """Take the closing markers that stand right behind a call, and say that they close nothing."""
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


# Room for every dialect, its siblings and those that callers bring.
@lru_cache(maxsize=1024)
def closers_of(reader: Reader) -> Markers | None:
    """Return the closing markers of a reader's calls, blanks before them; None if it has none."""
    tokens: tuple[str, ...] = getattr(reader, "closers", ())
    shapes = (Shape((_BLANKS, *map(re.escape, token))) for token in tokens)
    return Markers(*shapes) if tokens else None


@cache
def lone_markers(*markers: str) -> tuple[str, ...]:
    """Those that can stand for nothing else: they have letters, and brackets around them."""
    return tuple(dict.fromkeys(one for one in markers if _LONE.fullmatch(one)))

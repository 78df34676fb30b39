"""Tokens that end a model's turn: `<|im_end|>`, `<end_of_turn>` and the like.

Most servers leave them out; where one stands at the end of a text, it is markup. Anywhere else it
is text, for then somebody writes about it.
"""

from __future__ import annotations

from typing import ClassVar

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers
from callblocks.parsing.stage import Reading

__all__ = ("TURN_ENDS", "TurnEnd")

TURN_ENDS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("<|eos|>", "<|EOT|>", "<|assistant_end|>", "<|user|>", "<|observation|>"),
    *("<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<turn|>", "<seed:eos>", "<｜end▁of▁sentence｜>"),
)
"""Those that nothing else looks like, whoever the model is."""


class TurnEnd:
    """One such token after the other, up to the end of the text; `unsure` ones after a call."""

    name: ClassVar = "turn-end"

    def __init__(self, tokens: tuple[str, ...], unsure: tuple[str, ...]) -> None:
        self._tokens = Markers(*tokens)
        self._unsure = unsure

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self._unsure and not block.stage.ready:
            return block.refuse(expected="a call before it", at=block.start)
        char = yield from block.peek()
        while char and (yield from block.match(self._tokens)):
            char = yield from block.peek()
        if char:
            return block.refuse(until=block.offset, expected="the end of the text")
        return block.markup()

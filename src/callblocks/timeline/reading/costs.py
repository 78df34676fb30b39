"""The cost of a block: the tokens of its text, or an estimate for an image or a PDF."""

from __future__ import annotations

from callblocks.model.blocks import Block
from callblocks.timeline.tokens import Tokens

__all__ = ("cost_of",)


def cost_of(block: Block, tokens: Tokens) -> int:
    """Return the tokens of a block's content; 0 for an empty one."""
    if block.text is not None:
        return tokens.text(block.text)
    if block.base64 is not None:
        return tokens.binary(len(block.base64) * 3 // 4, block.mime)
    return 0

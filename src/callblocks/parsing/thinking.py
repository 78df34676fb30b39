"""Reasoning that a pair of markers wraps: `<think>…</think>`. Nothing in it is a call."""

from __future__ import annotations

from typing import ClassVar

from callblocks.model.events import Reasoning
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.markers import Markers
from callblocks.parsing.stage import Reading

__all__ = ("Thinking",)


class Thinking:
    """Text up to the closing marker, or to the end, is what the model thought."""

    name: ClassVar = "reasoning"

    def __init__(self, closing: str) -> None:
        self._closing = Markers(closing)

    def read(self, block: Block) -> Reading[Refused | None]:
        stage = block.stage
        stage.say(Reasoning("", stage.span()))
        end = yield from stage.stream(self._closing, Reasoning)
        if end is not None:
            stage.scan.take(end)
            stage.say(Reasoning("", stage.span()))
        # What follows a thought that came first still stands at the start of the text.
        stage.solid = not block.at_start
        stage.scan.fresh = block.at_start
        return None

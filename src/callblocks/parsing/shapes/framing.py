"""Tokens that frame messages and carry no content: they are read as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.stage import Reading

__all__ = ("Framed",)


class Framed(XmlParameters):
    """A dialect whose calls and prose stand among such tokens."""

    frames: ClassVar[tuple[str, ...]]

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*self.frames, *super().openers(setting))

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self.frames:
            return block.markup()
        return (yield from super().read(block))

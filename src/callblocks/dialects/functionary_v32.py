"""A line with the recipient and JSON below it, as Functionary 3.2 writes it::

    >>>get_weather
    {"city": "Paris"}

What is for the person stands below `>>>all`; where it is read alone, that line shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.named_json import NamedJson
from callblocks.parsing.shapes.named_reader import Head
from callblocks.parsing.stage import Reading

__all__ = ("FunctionaryV32",)

ALL = ">>>all\n"


class FunctionaryV32(NamedJson):
    """`>>>NAME`, a newline, a JSON object."""

    name = "functionary_v32"
    summary = ">>>NAME and a JSON object below it"
    syntax = ">>>NAME\n{KEY: VALUE}"
    rules = (
        "Write `>>>` and the tool's name on a line, and below it its input as one JSON object.",
        "Write `>>>all` on a line before what you say to the person.",
    )
    opening = (">>>",)
    after_name = ("\n",)
    only_objects = True

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*self.opening, ALL) if setting.alone else self.opening

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening == ALL:
            return block.markup()
        return (yield from super().read(block))

    def read_head(self, block: Block) -> Reading[Head | None]:
        head = yield from super().read_head(block)
        known = head and (block.stage.alone or head.name in block.stage.tools)
        return head if known else None

"""A line with the recipient and JSON below it, as Functionary 3.2 writes it::

    >>>get_weather
    {"city": "Paris"}

Prose stands below `>>>all`; if the dialect is read alone, that line is markup. The prompt ends with
`>>>`, so the first recipient of a text may lack it. A tool named `python` may receive raw code, up
to the next recipient.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import TEXT_START, Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import raw_input
from callblocks.parsing.readers.named_reader import Head
from callblocks.parsing.shapes.json_calls import NamedJson

__all__ = ("FunctionaryV32",)

ALL = ">>>all\n"
# A recipient without `>>>`, in the first line of the text only.
BARE = Shape((TEXT_START, "[A-Za-z_]", r"[\w.-]{0,127}", "\\n"), at_line_start=True)
CODE = Markers("python\n")
NEXT = Markers(Shape((">", ">", ">", "(?=[A-Za-z_])"), at_line_start=True))


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
        return (*self.opening, ALL, BARE) if setting.alone else self.opening

    def read(self, block: Block) -> Reading[Refused | None]:
        bare = "" if block.opening.startswith(self.opening) else block.marker.strip("\n")
        if bare and not (block.at_start and (bare == "all" or bare in block.stage.tools)):
            expected = "a declared tool at the start of the text"
            return block.refuse(expected=expected, at=block.start)
        if block.marker == ALL or bare == "all":
            return block.markup()
        if (yield from self._is_code(block, bare)):
            return (yield from _read_code(block))
        return (yield from super().read(block))

    def _is_code(self, block: Block, bare: str) -> Reading[bool]:
        """Return whether raw code, and no object, follows for a declared tool `python`."""
        # Looks ahead over the name and the first character of the body. If code follows, the head
        # stays consumed; otherwise all is returned for the usual reader.
        if "python" not in block.stage.tools:
            return False
        start = block.offset
        if bare != "python" and not (yield from block.match(CODE)):
            return False
        at, char = block.offset, (yield from block.peek())
        code = bool(char) and char != "{"
        block.give_back(at if code else start)
        return code

    def read_head(self, block: Block) -> Reading[Head | None]:
        if block.opening not in self.opening:
            return Head(block.marker.strip("\n"))
        head = yield from super().read_head(block)
        known = head and (block.stage.alone or head.name in block.stage.tools)
        return head if known else None


def _read_code(block: Block) -> Reading[None]:
    block.started("python")
    code, stop = yield from block.stream(NEXT)
    block.give_back(block.offset - len(stop))
    value = raw_input(block.stage.tools.get("python"), code)
    block.ready(value, size=len(code), ended=bool(stop))

"""Python calls in a list, as Llama 3.2 and 4 write them::

    <|python_start|>[get_weather(city="Paris"), ping()]<|python_end|>

The markers may be missing. A bare list is calls if the text begins with it. Anywhere else it must
be complete and call a declared tool; if the dialect is guessed, it must also begin a line.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.python_calls import NAME_ATOMS, PythonRow, PythonRowReader
from callblocks.parsing.shapes.python_marked import PythonMarked
from callblocks.parsing.values.python_values import PythonScan
from callblocks.parsing.values.strict_json import ScanState

__all__ = ("Pythonic",)

# A bare list that breaks ends at its line end, since no marker closes it.
BARE_ROW = PythonRow("<|python_end|>", "<|python_start|>", "\n")
LINE_END = Markers("\n", "<|python_end|>")
BARE = Shape((r"\[", r"[ \t\r\n]{0,20}", *NAME_ATOMS))
BARE_LINE = Shape((r"[ \t\r\n]{0,100}", *BARE.atoms), at_line_start=True)


class Pythonic(PythonMarked):
    """`<|python_start|>[NAME(KEY=VALUE)]<|python_end|>`."""

    name = "pythonic"
    summary = "Python calls in a list: [name(key=value)]"
    syntax = "<|python_start|>[NAME(KEY=VALUE, …), …]<|python_end|>"
    rules = (
        "Between `<|python_start|>` and `<|python_end|>` stands one list of calls, as in Python: "
        "the tool's name, and its arguments by name in parentheses.",
        "Values are plain Python: strings in quotes, numbers, True, False, None, lists and "
        "dictionaries of these.",
        "You may write prose before and after the list.",
    )
    opening = "<|python_start|>"
    closing = "<|python_end|>"

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return self.opening, BARE if setting.alone else BARE_LINE

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening == self.opening:
            return (yield from super().read(block))
        name = block.opening.lstrip()[1:].lstrip()
        stage, is_known = block.stage, name[:-1] in block.stage.tools
        is_first = block.at_start and stage.alone
        if not (is_first or is_known):
            return block.refuse(expected="the name of a declared tool", at=block.start)
        if not is_first or (stage.tools and not is_known):
            scan = PythonScan(stage.limits.depth)
            scan.feed(block.opening)
            yield from block.consume(scan)
            if scan.state is not ScanState.STOPPED or not (yield from _is_alone(block)):
                expected = "a list of calls that stands alone"
                return block.refuse(until=block.offset, expected=expected, at=block.start)
            block.give_back(block.start + len(block.opening))
        return (yield from PythonRowReader(block, BARE_ROW).read(name))


def _is_alone(block: Block) -> Reading[bool]:
    """Return whether nothing follows a list on its line; a named dialect does not need that."""
    if block.stage.alone:
        return True
    rest, _ = yield from block.until(LINE_END)
    return not rest.strip()

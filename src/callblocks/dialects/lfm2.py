"""Python calls in a list between markers, as LFM2 writes them::

    <|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>

At times the model writes a row of JSON objects instead.
"""

from __future__ import annotations

from typing import ClassVar

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.call_keys import Keys
from callblocks.parsing.readers.row import CallRow, RowReader
from callblocks.parsing.shapes.python_marked import PythonMarked, python_codes

__all__ = ("Lfm2",)

OPENING, CLOSING = "<|tool_call_start|>", "<|tool_call_end|>"
JSON = Markers(Shape((r"\[?", r"[ \t\r\n]{0,1000}", r"\{")))
ROW = CallRow(Keys(), (OPENING,), (CLOSING,))


class Lfm2(PythonMarked):
    """`<|tool_call_start|>[NAME(KEY=VALUE)]<|tool_call_end|>`."""

    name = "lfm2"
    summary = "Python calls in a list between <|tool_call_start|> and <|tool_call_end|>"
    syntax = f"{OPENING}[NAME(KEY=VALUE, …), …]{CLOSING}"
    rules = (
        f"Between `{OPENING}` and `{CLOSING}` stands one list of calls, as in Python: the tool's "
        "name, and its arguments by name in parentheses.",
        "Values are plain Python: strings in quotes, numbers, True, False, None, lists and "
        "dictionaries of these.",
        "You may write prose before and after the list.",
    )
    codes: ClassVar = {
        **python_codes("lfm2"),
        "lfm2.json": "what follows the opening marker is not JSON, even with repairs",
        "lfm2.call": "an object has no name, or its arguments are no object",
    }
    opening = OPENING
    closing = CLOSING
    reasoning = (("<think>", "</think>"),)

    def read(self, block: Block) -> Reading[Refused | None]:
        yield from block.peek()
        at = block.offset
        if (yield from block.match(JSON)):
            block.give_back(at)
            return (yield from RowReader(block, ROW).read())
        return (yield from super().read(block))

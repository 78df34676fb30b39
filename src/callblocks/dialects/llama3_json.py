"""Bare JSON objects, as Llama 3 writes calls::

    {"name": "get_weather", "parameters": {"city": "Paris"}}; {"name": "now", "parameters": {}}

`<|python_tag|>` may stand before them; built-in tools are then called as
`<|python_tag|>brave_search.call(query="tides")`. An object without a marker is a call only if it
has a name and parameters.
"""

from __future__ import annotations

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.announce import Telling
from callblocks.parsing.readers.call_keys import Keys, Parts
from callblocks.parsing.repair import read_keywords
from callblocks.parsing.shapes.json_calls import JsonCalls

__all__ = ("Llama3Json",)

BUILT_IN = Markers(Shape(("[A-Za-z_]", r"\w{0,63}", r"\.", "c", "a", "l", "l", r"\(")))
TAG = "<|python_tag|>"
END = Markers("<|eom_id|>", "<|eot_id|>", TAG)


class Llama3Json(JsonCalls):
    """JSON objects with `name` and `parameters`, separated by semicolons."""

    name = "llama3_json"
    summary = "bare JSON objects with name and parameters, parted by semicolons"
    syntax = '{"name": NAME, "parameters": {KEY: VALUE}}'
    rules = (
        "Write a call as one JSON object: `name` is the tool's name, `parameters` an object with "
        "its input.",
        "Write several calls one after the other, with `; ` between them, and nothing else.",
    )
    opening = (TAG,)
    bare = "{"
    keys = Keys(input=("parameters", "arguments"))
    starts = "{"
    # The tag is read and not written: an object needs none.
    marked = False
    frame = ("", "; ", "")
    together = True
    trailing = ("<|eom_id|>", "<|eot_id|>")

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self.opening and (yield from block.peek()) != "{":
            return (yield from self._read_built_in(block))
        return (yield from super().read(block))

    def _read_built_in(self, block: Block) -> Reading[Refused | None]:
        """Read a call of a built-in tool, which is written as code."""
        head = yield from block.match(BUILT_IN)
        if not head:
            return block.refuse()
        start = block.offset
        at = block.offset
        text, marker = yield from block.until(END)
        if marker == TAG:
            block.give_back(block.offset - len(TAG))
        try:
            value, end = read_keywords(text, block.stage.limits.depth)
        except ValueError:
            expected = "the arguments of a Python call"
            return block.refuse(until=block.offset, expected=expected, at=at)
        # Blanks and the end marker behind the call belong to it; other text does not, and is
        # returned.
        stop = block.offset if not text[end:].strip() else start + end
        parts = Parts(head.removesuffix(".call("), None, value, (start, start + end - 1), {})
        Telling(block).call(parts, (), started=False, ended=True, end=stop)
        block.give_back(stop)
        return None

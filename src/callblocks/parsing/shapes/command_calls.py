"""The syntax of Cohere's Command models: a JSON array of calls between markers, cited answers::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>
    <|START_RESPONSE|>It is <co>mild</co: 0:[1]>.<|END_RESPONSE|>

The markers of an answer and of its citations are markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from callblocks.parsing.block import Block, Refused
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.json_calls import JsonCalls
from callblocks.parsing.shapes.keys import Keys
from callblocks.parsing.stage import Reading

__all__ = ("CommandCalls",)

CITES, CITED = "<co>", Shape((*map(re.escape, "</co:"), "[^<>]{0,100}", ">"))
CITATION = Markers(CITED, "<", "\n\n")


class CommandCalls(JsonCalls):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = "cohere_command"
    summary = "a JSON array of calls between <|START_ACTION|> and <|END_ACTION|>"
    syntax = (
        '<|START_ACTION|>[\n    {"tool_call_id": ID, "tool_name": NAME, "parameters": '
        "{KEY: VALUE}}\n]<|END_ACTION|>"
    )
    rules = (
        "Between `<|START_ACTION|>` and `<|END_ACTION|>` stands one JSON array with all calls.",
        "Each call is an object: `tool_call_id` is its number as a string, `tool_name` the tool's "
        "name, `parameters` an object with its input.",
    )
    opening = ("<|START_ACTION|>",)
    closing = ("<|END_ACTION|>",)
    keys = Keys(
        name=("tool_name", "name"),
        input=("parameters", "arguments"),
        id="tool_call_id",
        id_first=True,
    )
    frame = ("[\n    ", ",\n    ", "\n]")
    together = True
    hidden = (
        *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", CITES),
        "<|CHATBOT_TOKEN|>",
    )
    hidden_shapes = (CITED,)
    keeps_ids = True
    reasoning = (("<|START_THINKING|>", "<|END_THINKING|>"),)
    reasoning_breaks = ("<|START_RESPONSE|>", "<|START_TEXT|>")

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # No other dialect has these markers, so they are markup in a guessed dialect, too.
        more = () if setting.alone else (*self.hidden, *self.hidden_shapes)
        return (*super().openers(setting), *more)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening == CITES and not block.stage.alone:
            return _read_citation(block)
        return super().read(block)


def _read_citation(block: Block) -> Reading[Refused | None]:
    """Read `<co>` as a citation if a citation's end follows; any text may have such a tag."""
    start = block.offset
    _, end = yield from block.until(CITATION)
    if not end.startswith("</co"):
        at = block.offset - len(end)
        return block.refuse(until=at, expected="the end of a citation", at=at)
    block.give_back(start)
    return block.markup()

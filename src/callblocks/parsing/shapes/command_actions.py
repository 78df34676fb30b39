"""A JSON array of calls between markers, as Cohere's Command models write it::

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

Where it is read alone, the markers of an answer and of its citations show nothing:
`<|START_RESPONSE|>It is <co>mild</co: 0:[1]>.<|END_RESPONSE|>`.
"""

from __future__ import annotations

import re

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.json_calls import JsonCalls
from callblocks.parsing.shapes.keys import Keys

__all__ = ("CommandActions",)

CITED = Shape((*map(re.escape, "</co:"), "[^<>]{0,100}", ">"))


class CommandActions(JsonCalls):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = ""  # each dialect of this shape has its own
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
        *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<co>"),
        *("<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    )
    hidden_shapes = (CITED,)
    keeps_ids = True
    reasoning = (("<|START_THINKING|>", "<|END_THINKING|>"),)

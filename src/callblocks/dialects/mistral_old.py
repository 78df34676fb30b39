"""A marker and a JSON array of calls with ids, as Mistral's models up to v7 write it::

[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "D681PevKs"}]
"""

from __future__ import annotations

from callblocks.parsing.shapes.json_calls import JsonCalls
from callblocks.parsing.shapes.keys import Keys
from callblocks.parsing.turn_end import TURN_ENDS

__all__ = ("MistralOld",)


class MistralOld(JsonCalls):
    """`[TOOL_CALLS]` and an array of calls."""

    name = "mistral_old"
    summary = "[TOOL_CALLS] and a JSON array of calls with ids"
    syntax = '[TOOL_CALLS][{"name": NAME, "arguments": {KEY: VALUE}, "id": ID}]'
    rules = (
        "Write `[TOOL_CALLS]` and then one JSON array with all calls.",
        "Each call has `name` (the tool's name), `arguments` (an object) and `id` (nine letters "
        "and digits, your own and unique).",
    )
    opening = ("[TOOL_CALLS]",)
    keys = Keys(id="id")
    frame = ("[", ", ", "]")
    together = True
    keeps_ids = True
    turn_ends = (*TURN_ENDS, "</s>")

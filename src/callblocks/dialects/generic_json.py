"""A reply that is one JSON object with the calls in it, as llama.cpp asks of any model::

    {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}

One call may stand in `tool_call`. The agents of smolagents write `Action:` and one call.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

from callblocks.parsing import Block, CallRow, JsonCalls, Keys, Shape

__all__ = ("GenericJson",)

GAP = "[ \\t\\r\\n]{0,20}"
ACTIONS = ("Action:\n", "Action: ")
ACTION_ROW = CallRow(
    Keys(), (), (), separators="", many=False, trailing=("<end_action>", "<end_code>"), sure=False
)


class GenericJson(JsonCalls):
    """An object with `tool_calls` or `tool_call`."""

    name = "generic_json"
    summary = "a JSON object with tool_calls or tool_call in it"
    syntax = '{"tool_calls": [{"name": NAME, "arguments": {KEY: VALUE}}]}'
    rules = (
        "Write one JSON object with `tool_calls`, an array with all calls.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = ('{"tool_calls":', '{"tool_call":', *ACTIONS)
    shapes = tuple(
        Shape((r"\{", GAP, *map(re.escape, f'"{key}"'), GAP, ":"))
        for key in ("tool_calls", "tool_call")
    )
    closing = ("}",)
    frame = (" [", ", ", "]")
    together = True
    many = False
    separators = ""

    def is_sure(self, block: Block) -> bool:
        return block.stage.alone and block.marker not in ACTIONS

    def row_of(self, block: Block, sure: bool) -> CallRow:
        if block.marker in ACTIONS:
            return ACTION_ROW
        return super().row_of(block, sure) if sure else self._wrapped_row

    @cached_property
    def _wrapped_row(self) -> CallRow:
        """The row in `auto`: the wrapper is hardly anything else, so a declared name suffices."""
        return replace(self.row, sure=False, tools_suffice=True)

r"""The JSON of OpenAI's chat messages, written as text by proxies and small models::

    {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_weather",
    "arguments": "{\"city\": \"Paris\"}"}}]}

Arguments are a string that holds JSON; an object is read as well. The older `function_call` holds
one call.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

from callblocks.parsing import Block, CallRow, JsonCalls, Keys, Shape

__all__ = ("OpenaiJsonText",)

GAP = "[ \\t\\r\\n]{0,20}"
FLAT = '"function_call"'


class OpenaiJsonText(JsonCalls):
    """An object with `tool_calls` or `function_call`."""

    name = "openai_json_text"
    summary = "the JSON of OpenAI's chat messages as text"
    syntax = (
        '{"tool_calls": [{"id": ID, "type": "function", "function": '
        '{"name": NAME, "arguments": "{KEY: VALUE}"}}]}'
    )
    rules = (
        "Write one JSON object with `tool_calls`, an array with all calls.",
        "Each call has `id` (your own, unique), `type` (`function`) and `function`: an object with "
        "`name` (the tool's name) and `arguments` (its input as JSON, in a string).",
    )
    opening = ('{"tool_calls":', '{"function_call":')
    shapes = tuple(
        Shape((r"\{", GAP, *map(re.escape, f'"{key}"'), GAP, ":"))
        for key in ("tool_calls", "function_call")
    )
    closing = ("}",)
    keys = Keys(id="id", wrapped=True)
    as_text = True
    frame = (" [", ", ", "]")
    together = True
    many = False
    separators = ""
    keeps_ids = True

    def is_sure(self, block: Block) -> bool:
        return block.stage.alone

    def row_of(self, block: Block, sure: bool) -> CallRow:
        is_flat = sure or FLAT in block.opening
        return super().row_of(block, sure) if is_flat else self._deep_row

    @cached_property
    def _deep_row(self) -> CallRow:
        """The row in `auto`: calls without `function` around them belong to other dialects."""
        keys = self.keys._replace(deep=True)
        return replace(self.row, keys=keys, sure=False, tools_suffice=True)

"""Calls as JSON lines in tags, as MiniMax M1 writes it::

<tool_calls>
{"name": "get_weather", "arguments": {"city": "Paris"}}
{"name": "now", "arguments": {}}
</tool_calls>
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("MinimaxM1",)


class MinimaxM1(JsonCalls):
    """`<tool_calls>`, a call on each line, `</tool_calls>`."""

    name = "minimax_m1"
    summary = "JSON lines in <tool_calls> tags, a call on each"
    syntax = '<tool_calls>\n{"name": NAME, "arguments": {KEY: VALUE}}\n</tool_calls>'
    rules = (
        "Between `<tool_calls>` and `</tool_calls>` stands one JSON object on each line: `name` is "
        "the tool's name, `arguments` an object with its input. There is no array around them.",
    )
    opening = ("<tool_calls>",)
    closing = ("</tool_calls>",)
    starts = "{"
    together = True
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True

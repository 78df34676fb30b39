"""A JSON array of calls in tags, as Jamba writes it::

<tool_calls>[
{"name": "get_weather", "arguments": {"city": "Paris"}}
]</tool_calls>
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("Jamba",)


class Jamba(JsonCalls):
    """`<tool_calls>`, an array of calls, `</tool_calls>`."""

    name = "jamba"
    summary = "a JSON array of calls in <tool_calls> tags"
    syntax = '<tool_calls>[\n{"name": NAME, "arguments": {KEY: VALUE}}\n]</tool_calls>'
    rules = (
        "Between `<tool_calls>` and `</tool_calls>` stands one JSON array with all calls.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = ("<tool_calls>",)
    closing = ("</tool_calls>",)
    starts = "["
    frame = ("[\n", ",\n", "\n]")
    together = True

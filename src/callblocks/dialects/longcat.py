"""JSON in tags of its own, as LongCat writes it::

<longcat_tool_call>
{"name": "get_weather", "arguments": {"city": "Paris"}}
</longcat_tool_call>
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("Longcat",)


class Longcat(JsonCalls):
    """`<longcat_tool_call>`, a JSON object, `</longcat_tool_call>`."""

    name = "longcat"
    summary = "a JSON object in <longcat_tool_call> tags"
    syntax = '<longcat_tool_call>\n{"name": NAME, "arguments": {KEY: VALUE}}\n</longcat_tool_call>'
    rules = (
        "Between `<longcat_tool_call>` and `</longcat_tool_call>` stands one JSON object: `name` "
        "is the tool's name, `arguments` an object with its input.",
        "Write each call in its own pair of tags. You may write prose before and between them.",
    )
    opening = ("<longcat_tool_call>",)
    closing = ("</longcat_tool_call>",)
    reasoning = (("<longcat_think>", "</longcat_think>"), ("<think>", "</think>"))

"""JSON in `<tool_call>` tags, as Hermes, Qwen and many after them write it::

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>

The keys may come in either order. Several objects in one pair of tags are several calls.
"""

from __future__ import annotations

from callblocks.parsing.shapes.json_calls import JsonCalls

__all__ = ("Hermes",)


class Hermes(JsonCalls):
    """`<tool_call>`, a JSON object, `</tool_call>`."""

    name = "hermes"
    summary = "a JSON object in <tool_call> tags"
    syntax = '<tool_call>\n{"name": NAME, "arguments": {KEY: VALUE}}\n</tool_call>'
    rules = (
        "Between `<tool_call>` and `</tool_call>` stands one JSON object: `name` is the tool's "
        "name, `arguments` an object with its input.",
        "Write each call in its own pair of tags. You may write prose before and between them.",
    )
    opening = ("<tool_call>",)
    closing = ("</tool_call>",)
    reasoning = (("<think>", "</think>"),)

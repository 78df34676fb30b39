"""JSON in `<tool_call>` tags after the thoughts, as ERNIE 4.5 writes it::

    </think>

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>

A newline may have become `<0x0A>`. Where it is read alone, the `<response>` tags of an answer
show nothing.
"""

from __future__ import annotations

from callblocks.parsing import TURN_ENDS, JsonCalls

__all__ = ("Ernie45",)


class Ernie45(JsonCalls):
    """`<tool_call>`, a JSON object, `</tool_call>`."""

    name = "ernie45"
    summary = "a JSON object in <tool_call> tags, an answer in <response> tags"
    syntax = '<tool_call>\n{"name": NAME, "arguments": {KEY: VALUE}}\n</tool_call>'
    rules = (
        "Between `<tool_call>` and `</tool_call>` stands one JSON object: `name` is the tool's "
        "name, `arguments` an object with its input.",
        "Write each call in its own pair of tags.",
    )
    opening = ("<tool_call>", "<tool_call><0x0A>")
    closing = ("</tool_call>", "<0x0A></tool_call>")
    starts = "{"
    hidden = ("<response>", "</response>", "<0x0A>")
    reasoning = (("<think>", "</think>"),)
    turn_ends = (*TURN_ENDS, "</s>")

"""A JSON array of calls in tags, after the thoughts, as Hunyuan A13B and Apriel write it::

    <think>…</think><answer><tool_calls>[{"name": "get_weather", "arguments": {}}]</tool_calls>

Where it is read alone, the tags of the answer and Apriel's `[BEGIN FINAL RESPONSE]` show nothing.
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("HunyuanA13b",)


class HunyuanA13b(JsonCalls):
    """`<tool_calls>`, an array of calls, `</tool_calls>`."""

    name = "hunyuan_a13b"
    summary = "a JSON array of calls in <tool_calls> tags, in an <answer>"
    syntax = '<tool_calls>[{"name": NAME, "arguments": {KEY: VALUE}}]</tool_calls>'
    rules = (
        "Between `<tool_calls>` and `</tool_calls>` stands one JSON array with all calls.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = ("<tool_calls>",)
    closing = ("</tool_calls>",)
    starts = "["
    frame = ("[", ", ", "]")
    together = True
    hidden = ("<answer>", "</answer>", "[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]")
    reasoning = (
        ("<think>", "</think>"),
        ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
    )

"""A marker before each call, as Granite 20B function calling writes it::

    <function_call> {"name": "get_weather", "arguments": {"city": "Paris"}}

There is no closing marker.
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("Granite20bFc",)


class Granite20bFc(JsonCalls):
    """`<function_call>` and a JSON object."""

    name = "granite20b_fc"
    summary = "<function_call> and a JSON object"
    syntax = '<function_call> {"name": NAME, "arguments": {KEY: VALUE}}'
    rules = (
        "Write `<function_call>` and then one JSON object: `name` is the tool's name, `arguments` "
        "an object with its input.",
        "Write `<function_call>` again before each further call.",
    )
    opening = ("<function_call>",)
    starts = "{"
    frame = (" ", "", "")
    many = False
    separators = ""

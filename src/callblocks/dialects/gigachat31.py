"""A marker and a JSON object, as GigaChat 3.1 writes it::

<|function_call|>{"name": "get_weather", "arguments": {"city": "Paris"}}
"""

from __future__ import annotations

from callblocks.parsing import TURN_ENDS, JsonCalls

__all__ = ("Gigachat31",)


class Gigachat31(JsonCalls):
    """`<|function_call|>` and a JSON object."""

    name = "gigachat31"
    summary = "<|function_call|> and a JSON object"
    syntax = '<|function_call|>{"name": NAME, "arguments": {KEY: VALUE}}'
    rules = (
        "Write `<|function_call|>` and right after it one JSON object: `name` is the tool's name, "
        "`arguments` an object with its input.",
    )
    opening = ("<|function_call|>",)
    starts = "{"
    frame = ("", "", "")
    many = False
    separators = ""
    trailing = ("</s>",)
    turn_ends = (*TURN_ENDS, "</s>")

"""A marker and a JSON array of calls, as Granite 3 writes it::

    <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]

There is no closing marker. Some versions write `<tool_call>` before the array. Phi-4-mini may close
such an array with `<|/tool_call|>`; the two look the same up to there, so it is read here.

Versions 3.1 and 3.2 put their reasoning between words: `Here is my thought process:`, then `Here is
my response:`. These count at the start of a text, if the dialect is named.
"""

from __future__ import annotations

from itertools import product

from callblocks.parsing import JsonCalls

__all__ = ("Granite3",)


class Granite3(JsonCalls):
    """`<|tool_call|>` and an array of calls."""

    name = "granite3"
    summary = "<|tool_call|> and a JSON array of calls"
    syntax = '<|tool_call|>[{"name": NAME, "arguments": {KEY: VALUE}}]'
    rules = (
        "Write `<|tool_call|>` and then one JSON array with all calls.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = ("<|tool_call|>", "<tool_call>")
    starts = "["
    frame = ("[", ", ", "]")
    together = True
    trailing = ("<|/tool_call|>",)
    reasoning = (
        ("<think>", "</think>"),
        *product(
            ("Here is my thought process:", "Here's my thought process:"),
            ("Here is my response:", "Here's my response:"),
        ),
    )

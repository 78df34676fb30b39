"""`functools` and a JSON array of calls, as Phi-4-mini and FireFunction v2 write it::

    functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]

The model card of Phi-4-mini has `<|tool_call|>[…]<|/tool_call|>`; that is read too.
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("Phi4Mini",)


class Phi4Mini(JsonCalls):
    """`functools` and an array of calls."""

    name = "phi4_mini"
    summary = "functools and a JSON array of calls"
    syntax = 'functools[{"name": NAME, "arguments": {KEY: VALUE}}]'
    rules = (
        "Write `functools` and right after it one JSON array with all calls.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = ("functools", "<|tool_call|>")
    starts = "["
    frame = ("[", ", ", "]")
    together = True
    trailing = ("<|/tool_call|>",)

"""A list of calls as Python literals, as Sarashina writes it::

    <|tool_calls|>[{'name': 'get_weather', 'arguments': {'city': 'Paris', 'now': True}}]

There is no closing marker. JSON is read as well, and is written: a string in double quotes is the
same in both.
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("Sarashina",)


class Sarashina(JsonCalls):
    """`<|tool_calls|>` and a list of calls."""

    name = "sarashina"
    summary = "<|tool_calls|> and a list of calls as Python literals"
    syntax = "<|tool_calls|>[{'name': NAME, 'arguments': {KEY: VALUE}}]"
    rules = (
        "Write `<|tool_calls|>` and then one list with all calls.",
        "Each call is a dict: `name` is the tool's name, `arguments` a dict with its input.",
    )
    opening = ("<|tool_calls|>",)
    bare = "["
    starts = "["
    frame = ("[", ", ", "]")
    together = True
    natural = ("repaired-quotes", "repaired-literals")

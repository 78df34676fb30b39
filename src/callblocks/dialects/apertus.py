"""Objects whose only key is the tool's name, as Apertus writes it::

<|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls, Keys

__all__ = ("Apertus",)


class Apertus(JsonCalls):
    """`<|tools_prefix|>`, an array of single-key objects, `<|tools_suffix|>`."""

    name = "apertus"
    summary = "a JSON array of objects whose only key is the tool's name"
    syntax = "<|tools_prefix|>[{NAME: {KEY: VALUE}}]<|tools_suffix|>"
    rules = (
        "Between `<|tools_prefix|>` and `<|tools_suffix|>` stands one JSON array with all calls.",
        "Each call is an object with one key, the tool's name; its value is an object with the "
        "input.",
    )
    opening = ("<|tools_prefix|>",)
    closing = ("<|tools_suffix|>",)
    keys = Keys(single=True)
    frame = ("[", ", ", "]")
    together = True
    reasoning = (("<|inner_prefix|>", "<|inner_suffix|>"),)

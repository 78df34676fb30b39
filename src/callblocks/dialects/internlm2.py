"""JSON between the markers of a plugin action, as InternLM 2 and Intern-S1 write it::

<|action_start|><|plugin|>{"name": "get_weather", "parameters": {"city": "Paris"}}
<|action_end|>
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls, Keys

__all__ = ("Internlm2",)


class Internlm2(JsonCalls):
    """`<|action_start|><|plugin|>`, a JSON object, `<|action_end|>`."""

    name = "internlm2"
    summary = "a JSON object between <|action_start|><|plugin|> and <|action_end|>"
    syntax = (
        '<|action_start|><|plugin|>\n{"name": NAME, "parameters": {KEY: VALUE}}\n<|action_end|>'
    )
    rules = (
        "Between `<|action_start|><|plugin|>` and `<|action_end|>` stands one JSON object: `name` "
        "is the tool's name, `parameters` an object with its input.",
        "Write each call between its own markers.",
    )
    opening = (
        "<|action_start|><|plugin|>",
        "<|action_start|> <|plugin|>",
        "<|action_start|>\n<|plugin|>",
    )
    closing = ("<|action_end|>",)
    keys = Keys(input=("parameters", "arguments"))
    reasoning = (("<think>", "</think>"),)

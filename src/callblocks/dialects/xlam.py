"""A bare JSON array of calls, as xLAM 2 writes it::

    [{"name": "get_weather", "arguments": {"city": "Paris"}}]

It may stand in a `json` fence, behind `[TOOL_CALLS]`, in `<tool_call>` tags, or in a message to
`tool/function_call`, as HyperCLOVA X writes it. Without these an array is calls only if its objects
have names and arguments.
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("Xlam",)

MESSAGE = "<|im_start|>assistant -> tool/function_call\n"


class Xlam(JsonCalls):
    """An array of calls."""

    name = "xlam"
    summary = "a bare JSON array of calls"
    syntax = '[{"name": NAME, "arguments": {KEY: VALUE}}]'
    rules = (
        "Write all calls as one JSON array, and nothing else.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = (
        *("[TOOL_CALLS]", "<tool_call>", f"<|im_end|>\n{MESSAGE}", MESSAGE),
        "-> tool/function_call\n",
    )
    unsure = ("```json\n", "```\n")
    bare = "["
    starts = "["
    marked = False
    frame = ("[", ", ", "]")
    together = True
    trailing = ("</tool_call>", "```")
    reasoning = (("<think>", "</think>"),)

"""A JSON array of calls in tags, as Nemotron Nano v2 writes it::

<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</TOOLCALL>
"""

from __future__ import annotations

from callblocks.parsing import JsonCalls

__all__ = ("NemotronV2",)


class NemotronV2(JsonCalls):
    """`<TOOLCALL>`, an array of calls, `</TOOLCALL>`."""

    name = "nemotron_v2"
    result_tags = ("<TOOL_RESPONSE>", "</TOOL_RESPONSE>")
    summary = "a JSON array of calls in <TOOLCALL> tags"
    syntax = '<TOOLCALL>[{"name": NAME, "arguments": {KEY: VALUE}}]</TOOLCALL>'
    rules = (
        "Between `<TOOLCALL>` and `</TOOLCALL>` stands one JSON array with all calls.",
        "Each call is an object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = ("<TOOLCALL>",)
    closing = ("</TOOLCALL>",)
    frame = ("[", ", ", "]")
    together = True
    reasoning = (("<think>", "</think>"),)

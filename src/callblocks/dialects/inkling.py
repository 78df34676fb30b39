"""JSON in a message of its own kind, as Inkling writes it::

    <|message_model|><|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "Paris"}}
    <|end_message|>

The tool's name may stand after `<|message_model|>`. Where it is read alone, the markers of other
messages show nothing.
"""

from __future__ import annotations

import re

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.json_calls import JsonCalls
from callblocks.parsing.shapes.keys import Keys

__all__ = ("Inkling",)

MESSAGE, INVOKE, END = "<|message_model|>", "<|content_invoke_tool_json|>", "<|end_message|>"


class Inkling(JsonCalls):
    """`<|content_invoke_tool_json|>`, a JSON object, `<|end_message|>`."""

    name = "inkling"
    summary = "a JSON object with name and args between <|content_invoke_tool_json|> and its end"
    syntax = f'{MESSAGE}{INVOKE}{{"name": NAME, "args": {{KEY: VALUE}}}}{END}'
    rules = (
        f"Write each call as a message of its own: `{MESSAGE}{INVOKE}`, one JSON object, `{END}`.",
        "In the object `name` is the tool's name, `args` an object with its input.",
    )
    opening = (MESSAGE + INVOKE, INVOKE)
    shapes = (Shape((*map(re.escape, MESSAGE), r"[\w.-]{1,64}", *map(re.escape, INVOKE))),)
    closing = (END, "<|content_model_end_sampling|>")
    keys = Keys(input=("args", "arguments"), nested=())
    starts = "{"
    frame = ("", "", "")
    hidden = (
        *(MESSAGE, END, "<|content_text|>", "<|content_model_end_sampling|>", "<|message_user|>"),
        *("<|content_invoke_tool_text|>", "<|content_tool_error|>"),
    )
    reasoning = (("<|content_thinking|>", END),)

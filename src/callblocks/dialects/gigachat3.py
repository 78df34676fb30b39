r"""A JSON object in a message of its own, as GigaChat 3 writes it::

Let me see.<|message_sep|>

function call<|role_sep|>
{"name": "get_weather", "arguments": {"city": "Paris"}}
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing import TURN_ENDS, JsonCalls, Setting, Shape

__all__ = ("Gigachat3",)


class Gigachat3(JsonCalls):
    """`<|message_sep|>`, `function call<|role_sep|>`, a JSON object."""

    name = "gigachat3"
    summary = "function call<|role_sep|> and a JSON object"
    syntax = (
        '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": NAME, "arguments": {KEY: VALUE}}'
    )
    rules = (
        "Write `<|message_sep|>`, an empty line, `function call<|role_sep|>`, and on the next line "
        "one JSON object: `name` is the tool's name, `arguments` an object with its input.",
    )
    opening = (
        "<|message_sep|>\n\nfunction call<|role_sep|>",
        "function call<|role_sep|>",
        "<|function_call|>",
    )
    starts = "{"
    frame = ("\n", "", "")
    many = False
    separators = ""
    trailing = ("</s>",)
    turn_ends = (*TURN_ENDS, "</s>")

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return self.opening if setting.alone else self.opening[:-1]

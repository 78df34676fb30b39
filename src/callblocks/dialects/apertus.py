"""Objects whose only key is the tool's name, as Apertus writes it::

<|tools_prefix|>[{"get_weather": {"city": "Paris"}}]<|tools_suffix|>
"""

from __future__ import annotations

from callblocks.parsing import Block, Bodies, JsonCalls, Keys, Markers, Reading, Refused, Shape

__all__ = ("Apertus",)

_GAP = "[ \\t\\r\\n]{0,20}"
_COLON = ('"', _GAP, ":", _GAP)
# The beginning of a call as others write it: the value of its first key is no input.
_OTHERS = Markers(
    *(
        Shape((r"\[?", _GAP, r"\{", _GAP, '"', *key, *_COLON, *value))
        for keys, value in (
            (("name", "tool_name", "tool", "id", "type"), ('"',)),
            (("function", "tool_call", "function_call"), (r"\{", _GAP, '"', *"name", '"')),
        )
        for key in keys
    )
)


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

    @property
    def bodies_between(self) -> Bodies:
        # Objects with a name and arguments are another notation than its own.
        return Bodies(self.opening, self.closing, notation="braces")

    def read(self, block: Block) -> Reading[Refused | None]:
        if not block.stage.strict:
            yield from block.peek()
            if (yield from block.stands(_OTHERS)):
                return block.refuse(expected="an object whose only key is a tool's name")
        return (yield from super().read(block))

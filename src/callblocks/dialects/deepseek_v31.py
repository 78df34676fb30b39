"""Calls in a section, each a name and bare JSON, as DeepSeek V3.1 writes it::

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}
    <｜tool▁call▁end｜><｜tool▁calls▁end｜>

The markers hold U+FF5C and U+2581; there is no newline in it.
"""

from __future__ import annotations

from callblocks.parsing import Block, Head, NamedJson, Reading

__all__ = ("DeepseekV31",)


class DeepseekV31(NamedJson):
    """A section of calls: the name and a JSON object."""

    name = "deepseek_v31"
    summary = "a section of calls, each a name and a JSON object"
    syntax = (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{KEY: VALUE}"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    )
    rules = (
        "Write all calls in one section, from `<｜tool▁calls▁begin｜>` to `<｜tool▁calls▁end｜>`.",
        "Each call is `<｜tool▁call▁begin｜>`, the tool's name, `<｜tool▁sep｜>`, its input as one "
        "JSON object, and `<｜tool▁call▁end｜>`.",
    )
    section = ("<｜tool▁calls▁begin｜>",)
    opening = ("<｜tool▁call▁begin｜>",)
    after_name = ("<｜tool▁sep｜>",)
    closing = ("<｜tool▁call▁end｜>",)
    section_end = ("<｜tool▁calls▁end｜>", "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>")
    reasoning = (("<think>", "</think>"),)

    def read_head(self, block: Block) -> Reading[Head | None]:
        head = yield from super().read_head(block)
        if head == Head("function") and (yield from block.peek()) != "{":
            return None  # the form of V3, which gives a type before the name
        return head

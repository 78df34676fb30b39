"""JSON in `<tool_call>` tags, as Hermes, Qwen and many after them write it::

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>

The keys may come in either order. Several objects in one pair of tags are several calls. If the
dialect is read alone, an object with a name and arguments is a call without its tags, too (of a
declared tool if any are declared). It may also stand in the double braces of Qwen's chat templates,
and in the tags of their list of tools (`<tools>`), which small models confuse with those of calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from callblocks.parsing import (
    Block,
    CallRow,
    JsonCalls,
    Keys,
    Markers,
    Reading,
    Refused,
    Setting,
    Shape,
)

__all__ = ("Hermes",)

# A row without an opening tag has no closing tag: its braces show where it ends.
UNOPENED = CallRow(
    Keys(),
    ("<tool_call>",),
    closing=(),
    trailing=("</tool_call>",),
    repairs=("repaired-opening",),
    sure=False,
    only_known=True,
)
_BEGINNINGS = Keys().beginnings()
# A brace with the first key of a call behind it, once or doubled (`{{"name"`). The lookahead is
# needed because any text may have braces.
BRACE = Shape((r"\{",), ahead=(*((r"\{", *row) for row in _BEGINNINGS), *_BEGINNINGS))
DOUBLED = Markers(r"{")
IN_DOUBLE_BRACES = replace(
    UNOPENED,
    trailing=("}", "}</tool_call>", "}\n</tool_call>"),
    repairs=("repaired-opening", "repaired-braces"),
)
# `<tools>` opens only before an object: prompts and prose name the tag alone.
MISTAGGED = Shape((*map(re.escape, "<tools>"), r"\s{0,9}", r"(?=\{)"))
IN_TOOLS = replace(UNOPENED, trailing=("</tools>", "</tool_call>"))


class Hermes(JsonCalls):
    """`<tool_call>`, a JSON object, `</tool_call>`."""

    name = "hermes"
    result_tags = ("<tool_response>", "</tool_response>")
    summary = "a JSON object in <tool_call> tags"
    syntax = '<tool_call>\n{"name": NAME, "arguments": {KEY: VALUE}}\n</tool_call>'
    rules = (
        "Between `<tool_call>` and `</tool_call>` stands one JSON object: `name` is the tool's "
        "name, `arguments` an object with its input.",
        "Write each call in its own pair of tags. You may write prose before and between them.",
    )
    opening = ("<tool_call>",)
    closing = ("</tool_call>",)
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        unsure = (BRACE, MISTAGGED) if setting.alone else ()
        return (*self.opening, *unsure)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.stage.strict and block.opening not in self.opening:
            return block.refuse(expected=f"`{self.opening[0]}`", at=block.start)
        # The opener consumed one brace. A single brace begins the object and is returned; of a
        # doubled one the first is the opener, and the second begins the object.
        if block.opening == "{" and not (yield from block.stands(DOUBLED)):
            block.give_back_bracket()
        return (yield from super().read(block))

    def row_of(self, block: Block, sure: bool) -> CallRow:
        if sure:
            return self.row
        if not block.opening:
            return UNOPENED
        return IN_DOUBLE_BRACES if block.opening == "{" else IN_TOOLS

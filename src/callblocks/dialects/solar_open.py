"""Calls in a section, each an id, a name and JSON, as Solar Open writes it::

    <|tool_calls|><|tool_call:begin|>c1<|tool_call:name|>get_weather
    <|tool_call:args|>{"city": "Paris"}<|tool_call:end|><|calls|>

There is no newline in it. Messages stand in markers of their own, which are markup:
`<|begin|>assistant<|content|>…<|end|>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.openers import TURN_ENDS
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.expressions import Expr, chars, lit, repeat, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.named_reader import Head
from callblocks.parsing.shapes.json_calls import NAME, NamedJson

__all__ = ("SolarOpen",)

BEGIN = "<|begin|>assistant"
FRAMES = (f"<|end|>{BEGIN}<|content|>", f"{BEGIN}<|content|>")
ID = Markers(Shape((r"[\w-]{1,64}", r"(?![\w-])")))
# Characters that an id of the dialect cannot have; they are replaced by `_`.
_NOT_OF_AN_ID = re.compile(r"[^\w-]")


class SolarOpen(NamedJson):
    """A section of calls: an id, the name and a JSON object."""

    name = "solar_open"
    summary = "a section of calls, each an id, a name and a JSON object"
    syntax = (
        "<|tool_calls|><|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>{KEY: VALUE}"
        "<|tool_call:end|><|calls|>"
    )
    rules = (
        "Write all calls in one section, from `<|tool_calls|>` to `<|calls|>`.",
        "Each call is `<|tool_call:begin|>`, an id of letters and digits, `<|tool_call:name|>`, "
        "the tool's name, `<|tool_call:args|>`, its input as one JSON object, and "
        "`<|tool_call:end|>`.",
    )
    # The section may follow the end of a message, or its header; the longer forms are openers, too,
    # so that the frame belongs to the block and is not shown.
    section = ("<|tool_calls|>", f"<|end|>{BEGIN}<|tool_calls|>", f"{BEGIN}<|tool_calls|>")
    opening = ("<|tool_call:begin|>",)
    after_name = ("<|tool_call:args|>",)
    closing = ("<|tool_call:end|>",)
    section_end = ("<|calls|>",)
    after_id = ("<|tool_call:name|>",)
    markers = (*NamedJson.markers, "after_id")
    turn_ends = (*TURN_ENDS, "<|end|>")
    reasoning = (("<|think|>", "<|end|>"), (f"{BEGIN}<|think|>", "<|end|>"))

    @cached_property
    def _after_id(self) -> Markers:
        return Markers(*self.after_id)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*super().openers(setting), *FRAMES, *(("<|content|>",) if setting.alone else ()))

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening.endswith("<|content|>"):
            return block.markup()
        return (yield from super().read(block))

    def read_head(self, block: Block) -> Reading[Head | None]:
        id_ = yield from block.match(ID)
        if not (yield from block.match(self._after_id)):
            return None
        name = yield from block.match(NAME)
        if not name or not (yield from block.match(self.separators)):
            return None
        return Head(name, id_ or None)

    def written_head(self, call: Call) -> str:
        id_ = _NOT_OF_AN_ID.sub("_", call.id)[:64]
        return f"<|tool_call:begin|>{id_}<|tool_call:name|>{call.name}<|tool_call:args|>"

    def head_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        id_ = repeat(chars("a-zA-Z0-9_-"), 1, 32)
        after = lit(f"<|tool_call:name|>{tool.name}<|tool_call:args|>")
        return seq(lit("<|tool_call:begin|>"), id_, after)

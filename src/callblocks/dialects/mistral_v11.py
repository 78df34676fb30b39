"""A marker, the tool's name and its arguments, as Mistral's newer models write it::

    [TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}[TOOL_CALLS]now[ARGS]{}

`[CALL_ID]` and an id may stand behind the name; only ids of nine letters and digits are written.
Without `[ARGS]` the brace separates the name from the arguments.
"""

from __future__ import annotations

import re

from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.openers import TURN_ENDS
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.expressions import Expr, chars, lit, opt, repeat, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.readers.named_reader import Head
from callblocks.parsing.shapes.json_calls import NAME, NamedJson

__all__ = ("MistralV11",)

CALL_ID = Markers("[CALL_ID]")
ID = Markers(Shape((r"[\w-]{1,128}", r"(?![\w-])")), what="an id")
ARGS = Markers("[ARGS]")
# The length of Mistral's ids. Its servers refuse other ids, so one is written only if it fits.
SIZE = 9
_OWN = re.compile(rf"[A-Za-z0-9]{{{SIZE}}}")


class MistralV11(NamedJson):
    """`[TOOL_CALLS]`, a name, `[ARGS]`, a JSON object."""

    name = "mistral_v11"
    summary = "[TOOL_CALLS], the tool's name, [ARGS] and a JSON object"
    syntax = "[TOOL_CALLS]NAME[ARGS]{KEY: VALUE}"
    rules = (
        "Write `[TOOL_CALLS]`, the tool's name, `[ARGS]`, and its input as one JSON object.",
        "Write each call that way, one right after the other. You may write prose before them.",
    )
    opening = ("[TOOL_CALLS]",)
    after_name = ("[ARGS]",)
    turn_ends = (*TURN_ENDS, "</s>")
    other_closers = ("[/TOOL_CALLS]",)
    reasoning = (("[THINK]", "[/THINK]"), ("<think>", "</think>"))

    def read_head(self, block: Block) -> Reading[Head | None]:
        yield from block.peek()
        name = yield from block.match(NAME)
        if not name:
            return None
        # Detokenizers put blanks around the markers.
        id_ = ""
        yield from block.peek()
        if (yield from block.match(CALL_ID)):
            yield from block.peek()
            id_ = yield from block.match(ID)
            yield from block.peek()
        if (yield from block.match(ARGS)):
            return Head(name, id_ or None)
        char = yield from block.peek()
        # A name that ends the text is a call without arguments if it may be a tool's: a declared
        # one, or any if none is declared. `[TOOL_CALLS]ls and more` is prose about the marker.
        tools = block.stage.tools
        certain = char == "{" or (not char and (not tools or name in tools))
        return Head(name, id_ or None) if certain else None

    def written_head(self, call: Call) -> str:
        id_ = f"[CALL_ID]{call.id}" if _OWN.fullmatch(call.id) else ""
        return f"[TOOL_CALLS]{call.name}{id_}[ARGS]"

    def head_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        id_ = seq(lit("[CALL_ID]"), repeat(chars("a-zA-Z0-9"), SIZE, SIZE))
        return seq(lit(f"[TOOL_CALLS]{tool.name}"), opt(id_), lit("[ARGS]"))

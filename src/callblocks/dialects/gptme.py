"""A line that begins with an at sign, the tool's name and an id, as gptme writes it::

@get_weather(call-1): {"city": "Paris"}
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.model.calls import Call
from callblocks.model.specs import ToolSpec
from callblocks.parsing.block import Block
from callblocks.parsing.engine import Setting
from callblocks.parsing.expressions import Expr, chars, lit, many, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.named_json import NamedJson
from callblocks.parsing.shapes.named_reader import Head
from callblocks.parsing.stage import Reading

__all__ = ("Gptme",)

HEAD = Markers(
    Shape(
        ("[A-Za-z_]", r"[\w.-]{0,127}", r"\(", r"[\w.:-]{0,128}", r"\)", ":", " {0,4}", r"(?=\{)")
    )
)


class Gptme(NamedJson):
    """`@NAME(ID): ` and a JSON object."""

    name = "gptme"
    summary = "@NAME(ID): and a JSON object, at the start of a line"
    syntax = "@NAME(ID): {KEY: VALUE}"
    rules = (
        "Begin a line with `@`, the tool's name, an id of your own in parentheses and a colon, "
        "then write its input as one JSON object.",
    )
    opening = ("\n@",)
    after_name = (": ",)
    only_objects = True
    keeps_ids = True

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (Shape(("@",), at_line_start=True),)

    def read_head(self, block: Block) -> Reading[Head | None]:
        head = yield from block.match(HEAD)
        name, _, rest = head.partition("(")
        id_ = rest.rpartition(")")[0]
        return Head(name, id_ or None) if head else None

    def written_head(self, call: Call) -> str:
        return f"\n@{call.name}({call.id}): "

    def head_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        id_ = many(chars("a-zA-Z0-9_.:-"), 1)
        return seq(lit(f"\n@{tool.name}("), id_, lit("): "))

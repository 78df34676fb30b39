"""MiniMax-M3's calls: every tag has the token `]<]minimax[>[` before it::

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="NAME">]<]minimax[>[<KEY>VALUE]<]minimax[>[</KEY>
    ]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

An object has an element for each member, a list an `item` element for each item. Values are raw
text.
"""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.parsing.readers.tags import NOTHING, Tag, XmlForm, XmlTags, attributed, closing
from callblocks.parsing.shapes.element_bodies import ElementBodies
from callblocks.parsing.shapes.elements import read_tree, typed_members, write_tree
from callblocks.parsing.shapes.xml_call import Input
from callblocks.parsing.values.typed import plain_values, problems_of, schema_of

__all__ = ("MinimaxM3",)

NS = "]<]minimax[>["
_TAG = re.compile(re.escape(NS) + r"<(/?)([^<>\s]{1,200})>")


class MinimaxM3(ElementBodies):
    """`<invoke name="…">` with nested elements, a token before each tag."""

    name = "minimax_m3"
    summary = "<invoke> with nested elements, ]<]minimax[>[ before each tag"
    syntax = (
        f'{NS}<tool_call>\n{NS}<invoke name="NAME">{NS}<KEY>VALUE{NS}</KEY>{NS}</invoke>\n'
        f"{NS}</tool_call>"
    )
    rules = (
        f'A call is an `<invoke name="NAME">` inside `<tool_call>`, with `{NS}` before every tag. '
        "Each argument stands in a tag with its name.",
        "Write text as it is. Each member of an object stands in a tag with its name, each item "
        "of a list in an `<item>`.",
        "A call without arguments has no such tags. Close every tag.",
    )
    nests = True
    reasoning = (("<mm:think>", "</mm:think>"),)
    calls_end_reasoning = True
    tags = XmlTags(
        wrapper=closing(f"{NS}<tool_call>"),
        wrapper_end=closing(f"{NS}</tool_call>"),
        call=Tag(f"{NS}<invoke>", attributed(f"{NS}<invoke")),
        call_end=closing(f"{NS}</invoke>"),
        argument=NOTHING,
        argument_end=NOTHING,
    )
    form = XmlForm(
        wrapper=(f"{NS}<tool_call>\n", f"{NS}</tool_call>"),
        head=(f'{NS}<invoke name="', '">'),
        end=f"{NS}</invoke>\n",
        key=(f"{NS}<", ">"),
        value_end="",
        shared=True,
    )

    def may_begin(self, blanks: str, char: str) -> bool:
        return char in ("]", "")

    # The token before each tag never occurs in a value, so the first end of a call is the real one.
    def is_whole_body(self, text: str, tool: ToolSpec | None, *, is_all: bool) -> bool:
        return True

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        tree = read_tree(body, _TAG, depth)
        document = tool.parameters if tool else True
        known = {key: schema_of(tool, key) for key, _ in tree}
        values = typed_members(tree, known, document)
        return plain_values(values), problems_of(values)

    def value_end_of(self, key: str) -> str:
        return f"{NS}</{key}>"

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        return write_tree(self.name, key, value, NS)

"""The calls of Laguna: those of GLM 4.5::

<tool_call>NAME
<arg_key>KEY</arg_key>
<arg_value>VALUE</arg_value>
</tool_call>
"""

from __future__ import annotations

from callblocks.parsing.readers.tags import XmlForm
from callblocks.parsing.shapes.tag_arguments import ARG_RULES, ArgKeyValue, pair_tags

__all__ = ("PoolsideV1",)


class PoolsideV1(ArgKeyValue):
    """`<tool_call>NAME`, then pairs of keys and values, a line each."""

    name = "poolside_v1"
    summary = "<tool_call>name with <arg_key> and <arg_value> tags, as in glm45"
    syntax = "<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>"
    rules = ("A call is a `<tool_call>`; the tool's name stands right after the tag.", *ARG_RULES)
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    # Its calls look like those of `glm45`, so `auto` cannot choose it: a caller must name it.
    in_auto = False
    # Its models confuse the token of a user's turn with that of a call.
    tags = pair_tags("<user>")
    call_openings = ("<tool_call>", "<user>")
    form = XmlForm(
        head=("<tool_call>", "\n"),
        end="</tool_call>",
        key=("<arg_key>", "</arg_key>\n<arg_value>"),
        value_end="</arg_value>\n",
    )

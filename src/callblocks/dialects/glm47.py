"""The calls of GLM 4.7, 5 and later, and of Ling 3: those of 4.5 without line ends::

<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.tags import XmlForm
from callblocks.parsing.shapes.tag_arguments import ARG_RULES, ArgKeyValue, named_call, pair_tags

__all__ = ("Glm47",)


class Glm47(ArgKeyValue):
    """`<tool_call>NAME`, then pairs of keys and values."""

    name = "glm47"
    result_tags = ("<tool_response>", "</tool_response>")
    summary = "<tool_call>name with <arg_key> and <arg_value> tags, all in a row"
    syntax = "<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>"
    rules = ("A call is a `<tool_call>`; the tool's name stands right after the tag.", *ARG_RULES)
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    tags = pair_tags()
    form = XmlForm(
        head=("<tool_call>", ""),
        end="</tool_call>",
        key=("<arg_key>", "</arg_key><arg_value>"),
        value_end="</arg_value>",
    )

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # The character behind the name distinguishes the two forms of the family: `<` here, a line
        # end in `glm45`. Alone, either is read.
        return super().openers(setting) if setting.alone else named_call("<").shapes

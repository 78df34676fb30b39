"""The calls of GLM 4.5 and 4.6::

<tool_call>NAME
<arg_key>KEY</arg_key>
<arg_value>VALUE</arg_value>
</tool_call>
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.tags import XmlForm
from callblocks.parsing.shapes.tag_arguments import ARG_RULES, ArgKeyValue, named_call, pair_tags

__all__ = ("Glm45",)

_USER = "<user>"


class Glm45(ArgKeyValue):
    """`<tool_call>NAME`, then pairs of keys and values, a line each."""

    name = "glm45"
    result_tags = ("<tool_response>", "</tool_response>")
    summary = "<tool_call>name with <arg_key> and <arg_value> tags, a line each"
    syntax = "<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>"
    rules = ("A call is a `<tool_call>`; the tool's name stands right after the tag.", *ARG_RULES)
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    # Models of the family confuse the token of a user's turn with that of a call.
    tags = pair_tags(_USER)
    form = XmlForm(
        head=("<tool_call>", "\n"),
        end="</tool_call>",
        key=("<arg_key>", "</arg_key>\n<arg_value>"),
        value_end="</arg_value>\n",
    )

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # The character behind the name distinguishes the two forms of the family: a line end here,
        # `<` in `glm47`. Alone, either is read.
        return super().openers(setting) if setting.alone else named_call("\\s", _USER).shapes

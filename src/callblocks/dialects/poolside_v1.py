"""The calls of Laguna: those of GLM 4.5, read with keys that have no value::

    <tool_call>NAME
    <arg_key>KEY</arg_key>
    <arg_value>VALUE</arg_value>
    </tool_call>

Such a key is left out, with a problem.
"""

from __future__ import annotations

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.arg_key_value import (
    ARGUMENT,
    RULES,
    ArgKeyValue,
    argument,
    named_call,
    suffixed,
)
from callblocks.parsing.shapes.tags import BLANKS, Tag, closing, literal, misspelt
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("PoolsideV1",)

_KEY = (*suffixed("<arg_key"), "[^<]{1,200}", *suffixed("</arg_key"), BLANKS)


class PoolsideV1(ArgKeyValue):
    """`<tool_call>NAME`, then pairs of keys and values, a line each."""

    name = "poolside_v1"
    summary = "<tool_call>name with <arg_key> and <arg_value> tags, as in glm45"
    syntax = "<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>"
    rules = ("A call is a `<tool_call>`; the tool's name stands right after the tag.", *RULES)
    reasoning = (("<think>", "</think>"),)
    calls_end_reasoning = True
    # Its calls look like those of `glm45`: who means these must say so.
    in_auto = False
    tags = XmlTags(
        call=named_call("[\\s<]"),
        call_end=closing("</tool_call>", others=[Shape((*_KEY, *literal("</tool_call>").atoms))]),
        argument=Tag(ARGUMENT, argument(), others=[Shape((*_KEY, *argument().atoms))]),
        argument_end=closing("</arg_value>", others=[misspelt("</arg_v")], covered=True),
        starts_line=False,
    )
    form = XmlForm(
        head=("<tool_call>", "\n"),
        end="</tool_call>",
        key=("<arg_key>", "</arg_key>\n<arg_value>"),
        value_end="</arg_value>\n",
    )

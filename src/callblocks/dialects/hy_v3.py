"""Hunyuan 3's calls::

    <tool_calls>
    <tool_call>NAME<tool_sep>
    <arg_key>KEY</arg_key>
    <arg_value>VALUE</arg_value>
    </tool_call>
    </tool_calls>

A model may have a suffix of its own on each tag: `<tool_call:SUFFIX>`.
"""

from __future__ import annotations

from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.readers.tags import BLANKS, Tag, XmlForm
from callblocks.parsing.shapes.tag_arguments import (
    ARG_RULES,
    NAME,
    SUFFIX,
    ArgKeyValue,
    suffixed,
    wrapped_tags,
)

__all__ = ("HyV3",)


def _call(suffix: str = "") -> Shape:
    opening, separator = suffixed("<tool_call", suffix), suffixed("<tool_sep", suffix)
    return Shape((*opening, BLANKS, NAME, BLANKS, *separator))


class HyV3(ArgKeyValue):
    """`<tool_call>NAME<tool_sep>`, then pairs of keys and values, in `<tool_calls>`."""

    name = "hy_v3"
    summary = "<tool_call>name<tool_sep> with <arg_key> and <arg_value> tags, in <tool_calls>"
    syntax = (
        "<tool_calls>\n<tool_call>NAME<tool_sep>\n<arg_key>KEY</arg_key>\n"
        "<arg_value>VALUE</arg_value>\n</tool_call>\n</tool_calls>"
    )
    rules = (
        "A call is a `<tool_call>` inside `<tool_calls>`; the tool's name and `<tool_sep>` stand "
        "right after the tag.",
        *ARG_RULES,
    )
    reasoning = (("<think>", "</think>"),)
    tags = wrapped_tags(Tag("<tool_call>NAME<tool_sep>", _call(), _call(SUFFIX)))
    form = XmlForm(
        wrapper=("<tool_calls>\n", "</tool_calls>"),
        head=("<tool_call>", "<tool_sep>\n"),
        end="</tool_call>\n",
        key=("<arg_key>", "</arg_key>\n<arg_value>"),
        value_end="</arg_value>\n",
        shared=True,
    )

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

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.arg_key_value import (
    ARGUMENT,
    NAME,
    RULES,
    ArgKeyValue,
    argument,
    suffixed,
    untagged,
)
from callblocks.parsing.shapes.tags import BLANKS, Tag, misspelt
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("HyV3",)

SUFFIX = "[\\w.-]{1,40}"


def _tag(text: str) -> tuple[Shape, Shape]:
    return Shape(suffixed(text)), Shape(suffixed(text, SUFFIX))


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
        *RULES,
    )
    reasoning = (("<think>", "</think>"),)
    tags = XmlTags(
        wrapper=Tag("<tool_calls>", *_tag("<tool_calls")),
        wrapper_end=Tag("</tool_calls>", *_tag("</tool_calls")),
        call=Tag("<tool_call>NAME<tool_sep>", _call(), _call(SUFFIX)),
        call_end=Tag("</tool_call>", *_tag("</tool_call")),
        argument=Tag(ARGUMENT, argument(), argument(SUFFIX), others=[untagged(), untagged(SUFFIX)]),
        argument_end=Tag("</arg_value>", *_tag("</arg_value"), others=[misspelt("</arg_v")]),
    )
    form = XmlForm(
        wrapper=("<tool_calls>\n", "</tool_calls>"),
        head=("<tool_call>", "<tool_sep>\n"),
        end="</tool_call>\n",
        key=("<arg_key>", "</arg_key>\n<arg_value>"),
        value_end="</arg_value>\n",
        shared=True,
    )

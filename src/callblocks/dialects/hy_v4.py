"""Hunyuan 4's calls: those of 3 in one row, without a separator after the name::

<tool_calls><tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call></tool_calls>

A model may have a suffix of its own on each tag: `<tool_call:SUFFIX>`.
"""

from __future__ import annotations

from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.readers.tags import BLANKS, Tag, XmlForm, literal
from callblocks.parsing.shapes.tag_arguments import (
    ARG_RULES,
    NAME,
    SUFFIX,
    ArgKeyValue,
    suffixed,
    wrapped_tags,
)

__all__ = ("HyV4",)


def _call(suffix: str = "") -> Shape:
    return Shape((*suffixed("<tool_call", suffix), BLANKS, NAME, "(?=[\\s<])"))


_SEPARATED = Markers(Shape((BLANKS, *_call().atoms[:-1], BLANKS, *literal("<tool_sep").atoms)))


class HyV4(ArgKeyValue):
    """`<tool_call>NAME`, then pairs of keys and values, in `<tool_calls>`."""

    name = "hy_v4"
    summary = "<tool_call>name with <arg_key> and <arg_value> tags, in <tool_calls>"
    syntax = (
        "<tool_calls><tool_call>NAME<arg_key>KEY</arg_key>"
        "<arg_value>VALUE</arg_value></tool_call></tool_calls>"
    )
    rules = (
        "A call is a `<tool_call>` inside `<tool_calls>`; the tool's name stands right after the "
        "tag.",
        *ARG_RULES,
    )
    reasoning = (("<think>", "</think>"),)
    # A call without its wrapper has the tags of GLM 4.7, so in `auto` only the wrapper opens.
    shares_calls = True
    tags = wrapped_tags(Tag("<tool_call>NAME", _call(), _call(SUFFIX)))
    form = XmlForm(
        wrapper=("<tool_calls>", "</tool_calls>"),
        head=("<tool_call>", ""),
        end="</tool_call>",
        key=("<arg_key>", "</arg_key><arg_value>"),
        value_end="</arg_value>",
        shared=True,
    )

    def read(self, block: Block) -> Reading[Refused | None]:
        if (yield from block.stands(_SEPARATED)):
            return block.refuse(expected="`<arg_key>`")  # Hunyuan 3 parts the name with a tag
        return (yield from super().read(block))

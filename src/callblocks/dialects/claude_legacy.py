"""Function calls as Claude's prompts of 2023 showed them::

<function_calls>
<invoke>
<tool_name>NAME</tool_name>
<parameters>
<KEY>VALUE</KEY>
</parameters>
</invoke>
</function_calls>
"""

from __future__ import annotations

import re

from callblocks.model.specs import ToolSpec
from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.element_bodies import ElementBodies
from callblocks.parsing.shapes.tags import BLANKS, NOTHING, Tag, closing, literal
from callblocks.parsing.shapes.xml_bodies import Input
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("ClaudeLegacy",)

_NAME = re.compile(r"<tool_name>\s*(.*?)\s*</tool_name>", re.DOTALL)
_PARAMETERS = re.compile(r"\s*<parameters>(.*)</parameters>\s*", re.DOTALL)


class ClaudeLegacy(ElementBodies):
    """`<invoke>`, `<tool_name>` and `<parameters>`, in `<function_calls>`."""

    name = "claude_legacy"
    summary = "<invoke> with <tool_name> and <parameters>, in <function_calls>"
    syntax = (
        "<function_calls>\n<invoke>\n<tool_name>NAME</tool_name>\n<parameters>\n"
        "<KEY>VALUE</KEY>\n</parameters>\n</invoke>\n</function_calls>"
    )
    rules = (
        "A call is an `<invoke>` inside `<function_calls>`: the tool's name in `<tool_name>`, then "
        "`<parameters>` with a tag for each argument.",
        "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists "
        "and objects as JSON.",
        "A call without arguments has nothing in its `<parameters>`. Close every tag.",
    )
    tags = XmlTags(
        wrapper=closing("<function_calls>"),
        wrapper_end=closing("</function_calls>"),
        call=Tag(
            "<invoke><tool_name>NAME</tool_name>",
            Shape(
                (
                    *literal("<invoke>").atoms,
                    BLANKS,
                    *literal("<tool_name>").atoms,
                    "[^<]{1,200}",
                    *literal("</tool_name>").atoms,
                )
            ),
        ),
        call_end=closing("</invoke>"),
        argument=NOTHING,
        argument_end=NOTHING,
    )
    form = XmlForm(
        wrapper=("<function_calls>\n", "</function_calls>"),
        head=("<invoke>\n<tool_name>", "</tool_name>\n<parameters>\n"),
        end="</parameters>\n</invoke>\n",
        key=("<", ">"),
        value_end="",
        shared=True,
    )

    def name_in(self, opening: str) -> str:
        found = _NAME.search(opening)
        return found[1] if found else ""

    def is_whole_body(self, text: str, tool: ToolSpec | None, *, is_all: bool) -> bool:
        if is_all and "<parameters>" not in text:
            return super().is_whole_body(text, tool, is_all=True)
        return text.rstrip().endswith("</parameters>")

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        inner = _PARAMETERS.fullmatch(body)
        return super().read_body(inner[1] if inner else body, tool, depth)

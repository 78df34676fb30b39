"""Calls as `<use_tool>`, with the tool's name in a tag of its own::

<use_tool>
<name>NAME</name>
<KEY>VALUE</KEY>
</use_tool>
"""

from __future__ import annotations

import re

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.element_bodies import ElementBodies
from callblocks.parsing.shapes.tags import BLANKS, NOTHING, Tag, closing, literal
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.shapes.xml_tags import XmlTags

__all__ = ("UseTool",)

_NAME = re.compile(r"<name>\s*(.*?)\s*</name>", re.DOTALL)


class UseTool(ElementBodies):
    """`<use_tool>`, `<name>`, and an element for each argument."""

    name = "use_tool"
    summary = "<use_tool> with the name and each argument in a tag"
    syntax = "<use_tool>\n<name>NAME</name>\n<KEY>VALUE</KEY>\n</use_tool>"
    rules = (
        "A call is a `<use_tool>`. First comes the tool's name in `<name>`, then each argument in "
        "a tag with its name.",
        "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists "
        "and objects as JSON.",
        "A call without arguments has only its name. Close every tag.",
    )
    tags = XmlTags(
        call=Tag(
            "<use_tool><name>NAME</name>",
            Shape(
                (
                    *literal("<use_tool>").atoms,
                    BLANKS,
                    *literal("<name>").atoms,
                    "[^<]{1,200}",
                    *literal("</name>").atoms,
                )
            ),
        ),
        call_end=closing("</use_tool>"),
        argument=NOTHING,
        argument_end=NOTHING,
    )
    form = XmlForm(
        head=("<use_tool>\n<name>", "</name>\n"), end="</use_tool>", key=("<", ">"), value_end=""
    )

    def name_in(self, opening: str) -> str:
        found = _NAME.search(opening)
        return found[1] if found else ""

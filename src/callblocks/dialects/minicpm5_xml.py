"""MiniCPM5's calls::

    <function name="NAME"><param name="KEY">VALUE</param></function>

A value may stand in `<![CDATA[…]]>`. The blank in a tag may be missing, or be a leftover of the
tokenizer: `Ġ` for a space, `Ċ` for a line end.
"""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.readers.tags import (
    Tag,
    XmlForm,
    XmlTags,
    as_text,
    attributed,
    attributes,
    closing,
    literal,
    misspelt,
)
from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("Minicpm5Xml",)

_CLOSE = "[^<>]{1,400}"
_TAG = re.compile("<(function|param)[\\sĠĊ]*")


def _opening(name: str) -> Tag:
    damaged = Shape((*literal(f"<{name}").atoms, "[ĠĊ]", _CLOSE, ">"))
    collapsed = Shape((*literal(f"<{name}name=").atoms, _CLOSE, ">"))
    return Tag(f"<{name}>", attributed(f"<{name}"), others=[damaged, collapsed])


class Minicpm5Xml(XmlParameters):
    """`<function name="…">`, `<param name="…">`, no wrapper."""

    name = "minicpm5_xml"
    summary = '<function name="…"> with <param> tags, no wrapper'
    syntax = '<function name="NAME"><param name="KEY">VALUE</param></function>'
    rules = (
        'A call is a `<function name="NAME">`. Each argument stands in its own '
        '`<param name="KEY">`.',
        "Write text as it is; put text that holds tags into `<![CDATA[` and `]]>`. Write numbers, "
        "booleans, lists and objects as JSON.",
        "A call without arguments has no `<param>`. Close every tag.",
    )
    reasoning = (("<think>", "</think>"),)
    cdata = True
    tags = XmlTags(
        call=_opening("function"),
        call_end=closing("</function>", others=[misspelt("</func")], covered=True),
        argument=_opening("param"),
        argument_end=closing("</param>", others=[misspelt("</par")], covered=True),
    )
    form = XmlForm(
        head=('<function name="', '">'),
        end="</function>",
        key=('<param name="', '">'),
        value_end="</param>",
    )

    def name_in(self, opening: str) -> str:
        return attributes(_TAG.sub("<\\1 ", opening)).get("name", "")

    def key_in(self, opening: str) -> str:
        return self.name_in(opening)

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        text = as_text(self.name, value)
        if "</" in text or text.startswith("<![CDATA["):
            text = f"<![CDATA[{text}]]>"
        return self.argument(key, text)

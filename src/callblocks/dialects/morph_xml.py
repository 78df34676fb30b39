"""Morph's calls: the tool's name is the tag, and the schema determines its contents::

    <book>
    <city>Oslo</city>
    <guests><name>Ann</name><age>7</age></guests>
    <tags><item>new</item><item>old</item></tags>
    </book>

An object may have an element for each member, and a list one for each item; a list may also be
its own element again and again. Either may be JSON, which is how they are written here.

Text is XML text: entities such as `&lt;` stand for one character each, and `<![CDATA[…]]>` for its
contents. Unescaped tags in a text are read as text if they cannot be elements.
"""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.parsing.readers.tags import as_text
from callblocks.parsing.shapes.element_bodies import NamedTags

__all__ = ("MorphXml",)


_REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_LAST = 0x10FFFF


class MorphXml(NamedTags):
    """`<NAME>` with an element for each argument, nested as the schema says."""

    name = "morph_xml"
    summary = "the tool's name as a tag, with nested tags as the schema says"
    syntax = "<NAME>\n<KEY>VALUE</KEY>\n</NAME>"
    rules = (
        "A call is a tag with the tool's name. Each argument stands in a tag with its name.",
        "Write text without quotes, with `&lt;` for `<` and `&amp;` for `&`. Write numbers, "
        "booleans, lists and objects as JSON.",
        "A call without arguments has nothing between its tags. Close every tag.",
    )

    # Its calls look like those of `cline`, so `auto` cannot choose it: a caller must name it.
    in_auto = False
    escapes = True

    def decode(self, text: str) -> str:
        """Return a text with its entities decoded; the contents of CDATA stay unchanged."""
        if "<![CDATA[" not in text:
            return _REFERENCE.sub(_referred, text)
        quoted = _CDATA.split(text.strip())
        return "".join(
            part if at % 2 else _REFERENCE.sub(_referred, part) for at, part in enumerate(quoted)
        )

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        text = as_text(self.name, value).replace("&", "&amp;").replace("<", "&lt;")
        return self.argument(key, text)


def _referred(found: re.Match[str]) -> str:
    named, decimal, hexadecimal = found.groups()
    if named:
        return _NAMED[named]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if 0 < number <= _LAST else found[0]

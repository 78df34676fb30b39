"""Calls whose arguments are pairs of tags: `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`.

A value is text where the tool's schema says so, and JSON where it says another type or nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any

from callblocks.model.specs import ToolSpec
from callblocks.parsing.arguments import schema_of, typed_argument
from callblocks.parsing.markers import Shape
from callblocks.parsing.schema_shape import Schemas
from callblocks.parsing.shapes.tags import BLANKS, Tag, closing, literal, misspelt
from callblocks.parsing.shapes.xml_form import as_text
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.typed import Typed, read_any, types_of

__all__ = ("NAME", "RULES", "ArgKeyValue", "argument", "argument_end")

NAME = "[\\w./:-]{1,200}"
RULES = (
    "For each argument write its name in `<arg_key>` and its value in `<arg_value>`.",
    "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
    "A call without arguments has no `<arg_key>`. Close every tag.",
)
_KEY = re.compile(r"<arg_key>\s*(.*?)\s*</arg_key>", re.DOTALL)
_NAME = re.compile(rf"<tool_call>\s*({NAME})")

argument = Tag(
    "<arg_key>…</arg_key><arg_value>",
    Shape(
        (
            *literal("<arg_key>").atoms,
            "[^<]{1,200}",
            *literal("</arg_key>").atoms,
            BLANKS,
            *literal("<arg_value>").atoms,
        )
    ),
)
argument_end = closing("</arg_value>", others=[misspelt("</arg_v")])


class ArgKeyValue(XmlParameters):
    """A dialect of this shape; a call's name stands right after its opening tag."""

    values_are_text = False

    def name_in(self, opening: str) -> str:
        found = _NAME.match(opening)
        return found[1] if found else ""

    def key_in(self, opening: str) -> str:
        found = _KEY.match(opening)
        return found[1] if found else ""

    def typed_value(self, opening: str, text: str, tool: ToolSpec | None, key: str) -> Typed:
        if not _says_type(tool, key):
            return Typed(read_any(text), True)
        return typed_argument(text, tool, key)

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        text = as_text(self.name, value)
        # What is no JSON is text: so text that is JSON must be quoted to stay text.
        if isinstance(value, str) and not _says_type(tool, key) and read_any(text) != text:
            text = json.dumps(text, ensure_ascii=False)
        return self.form.argument(key, text)


def _says_type(tool: ToolSpec | None, key: str) -> bool:
    document = tool.parameters if tool else True
    return any(map(types_of, Schemas(document).plain(schema_of(tool, key))))

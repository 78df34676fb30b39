"""Arguments in tags whose values are JSON or text, by the schema, the tag or their form."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

from callblocks.model.specs import ToolSpec
from callblocks.parsing.arguments import schema_of, typed_argument
from callblocks.parsing.schema_order import fits
from callblocks.parsing.schema_shape import Schemas
from callblocks.parsing.shapes.xml_form import as_text
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.typed import Typed, read_untyped, types_of

__all__ = ("JsonValues", "MarkedValues")


class JsonValues(XmlParameters):
    """A dialect in which a value without a type in the schema is JSON if it can be."""

    values_are_text = False

    def typed_value(self, opening: str, text: str, tool: ToolSpec | None, key: str) -> Typed:
        if not _says_type(tool, key):
            return read_untyped(text)
        return typed_argument(text, tool, key)

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        text = as_text(self.name, value)
        # Text that happens to be JSON (`12`, `true`) is written as a JSON string, so that it reads
        # back as text.
        is_text = isinstance(value, str) and not _says_type(tool, key)
        if is_text and read_untyped(text).value != text:
            text = json.dumps(text, ensure_ascii=False)
        return self.argument(key, text)


class MarkedValues(XmlParameters):
    """A dialect whose tags mark a value as text or JSON; the schema takes precedence."""

    values_are_text = False

    @abstractmethod
    def is_text(self, opening: str) -> bool:
        """Return whether the tag marks its value as text, or does not mark it."""

    def typed_value(self, opening: str, text: str, tool: ToolSpec | None, key: str) -> Typed:
        if not self.is_text(opening):
            read = read_untyped(text)
            is_json = read.value != text
            document = tool.parameters if tool else True
            if is_json and fits(read.value, schema_of(tool, key), document):
                return read
            if not is_json and not _says_type(tool, key):
                return Typed(text, False)
        return typed_argument(text, tool, key)


def _says_type(tool: ToolSpec | None, key: str) -> bool:
    if tool is None:
        return False
    return any(map(types_of, Schemas(tool.parameters).plain(schema_of(tool, key))))

"""The reader for the raw input of a call, by its dialect and its first character.

The first character decides first: models write JSON where tags should stand, and the parser reads
both. Dialects whose raw input is no input (scissors-cat shows its whole item, chat-blocks its line)
have no reader: all comes with `finish`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.gateway.arguments.body import BodyReader
from callblocks.gateway.arguments.braces import BraceReader
from callblocks.gateway.arguments.elements import ElementReader
from callblocks.gateway.arguments.json_notation import JsonReader, QuotedJsonReader
from callblocks.gateway.arguments.output import JsonOutput
from callblocks.gateway.arguments.python_notation import PythonReader
from callblocks.gateway.arguments.reader import Reader
from callblocks.gateway.arguments.tags import TagReader
from callblocks.gateway.arguments.yaml_notation import YamlReader
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.shapes.brace_calls import BraceCalls
from callblocks.parsing.shapes.element_bodies import ElementBodies
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from callblocks.parsing.values.yaml_core import load

__all__ = ("reader_of",)

_UNSEEN = frozenset(("scissors-cat", "chat-blocks"))
_BODIES = frozenset(("emoji-bracket", "emoji-bracket+"))
_DEPTH = 100
_BY_CHAR: dict[str, Callable[[JsonOutput, ToolSpec | None], Reader]] = {
    "{": JsonReader,
    '"': QuotedJsonReader,
    "(": PythonReader,
}


def reader_of(
    dialect: str, spec: ToolSpec | None, out: JsonOutput, char: str, opening: str
) -> Reader | None:
    """Return the reader for an input that begins with this character; None if there is none."""
    if dialect in _UNSEEN:
        return None
    if dialect in _BODIES:
        return BodyReader(out, spec, opening) if opening else None
    shape = dialects.get(dialect)
    if shape is not None and (own := _own_reader(shape, spec, out, char)):
        return own
    usual = _BY_CHAR.get(char)
    return usual(out, spec) if usual else None


def _own_reader(shape: Dialect, spec: ToolSpec | None, out: JsonOutput, char: str) -> Reader | None:
    if isinstance(shape, BraceCalls):
        return BraceReader(out, shape.quote, spec)
    if shape.name == "tool-fence":
        return YamlReader(out, _read_yaml, header="input:")
    if shape.name == "yaml_xml" and isinstance(shape, ElementBodies):
        return YamlReader(out, _YamlMember(shape, spec)) if char not in "<{" else None
    if isinstance(shape, ElementBodies):
        before = "]<]minimax[>[" if shape.nests else ""
        skips = "parameters" if shape.name == "claude_legacy" else ""
        return ElementReader(out, shape, spec, before=before, skips=skips)
    if isinstance(shape, XmlParameters) and char not in '{"(':
        return TagReader(out, shape, spec)
    return None


def _read_yaml(name: str, text: str) -> Any:
    return load(text, _DEPTH)[name]


class _YamlMember:
    """Reads one member of `yaml_xml`, whose schema may want a number as it is written."""

    def __init__(self, shape: ElementBodies, spec: ToolSpec | None) -> None:
        self._shape, self._spec = shape, spec

    def __call__(self, name: str, text: str) -> Any:
        try:
            value, _ = self._shape.read_body(text, self._spec, _DEPTH)
        except BadBody as bad:
            raise ValueError(bad.detail) from bad
        return value[name]

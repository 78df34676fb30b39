"""When a text that was written for a parameter is certain to stay a string.

`typed` converts text by the schema: a number where an integer is wanted, JSON where a list is. A
text whose first characters no other type can have stays text, whatever follows.
"""

from __future__ import annotations

from enum import Enum

from callblocks.core.specs import ToolSpec
from callblocks.parsing.values.schema_shape import Schemas
from callblocks.parsing.values.typed import schema_of, types_of

__all__ = ("Certainty", "certainty", "types_for")

_STRING = {"type": "string"}
_WORDS = ("true", "false", "null", "none")


class Certainty(Enum):
    """Whether a value is a string: it is, it is not certain yet, or only its end will tell."""

    TEXT = "text"
    OPEN = "open"
    HELD = "held"


def types_for(spec: ToolSpec | None, key: str) -> set[str]:
    """Return the types that a parameter may have; none if nothing restricts them."""
    if spec is None:
        return set()
    schema = schema_of(spec, key)
    if schema == _STRING:
        return {"string"}
    try:
        plain = Schemas(spec.parameters).plain(schema)
    except (RecursionError, ValueError):
        return {"unknown"}
    return {name for one in plain for name in types_of(one)}


def certainty(types: set[str], begun: str, *, untyped_is_json: bool) -> Certainty:
    """Return what is certain of a value that begins like this; `types` is what may be read.

    `untyped_is_json`: without a type in the schema, text that is JSON is read as JSON.
    """
    if types <= {"string"} and (types or not untyped_is_json):
        return Certainty.TEXT
    if types and "string" not in types:
        return Certainty.HELD
    bare = begun.strip().lower()
    if not bare:
        return Certainty.OPEN
    if bare[0] in '[{"-0123456789':
        return Certainty.HELD
    return Certainty.OPEN if any(word.startswith(bare) for word in _WORDS) else Certainty.TEXT

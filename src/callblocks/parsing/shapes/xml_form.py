"""The form in which a dialect of tags writes its calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from callblocks.model.brief import brief
from callblocks.model.errors import Unwritable

__all__ = ("TYPES", "XmlForm", "as_text")

TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")


class XmlForm(NamedTuple):
    """The literals of a form. A pair is the text before and behind a name or a row.

    `shared`: adjacent calls stand in one wrapper. `marks`: the text behind a key that marks the
    type of its value, by JSON Schema type. `number`: the text between a call's name and its number,
    if calls are numbered.
    """

    head: tuple[str, str]
    end: str
    key: tuple[str, str]
    value_end: str
    wrapper: tuple[str, str] = ("", "")
    shared: bool = False
    marks: Mapping[str, str] = {}
    number: str = ""

    def opening(self, key: str, kind: str = "string") -> str:
        """Return the tag that opens an argument with a value of this type."""
        return f"{self.key[0]}{key}{self.marks.get(kind, '')}{self.key[1]}"

    def call(self, head: str, arguments: str, number: int) -> str:
        """Return one call without its end and its wrapper; `head` is its tag up to its name."""
        numbered = f"{self.number}{number}" if self.number else ""
        return f"{head}{numbered}{self.head[1]}{arguments}"

    def calls(self, calls: Sequence[str], *, ended: bool) -> str:
        """Return adjacent calls, in one shared wrapper or in one each."""
        rows = [calls] if self.shared else [[call] for call in calls]
        before, after = self.wrapper
        text = "".join(f"{before}{''.join(row)}{after}" for row in rows)
        return text if ended else text.removesuffix(after)


def as_text(dialect: str, value: Any) -> str:
    """Return a string unchanged, and any other value as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error

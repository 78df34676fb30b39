"""How a dialect of tags writes its calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from callblocks.model.brief import brief
from callblocks.model.errors import Unwritable

__all__ = ("TYPES", "XmlForm", "as_text")

TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")


class XmlForm(NamedTuple):
    """Each is a pair: what stands before and after. A tag's name stands between its own pair.

    With `shared`, calls that follow each other stand in one wrapper. `marks` are what follows a
    key to say the type of its value, by the name of the type in JSON Schema.
    """

    head: tuple[str, str]
    end: str
    key: tuple[str, str]
    value_end: str
    wrapper: tuple[str, str] = ("", "")
    shared: bool = False
    marks: Mapping[str, str] = {}

    @property
    def openings(self) -> list[str]:
        """What prose cannot hold: it would open a block."""
        head = self.head[0].split(" ", maxsplit=1)[0]
        return [text for text in dict.fromkeys((self.wrapper[0].strip(), head)) if text]

    def opening(self, key: str, kind: str = "string") -> str:
        """The tag that opens an argument whose value has this type."""
        return f"{self.key[0]}{key}{self.marks.get(kind, '')}{self.key[1]}"

    def argument(self, key: str, text: str, kind: str = "string") -> str:
        """One argument of a call."""
        return f"{self.opening(key, kind)}{text}{self.value_end}"

    def call(self, name: str, arguments: str, *, ended: bool) -> str:
        """One call, without its wrapper."""
        return f"{self.head[0]}{name}{self.head[1]}{arguments}{self.end if ended else ''}"

    def calls(self, calls: Sequence[tuple[str, bool]]) -> str:
        """Calls that follow each other, each with whether it has ended."""
        rows = [calls] if self.shared else [[call] for call in calls]
        before, after = self.wrapper
        return "".join(
            f"{before}{''.join(text for text, _ in row)}{after if row[-1][1] else ''}"
            for row in rows
        )


def as_text(dialect: str, value: Any) -> str:
    """A string as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error

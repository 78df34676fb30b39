"""The arguments of a call that is written as code: `query="tides", limit=3)`."""

from __future__ import annotations

import re
from typing import Any

from callblocks.parsing.repair.tolerant import Tolerant, Unrepairable

__all__ = ("read_keywords",)

_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_NEXT = re.compile(r"\s*(,\s*\)|,|\))")
_CLOSED = re.compile(r"\s*\)")


def read_keywords(text: str, depth: int) -> tuple[dict[str, Any], int]:
    """Read arguments up to the closing parenthesis; return them, and the position behind it."""
    # Values are read tolerantly, as JSON or Python literals. `_NEXT` also takes a comma right
    # before the closing parenthesis, which ends the loop.
    value: dict[str, Any] = {}
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    if closed := _CLOSED.match(text):
        return value, closed.end()
    at, after = 0, ","
    while after == ",":
        keyword = _KEYWORD.match(text, at)
        if keyword is None or keyword[1] in value:
            raise Unrepairable(f"no keyword at character {at + 1}")
        value[keyword[1]], end = tolerant.read(keyword.end())
        found = _NEXT.match(text, end)
        if found is None:
            raise Unrepairable(f"no comma or parenthesis at character {end + 1}")
        at, after = found.end(), found[1]
    return value, at

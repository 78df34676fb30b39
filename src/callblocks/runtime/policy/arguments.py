"""Argument values that a rule names, as the text that a pattern is matched against.

reach({"mail": {"to": "a@b.c"}}, "mail.to")   ["a@b.c"]
text_of({"n": [1, True, None]})               '{"n":[1,true,null]}'
"""

from __future__ import annotations

import json
from typing import cast

__all__ = ("reach", "text_of")


def reach(value: object, name: str) -> list[object]:
    """Return every value that a dotted name may denote, including a field whose name contains the
    dots.
    """
    if not isinstance(value, dict):
        return []
    fields = cast("dict[str, object]", value)
    # All readings count. If only one did, a model could choose the spelling that the rule misses.
    found = [fields[name]] if name in fields else []
    for at, char in enumerate(name):
        if char == "." and name[:at] in fields:
            found += reach(fields[name[:at]], name[at + 1 :])
    return found


def text_of(value: object) -> str | None:
    """Return text itself, other values as compact JSON; `None` for a value without such a form."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        # Not a JSON type, a cycle, keys of mixed types, or an integer with too many digits.
        return None

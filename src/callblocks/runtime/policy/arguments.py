"""The values of a call that a rule names, as the text that a pattern is held against.

reach({"mail": {"to": "a@b.c"}}, "mail.to")   ["a@b.c"]
text_of({"n": [1, True, None]})               '{"n":[1,true,null]}'
"""

from __future__ import annotations

import json
from typing import cast

__all__ = ("reach", "text_of")


def reach(value: object, name: str) -> list[object]:
    """Every value that a dotted name may mean: also the field whose name has the dots in it."""
    if not isinstance(value, dict):
        return []
    fields = cast("dict[str, object]", value)
    found = [fields[name]] if name in fields else []
    for at, char in enumerate(name):
        if char == "." and name[:at] in fields:
            found += reach(fields[name[:at]], name[at + 1 :])
    return found


def text_of(value: object) -> str | None:
    """The text itself, other values as compact JSON; `None` for what has no such form."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (RecursionError, TypeError, ValueError):
        # No JSON type, a circle, keys of mixed types, or a number of too many digits.
        return None

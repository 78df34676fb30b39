"""Names of tools, and suggestions for a misspelled one.

    file_read   rendering.write_pdf   create-file   mcp:search/web

Blanks and control characters are refused: a name appears in prompts, policies and approvals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ("close_to", "is_name", "listed")

_NAME = re.compile(r"\w[\w.:/-]{0,127}")
_COMPARED = 60
_LISTED = 20


# Strict, because a name that looks like another one would deceive a person who approves it.
def is_name(name: object) -> bool:
    """Return whether a tool may have this name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def close_to(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant; "" if none is near."""
    from difflib import get_close_matches

    by_lower = {one.lower(): one for one in known if len(one) <= _COMPARED}
    if len(name) > _COMPARED:
        return ""
    near = get_close_matches(name.lower(), list(by_lower)[:1000], n=1, cutoff=0.65)
    return by_lower[near[0]] if near else ""


def listed(names: Iterable[str]) -> str:
    """Return names for a message: `a, b, c`, and the number of the rest where they are many."""
    known = list(names)
    more = len(known) - _LISTED
    return ", ".join(known[:_LISTED]) + (f" and {more} more" if more > 0 else "")

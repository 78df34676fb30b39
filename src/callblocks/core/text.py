"""Short texts for messages: of any value, of many names, and the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

__all__ = (
    "brief",
    "close_to",
    "label_end",
    "listed",
)


def brief(value: object, width: int = 80) -> str:
    """Return a value in at most `width` characters; its type name if it has no `repr`.

    A value that is nested too deep, or a number of too many digits, has no `repr`.
    """
    try:
        said = repr(value)
    except (RecursionError, ValueError):
        said = f"<{type(value).__name__}>"
    return said[:width]


# Longer names are not compared; more names than these are counted.
_COMPARED = 60
_LISTED = 20


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


# --- The end of a link's label in Markdown, searched with a bounded number of steps ---
#
# For each `[`, markdown-it searches the matching `]` and parses everything between, with the links
# in it. A run of `[` is thus parsed up to a hundred times, 45 microseconds for each character. This
# replacement gives a paragraph a number of steps in proportion to its length. Once they are used
# up, a `[` in it is text; no paragraph for human readers needs as many.

# Steps for each character of a paragraph, and the minimum for a short one.
_EACH, _LEAST = 4, 500

# The key of the remaining steps in the state's cache, whose other keys are positions in the text.
_STEPS = -1


class _State(Protocol):
    """The fields of markdown-it's inline state that are used here."""

    src: str
    pos: int
    posMax: int
    cache: dict[int, int]
    md: Any


def label_end(state: _State, start: int, disableNested: bool = False) -> int:
    """Return the position of the `]` of the `[` at `start`, or -1; replaces `parseLinkLabel`."""
    before, cache = state.pos, state.cache
    cache.setdefault(_STEPS, _EACH * len(state.src) + _LEAST)
    level, end = 1, -1
    state.pos = start + 1
    while state.pos < state.posMax and cache[_STEPS] > 0:
        cache[_STEPS] -= 1
        at = state.pos
        mark = state.src[at]
        if mark == "]":
            level -= 1
            if level == 0:
                end = at
                break
        # Advances past a whole token (a link, a code span), so brackets inside of it are not
        # counted.
        state.md.inline.skipToken(state)
        if mark == "[":
            if state.pos == at + 1:
                # The bracket was parsed as text, so its `]` belongs to it.
                level += 1
            elif disableNested:
                break
    state.pos = before
    return end

"""The end of a link's label in Markdown, searched with a bounded number of steps.

The reader of Markdown looks for the `]` of each `[`. On its way it reads all that stands between,
with links in it, so a run of `[` is read up to sixty or a hundred times: 45 microseconds for each
character. Here a paragraph has some steps for each of its characters. Once they are used up, a `[`
in it is text: no paragraph that is meant to be read needs as many.
"""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ("label_end",)

_EACH, _LEAST = 4, 500
"""Steps for each character of a paragraph, and for a short one."""

_STEPS = -1
"""The key of the steps left in the state's cache, whose other keys are places in the text."""


class _State(Protocol):
    """The fields of markdown-it's state of a paragraph that are used here."""

    src: str
    pos: int
    posMax: int
    cache: dict[int, int]
    md: Any


def label_end(state: _State, start: int, disableNested: bool = False) -> int:
    """Return where the `]` of the `[` at `start` stands, or -1; the library's `parseLinkLabel`."""
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
        state.md.inline.skipToken(state)
        if mark == "[":
            if state.pos == at + 1:
                # The bracket is text, so its `]` belongs to it.
                level += 1
            elif disableNested:
                break
    state.pos = before
    return end

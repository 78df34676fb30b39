"""Call objects in a text that is over and is not quite JSON: each with what was wrong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from callblocks.model.calls import Span
from callblocks.parsing.repair.tolerant import Tolerant, Unrepairable

__all__ = ("Mended", "mend", "mend_value")

_FENCE = re.compile(r"`{3,}\w{0,20}")


class Mended(NamedTuple):
    """A value, its place, where the members of its objects stand, and what was repaired.

    `after` is where what belongs to it ends: the bracket of a row, a fence, the next object.
    """

    value: object
    start: int
    end: int
    after: int
    places: dict[int, dict[str, Span]]
    repairs: tuple[str, ...]


def mend(text: str, *, ended: bool, depth: int, in_array: bool) -> Iterator[Mended]:
    """Read the objects of a row, one by one; raise `Unrepairable` at one that cannot be read."""
    inside = "[" if in_array else ""
    tolerant = Tolerant(text, ended=ended, max_depth=depth + len(inside), inside=inside)
    at = tolerant.solid(0)
    fence = _FENCE.match(text, at)
    if fence:
        tolerant.note("repaired-fence")
        at = tolerant.solid(fence.end())
    if not in_array and text[at : at + 1] == "[":
        in_array, at = True, tolerant.solid(at + 1)
        tolerant.enter("[")
    more = True
    while more:
        if text[at : at + 1] != "{":
            raise Unrepairable("an object was expected")
        value, end = tolerant.read(at)
        after, more = _next(tolerant, end, in_array)
        if not more and fence and (closing := _FENCE.match(text, tolerant.solid(after))):
            after = closing.end()
        yield Mended(value, at, end, after, tolerant.members, tuple(tolerant.repairs))
        tolerant.repairs.clear()
        at = after


def _next(tolerant: Tolerant, end: int, in_array: bool) -> tuple[int, bool]:
    """Where the next object stands, or where the row ends if there is none."""
    text, at = tolerant.text, tolerant.solid(end)
    char = text[at : at + 1]
    if char in (",", ";"):
        after = tolerant.solid(at + 1)
        if text[after : after + 1] == "{":
            return after, True
        at, char, end = after, text[after : after + 1], at + 1
        tolerant.note("repaired-commas")
    elif char == "{" and not in_array:
        return at, True
    if not in_array:
        return end, False
    if char == "]":
        return at + 1, False
    tolerant.note("repaired-closing")
    return end, False


def mend_value(text: str, *, ended: bool, depth: int) -> Mended:
    """Read the value that a text begins with, also in a fence, or raise `Unrepairable`."""
    tolerant = Tolerant(text, ended=ended, max_depth=depth)
    at = tolerant.solid(0)
    fence = _FENCE.match(text, at)
    if fence:
        tolerant.note("repaired-fence")
        at = tolerant.solid(fence.end())
    value, end = tolerant.read(at)
    closing = fence and _FENCE.match(text, tolerant.solid(end))
    after = closing.end() if closing else end
    return Mended(value, at, end, after, tolerant.members, tuple(tolerant.repairs))

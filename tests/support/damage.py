"""Texts with one fault: what is damaged, and where their calls stand then.

`damages` changes one character. `faults` changes all of the markup of a text one place after the
other: each character, each tag or sign as a whole, and each two of them that stand side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from callblocks.core.calls import Call, Span
from callblocks.core.events import Event, Malformed, Problem

__all__ = ("Damage", "damages", "faults", "leaves", "place_of", "tags_in", "touches")

_TOKEN = re.compile(r"\]<\]minimax\[>\[</?[^<>\n]*>|</?[^<>\n]*>|[^\W\d_]+|\d+|[^\w\s]|_")
_TAG = re.compile(r"\]<\]minimax\[>\[</?[^<>\n]*>|</?[^<>\n]*>|\[/?[A-Z_]+\]|```\w*|>>>")


class Damage(NamedTuple):
    """A text in which the characters from `start` to `end` were replaced."""

    text: str
    start: int
    end: int
    longer: int

    @staticmethod
    def of(text: str, start: int, end: int, instead: str) -> Damage:
        """Replace a part of a text."""
        damaged = text[:start] + instead + text[end:]
        return Damage(damaged, start, end, len(damaged) - len(text))

    def moved(self, span: Span) -> Span:
        """Where a place of the text is now."""
        start, end = (
            offset if offset <= self.start else max(self.start, offset + self.longer)
            for offset in span
        )
        return start, end


def damages(text: str, at: int) -> Iterator[Damage]:
    """Drop, double and replace one character."""
    other = "y" if text[at] == "x" else "x"
    for instead in ("", text[at] * 2, other):
        yield Damage.of(text, at, at + 1, instead)


def faults(text: str, calls: Sequence[Call]) -> Iterator[Damage]:
    """Damage the markup around the names, keys and values of calls."""
    kept = {at for hit in _words(calls).finditer(text) for at in range(*hit.span())}
    tokens = [
        span for hit in _TOKEN.finditer(text) if not kept.issuperset(range(*(span := hit.span())))
    ]
    for start, end in tokens:
        if end - start > 1:
            yield Damage.of(text, start, end, "")
            yield Damage.of(text, start, end, text[start:end] * 2)
        for at in range(start, end):
            if at not in kept:
                yield from damages(text, at)
    for (start, end), (after, last) in pairwise(tokens):
        if kept.isdisjoint(range(end, after)):
            yield Damage.of(text, start, last, "")


def _words(calls: Sequence[Call]) -> re.Pattern[str]:
    """Match the names, keys and values of calls, whatever stands between the words of a value."""
    found = {call.name for call in calls} | {word for call in calls for word in leaves(call.input)}
    rows = (re.findall(r"\w+", word) for word in sorted(found, key=len, reverse=True))
    joined = (r"(?:\\{1,2}n|[^\w])+".join(row) for row in rows)
    return re.compile("|".join(rf"(?<![\w.]){row}(?![\w])" for row in joined), re.IGNORECASE)


def leaves(value: Any) -> Iterator[str]:
    """Yield the keys and the plain values in a value, as text."""
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield key
            yield from leaves(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from leaves(one)
    else:
        yield str(value)


def tags_in(text: str) -> set[str]:
    """The tags and markers of a text, but for single signs."""
    return set(_TAG.findall(text))


def place_of(event: Event) -> Span | None:
    """Where what a problem is about stands; None for other events."""
    match event:
        case Problem(place=place):
            return place
        case Malformed(text=text, span=(start, end)):
            return min(start, end - len(text)), end
        case _:
            return None


def touches(one: Span, other: Span) -> bool:
    """Whether two places overlap or stand side by side."""
    return one[0] <= other[1] and other[0] <= one[1]

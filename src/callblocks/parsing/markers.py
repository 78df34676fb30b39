"""Markers, and how to see one coming in text that arrives in pieces.

A marker is a literal, or a `Shape`: a row of regex atoms matched one after the other. From
its atoms a marker gets two patterns:

- *growing*, for text that goes on: `a(?:b(?:c()|\\Z)|\\Z)` also matches where the text stops
  inside the marker, so one search tells the three cases apart: no marker, a marker (its
  empty group took part), or something that may still become one;
- *final*, for text that is over: `abc()`.

Where two markers begin at the same place the longer one is tried first, so that `<` waits
while `<<` is still possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

__all__ = ("Markers", "Shape", "line")

NEVER = "(?!)"
INDENT = " {0,3}"


class Shape(NamedTuple):
    """A marker of regex atoms. With `at_line_start`, the newline before it is part of it.

    The last atom has one length: after a longer run it would not be known where the marker ends.
    """

    atoms: tuple[str, ...]
    at_line_start: bool = False


def line(literal: str, *atoms: str, indent: str = INDENT) -> Shape:
    """A marker that begins a line: a literal, then atoms, after a little indentation."""
    return Shape((indent, *map(re.escape, literal), *atoms), at_line_start=True)


class Markers:
    """A set of markers, prepared once and shared."""

    def __init__(self, *markers: str | Shape) -> None:
        shapes = [m if isinstance(m, Shape) else Shape(tuple(map(re.escape, m))) for m in markers]
        self.shapes = sorted(shapes, key=lambda shape: len(shape.atoms), reverse=True)

    @cached_property
    def growing(self) -> re.Pattern[str]:
        return _compiled(_growing(_with_newline(shape)) for shape in self.shapes)

    @cached_property
    def here(self) -> re.Pattern[str]:
        """The growing pattern for text that begins right where a marker may stand.

        It always matches: with a group, unless a marker may still come to stand there.
        """
        return re.compile(f"{self.growing.pattern}|()")

    @cached_property
    def final(self) -> re.Pattern[str]:
        return _compiled(_final(_with_newline(shape)) for shape in self.shapes)

    @cached_property
    def fresh(self) -> re.Pattern[str] | None:
        """The growing pattern of the line markers, for text that begins at a line start."""
        shapes = [shape.atoms for shape in self.shapes if shape.at_line_start]
        return re.compile("|".join(map(_growing, shapes))) if shapes else None

    @cached_property
    def fresh_final(self) -> re.Pattern[str] | None:
        shapes = [shape.atoms for shape in self.shapes if shape.at_line_start]
        return re.compile("|".join(map(_final, shapes))) if shapes else None


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or NEVER)


def _with_newline(shape: Shape) -> tuple[str, ...]:
    return ("\\n", *shape.atoms) if shape.at_line_start else shape.atoms


def _growing(atoms: tuple[str, ...]) -> str:
    pattern, rest = NEVER, "()"
    for is_literal, row in reversed([(one, [*row]) for one, row in groupby(atoms, _is_literal)]):
        # A run of letters is tried as a whole first: most of it was looked at before.
        for letters in [row] if is_literal else ([atom] for atom in reversed(row)):
            whole = "".join(letters) + rest
            pattern = f"(?:{whole}|{_begun(letters)})" if len(letters) > 1 else whole
            rest = _or_end(pattern, letters[0])
    return pattern


def _or_end(pattern: str, first: str) -> str:
    """A pattern that begins with this atom, or the end of the text.

    The end is looked for last where the atom cannot stand there: that is quicker.
    """
    return f"(?:{pattern}|\\Z)" if _needs_text(first) else f"(?:\\Z|{pattern})"


def _begun(letters: Sequence[str]) -> str:
    """Some of the letters but not all, and then the end of the text."""
    pattern = "\\Z"
    for letter in reversed(letters[1:-1]):
        pattern = f"(?:{letter}{pattern}|\\Z)"
    return letters[0] + pattern


def _is_literal(atom: str) -> bool:
    return re.escape(atom[-1:]) == atom


@lru_cache(maxsize=1024)
def _needs_text(atom: str) -> bool:
    return re.match(atom, "") is None


def _final(atoms: tuple[str, ...]) -> str:
    return "".join(atoms) + "()"

"""Markers, and how to see one coming in text that arrives in pieces.

A marker is a literal, or a `Shape`: a row of regex atoms matched one after the other. From
its atoms a marker gets two patterns:

- *growing*, for text that goes on: `a(?:b(?:c()|\\Z)|\\Z)` also matches where the text stops
  inside the marker, so one search tells the three cases apart: no marker, a marker (its
  empty group took part), or something that may still become one;
- *final*, for text that is over: `abc()`.

A newline in a marker is also met as CRLF: what ends its lines in two characters is read as what
ends them in one, and nobody who asks for a marker need know of it. What is given is as it stands
in the text.

Where two markers begin at the same place the longer one is tried first, so that `<` waits
while `<<` is still possible. Markers that begin alike are tried as one: there may be hundreds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

__all__ = ("TEXT_START", "Markers", "Shape", "alternatives", "line", "without_ahead")

NEVER = "(?!)"
_NEWLINE = r"\n"
_NEWLINES = (_NEWLINE, re.escape("\n"))
_NAMED = {_NEWLINE: "\n", r"\r": "\r"}
_CRLF = {_NEWLINE: (r"\r?", _NEWLINE)}
INDENT = " {0,3}"
_NAMED_AT_MOST = 4
_LETTER = re.compile(r"\\?(\W|(?<!\\)\w)|\[(\w)\w\]", re.DOTALL)
# The first atom of a marker that begins a line only where no other line is before it.
TEXT_START = "(?<!\n)"


class Shape(NamedTuple):
    """A marker of regex atoms. With `at_line_start`, the newline before it is part of it.

    The last atom has one length: after a longer run it would not be known where the marker ends.
    `ahead` are rows of atoms: where there are any, one of them must follow the marker, and is no
    part of it. Like the marker itself it may still be growing when the text stops.
    """

    atoms: tuple[str, ...]
    at_line_start: bool = False
    ahead: tuple[tuple[str, ...], ...] = ()


def line(literal: str, *atoms: str, indent: str = INDENT) -> Shape:
    """A marker that begins a line: a literal, then atoms, after a little indentation."""
    return Shape((indent, *map(re.escape, literal), *atoms), at_line_start=True)


def without_ahead(marker: str | Shape) -> str | Shape:
    """Return a marker without what must follow it."""
    return marker._replace(ahead=()) if isinstance(marker, Shape) else marker


class Markers:
    """A set of markers, prepared once and shared; `what` says in words what they are.

    Nothing is prepared before it is asked for: with all dialects there are thousands of sets, and
    most texts need a few of them.
    """

    def __init__(self, *markers: str | Shape, what: str = "") -> None:
        self._markers = markers
        self._what = what

    @cached_property
    def _given(self) -> list[Shape]:
        escape, markers = re.escape, self._markers
        return [m if isinstance(m, Shape) else Shape(tuple(map(escape, m))) for m in markers]

    @cached_property
    def shapes(self) -> list[Shape]:
        """The markers as atoms, the longest first."""
        return sorted(self._given, key=lambda shape: len(shape.atoms), reverse=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The markers as people write them, or what they are in words."""
        if self._what:
            return (self._what,)
        written = map(_as_written, self._given)
        return tuple(dict.fromkeys(f"`{text}`" for text in written if text))

    def may_begin(self, text: str, fresh: bool) -> bool:
        """Return whether a marker may begin with this text, at the start of a line or not."""
        # Most are known by a letter; to compile the patterns of all dialects takes much longer.
        letters, is_sure = self._firsts
        if (not is_sure or re.escape(text[0]) in letters) and self.growing.match(text):
            return True
        return bool(fresh and self.fresh and self.fresh.match(text))

    @cached_property
    def _firsts(self) -> tuple[set[str], bool]:
        """The letters that they begin with, and whether all begin with a letter."""
        firsts = {row[0] for row in _with_newlines(self.shapes)}
        letters = set(filter(_is_letter, firsts))
        # A newline is written as an escape, and not as the letter that it is.
        letters |= {re.escape(_NAMED[first]) for first in firsts & _NAMED.keys()}
        return letters, firsts <= letters | _NAMED.keys()

    @cached_property
    def growing(self) -> re.Pattern[str]:
        return _compiled(_with_newlines(self.shapes), growing=True)

    @cached_property
    def here(self) -> re.Pattern[str]:
        """The growing pattern for text that begins right where a marker may stand.

        It always matches: with a group, unless a marker may still come to stand there.
        """
        return re.compile(f"{self.growing.pattern}|()")

    @cached_property
    def final(self) -> re.Pattern[str]:
        return _compiled(_with_newlines(self.shapes), growing=False)

    @cached_property
    def fresh(self) -> re.Pattern[str] | None:
        """The growing pattern of the line markers, for text that begins at a line start."""
        return _compiled(shapes, growing=True) if (shapes := self._of_lines) else None

    @cached_property
    def fresh_final(self) -> re.Pattern[str] | None:
        return _compiled(shapes, growing=False) if (shapes := self._of_lines) else None

    @property
    def _of_lines(self) -> list[tuple[str, ...]]:
        """The atoms of those that begin a line, without the newline before it."""
        shapes = (shape for shape in self.shapes if shape.at_line_start)
        return list(_with_newlines(shape._replace(at_line_start=False) for shape in shapes))


class _Ahead(str):
    """The last atom of a row: what must follow it, as rows of atoms of their own.

    As a string it is the lookahead for text that is over, which tells it from other atoms.
    """

    __slots__ = ("rows",)

    rows: tuple[tuple[str, ...], ...]

    def __new__(cls, rows: tuple[tuple[str, ...], ...]) -> _Ahead:
        made = super().__new__(cls, f"(?={_choice(list(rows), growing=False)})")
        made.rows = rows
        return made

    def pattern(self, growing: bool) -> str:
        """Return a lookahead; the group that says that the marker is certain is inside of it."""
        return f"(?={_choice(list(self.rows), growing)})"


def _compiled(rows: Iterable[tuple[str, ...]], *, growing: bool) -> re.Pattern[str]:
    return re.compile(_choice(list(rows), growing) or NEVER)


def _with_newlines(shapes: Iterable[Shape]) -> Iterator[tuple[str, ...]]:
    """The atoms of each, and again for those that begin with a newline, with CRLF for it.

    A choice of first letters is quick to search for; an optional first letter would not be.
    """
    for shape in shapes:
        atoms = (_NEWLINE, *shape.atoms) if shape.at_line_start else shape.atoms
        if shape.ahead:
            atoms = (*atoms, _Ahead(shape.ahead))
        first, *rest = (_NEWLINE if atom in _NEWLINES else atom for atom in atoms)
        others = [part for atom in rest for part in _CRLF.get(atom, (atom,))]
        if first == _NEWLINE:
            yield (r"\r", first, *others)
        yield (first, *others)


def _choice(rows: list[tuple[str, ...]], growing: bool) -> str:
    """One of the rows of atoms; rows that begin alike share their beginning, to be tried once."""
    rests: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in rows:
        rests.setdefault(first, []).append(tuple(rest))
    return "|".join(_branch(first, rest, growing) for first, rest in rests.items())


def _branch(first: str, rests: list[tuple[str, ...]], growing: bool) -> str:
    if isinstance(first, _Ahead):
        return first.pattern(growing)
    run = [first]
    while _share_letter(run, rests):
        run.append(rests[0][0])
        rests = [rest[1:] for rest in rests]
    whole = "".join(run) + _after(rests, growing)
    # A run of letters is tried as a whole first: most of it was looked at before.
    return f"(?:{whole}|{_begun(run)})" if growing and len(run) > 1 else whole


def _share_letter(run: Sequence[str], rests: Sequence[tuple[str, ...]]) -> bool:
    """Whether a run of letters goes on with one letter in all the rows."""
    letters = {rest[0] if rest else "" for rest in rests}
    return len(letters) == 1 and all(map(_is_letter, (*run[-1:], *letters)))


def _after(rests: Sequence[tuple[str, ...]], growing: bool) -> str:
    """What may follow: the rest of a row, or, where that has none, nothing."""
    longer = [rest for rest in rests if rest]
    if not longer:
        return "()"
    choices, ends = [_choice(longer, growing)], ["()"] if len(longer) < len(rests) else []
    if growing:
        # The end is looked for last where no row can go on there: that is quicker.
        choices.insert(all(_needs_text(rest[0]) for rest in longer), "\\Z")
    return f"(?:{'|'.join([*choices, *ends])})"


def _begun(letters: Sequence[str]) -> str:
    """Some of the letters but not all, and then the end of the text."""
    pattern = "\\Z"
    for letter in reversed(letters[1:-1]):
        pattern = f"(?:{letter}{pattern}|\\Z)"
    return letters[0] + pattern


def _is_letter(atom: str) -> bool:
    return bool(atom) and re.escape(atom[-1:]) == atom


def alternatives(wanted: Iterable[Markers | str]) -> str:
    """Say in words what was wanted: markers as they are written, or what they are."""
    sets = [(one,) if isinstance(one, str) else one.names for one in wanted]
    each = max(1, _NAMED_AT_MOST // max(1, len(sets)))
    names = list(dict.fromkeys(name for one in sets for name in one[:each]))
    more = len({name for one in sets for name in one}) - len(names)
    last = f"{more} other{'s' * (more > 1)}" if more else names.pop() if names else ""
    return f"{', '.join(names)} or {last}" if names else last


def _as_written(shape: Shape) -> str:
    """A marker as people write it: `…` stands for what may vary."""
    shown = (_shown_atom(atom) for atom in shape.atoms)
    return re.sub("…+", "…", "".join(shown)).strip(" ")


def _shown_atom(atom: str) -> str:
    if atom in _NEWLINES:
        return "\n"
    letter = _LETTER.fullmatch(atom)
    if letter:
        return letter[1] or letter[2]
    is_empty = atom.startswith("(?") or re.fullmatch(atom, "") is not None
    return "" if is_empty else "…"


@lru_cache(maxsize=1024)
def _needs_text(atom: str) -> bool:
    return re.match(atom, "") is None

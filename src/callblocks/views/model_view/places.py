r"""Where the sign of neutral text goes: into all that could open a block, in any dialect.

    <␛tool>  `␛``tool  A␛ction:     a marker: after its first character, blanks aside
    ␛@name                           a marker that is one character: in front of it
    {␛"name": …  [␛{  [␛ping()]      a bracket: where a call could begin with it

The markers are those that the dialects name for any setting, those around reasoning, those that
end a turn, and what is reserved. A dialect that is added later is covered: the rows are made of its
own table. A bracket or a brace that opens calls without any marker stands in every text. Of these
only such are rows as the dialect could read: JSON at the start of a line, or what its keys say that
a call begins with.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product

from callblocks.dialects import dialects
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.json_start import BARE
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.shapes.json_calls import JsonCalls
from callblocks.views.model_view.reserved import RESERVED

__all__ = ("ESCAPE", "openers", "places")

ESCAPE = "␛"
"""The sign."""

# What the view puts after a text: a marker must not be completed by it, nor by what follows.
_AFTER = "\n["
_OVER = re.escape(_AFTER)
_SOLID = "".join(char for char in string.printable if not char.isspace())
# What begins JSON behind a bracket.
_JSON = {
    "{": f'\\s*(?:["}}]|{_OVER})',
    "[": f'\\s*(?:[\\[\\]{{"\\d-]|true|false|null|{_OVER})',
}


def places(solid: str, fresh: bool) -> list[int]:
    """Where a sign goes into a text that has none, in order; `fresh`: it begins a line."""
    # The character before the text counts as one: an end of line, or the blank after a label.
    whole = ("\n" if fresh else " ") + solid + _AFTER
    found = {hit.end() - 1 for pattern in _patterns() for hit in pattern.finditer(whole)}
    return sorted(place for place in found if place <= len(solid))


@cache
def openers() -> tuple[str | Shape, ...]:
    """Every marker that is neutralised: what opens a block in any setting, and what is reserved."""
    settings = [Setting(*flags) for flags in product((True, False), repeat=len(Setting._fields))]
    of_dialects = (
        row
        for dialect in dialects.values()
        for setting in settings
        for opener in dialect.openers(setting)
        for row in _rows(dialect, opener)
    )
    thoughts = (marker for one in dialects.values() for pair in one.reasoning for marker in pair)
    ends = (token for one in dialects.values() for token in one.turn_ends)
    return tuple(dict.fromkeys((*of_dialects, *thoughts, *ends, *RESERVED)))


def _rows(dialect: Dialect, opener: str | Shape) -> Iterator[str | Shape]:
    """The opener itself, or a row for each bracket that is one."""
    if isinstance(opener, str):
        yield opener
        return
    starts = "\n" if opener.at_line_start else ""
    pattern = Markers(opener).final
    brackets = [bracket for bracket in "[{" if pattern.match(starts + bracket)]
    if not brackets:
        yield opener
        return
    for bracket in brackets:
        after = _JSON[bracket] if opener == BARE else _call(dialect, bracket)
        yield Shape((*opener.atoms[:-1], re.escape(bracket), after), opener.at_line_start)


def _call(dialect: Dialect, bracket: str) -> str:
    """What follows a bracket that begins a call; nothing is known of most dialects."""
    if not isinstance(dialect, JsonCalls) or (bracket == "{" and dialect.natural):
        return ""
    if bracket == "[":
        return f"\\s*(?:\\{{|{_OVER})"
    keys = dialect.keys.known
    # A key may be written with escapes.
    escaped = f'[^"\\\\]{{0,{max(map(len, keys))}}}\\\\'
    return f'\\s*(?:"(?:(?:{_choice(map(re.escape, keys))})"|{escaped})|{_OVER})'


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Each matches up to the character after which the sign goes, where all of a marker follows."""
    plain: dict[str, set[str]] = {}
    others: set[str] = set()
    fronts: set[str] = set()
    # Those without blanks come first: what they have anywhere need not be looked for in lines.
    for lead, first, rest in sorted(map(_parts, openers())):
        if lead and re.fullmatch(rest, ""):
            fronts.add(f"(?={lead}{first})[\\s\\S]")
        elif not lead and first == re.escape(first[-1]):
            plain.setdefault(first, set()).add(rest)
        elif rest not in plain.get(first, ()):
            others.add(f"{lead}(?={first}{rest})[\\s\\S]")
    # Every choice begins with its own character: the search then skips all other text fast.
    choices = [f"{first}(?={_choice(rests)})" for first, rests in plain.items()]
    return tuple(re.compile("|".join(sorted(rows))) for rows in (choices, others, fronts) if rows)


def _choice(patterns: Iterable[str]) -> str:
    return "|".join(sorted(patterns, key=lambda pattern: (len(pattern), pattern)))


def _parts(opener: str | Shape) -> tuple[str, str, str]:
    """The blanks that a marker begins with, its first atom that is none, and the rest."""
    atoms = list(map(re.escape, opener) if isinstance(opener, str) else opener.atoms)
    lead = "\\n" if isinstance(opener, Shape) and opener.at_line_start else ""
    while len(atoms) > 1 and _is_blank(atoms[0]):
        lead += atoms.pop(0)
    return lead, atoms[0], _rest(atoms[1:])


def _rest(atoms: Sequence[str]) -> str:
    """These atoms; where one of them may go on beyond the text, other text may bring the rest."""
    rest = ""
    for atom in reversed(atoms):
        # All that stands there may be signs, which are left out where markers are looked for.
        here = f"(?:{atom})?" if re.fullmatch(atom, ESCAPE) else atom
        goes_on = rest and re.fullmatch(atom, _AFTER)
        rest = f"{here}(?:{rest}|(?<={_OVER}))" if goes_on else here + rest
    return rest


def _is_blank(atom: str) -> bool:
    pattern = re.compile(atom)
    return any(map(pattern.fullmatch, ("", " ", "\n"))) and not any(map(pattern.fullmatch, _SOLID))

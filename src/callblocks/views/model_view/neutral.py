"""Text of unknown origin in a text for models: no marker in it opens anything.

    <tool>ls()</tool>          <␛tool>ls()</tool>
    a line, then ```tool       a line, then ␛```tool
    [TOOL RESULT x].result     [␛TOOL RESULT x].result

The sign `␛` is put in after the first character of every marker: of all dialects (their own
tables say which), and of `reserved`. For a marker that begins a line that first character is the
end of the line before. The sign can be seen, so a model that copies it does so for all to see, and
no filter for invisible characters takes it out. It stands in no encoding that damages markers.

Where markers begin is judged as if no `␛` were in the text, so it is the same before and after,
and undoing is exact for every text: where a text already has the sign, it has one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate, pairwise, product

from callblocks.dialects import dialects
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import TEXT_START, Markers, Shape
from callblocks.views.model_view.reserved import RESERVED

__all__ = ("ESCAPE", "ESCAPE_NOTE", "is_marker", "neutralize", "openers", "restore")

ESCAPE = "␛"
ESCAPE_NOTE = (
    f"In what tools, files and people say, the sign {ESCAPE} was put into everything that looks "
    f"like a marker of this conversation. It is no part of the text: leave it out when you quote."
)
"""What a model is to be told once, where it is given such texts."""

# What the view puts after a text: a marker must not be completed by it.
_AFTER = "\n["
# Links, lists, objects, tags and fences.
_ANY_TEXT = (
    "[x](y)",
    "[1, 2]",
    '[{"a": 1}]',
    '{"a": 1}',
    "{'a': 1}",
    "{x}",
    "<b>x",
    "```\n",
    "```json\n",
)


def neutralize(text: str, *, fresh: bool = True) -> str:
    """The text with a sign in every marker; `fresh` says that it is put at the start of a line."""
    solid, signs = _apart(text)
    marked = _marked(solid, fresh)
    if not marked:
        return text
    return _woven(solid, sorted([*signs, *marked]))


def restore(text: str, *, fresh: bool = True) -> str:
    """The text that `neutralize` was given, with the same `fresh`."""
    solid, signs = _apart(text)
    if not signs:
        return text
    marked = set(_marked(solid, fresh))
    # Signs at one place stand side by side: the first of them goes.
    pairs = pairwise((-1, *signs))
    return _woven(solid, [sign for last, sign in pairs if sign == last or sign not in marked])


@cache
def openers() -> tuple[str | Shape, ...]:
    """Every marker that is neutralised: what opens a block in any setting, and what is reserved.

    A bare bracket in the middle of a line is none, nor is a bare name: text is full of them, and
    who guesses the dialect opens nothing there.
    """
    settings = [Setting(*flags) for flags in product((True, False), repeat=2)]
    of_dialects = (
        opener
        for dialect in dialects.values()
        for setting in settings
        for opener in dialect.openers(setting)
        if is_marker(opener)
    )
    thoughts = (marker for one in dialects.values() for pair in one.reasoning for marker in pair)
    ends = (token for one in dialects.values() for token in one.turn_ends)
    return tuple(dict.fromkeys((*of_dialects, *thoughts, *ends, *RESERVED)))


def is_marker(opener: str | Shape) -> bool:
    """Whether it begins a line, or is something that not any text has."""
    if isinstance(opener, Shape) and opener.atoms[0] == TEXT_START:
        return False
    pattern = Markers(opener).final
    if isinstance(opener, Shape) and opener.at_line_start:
        # What begins lines before a bracket begins its own line too. Any line may begin with a tag.
        return not any(pattern.match(text) for text in ("\n\n[", "\n\n{", "\n<b>"))
    return not any(pattern.match(text) for text in _ANY_TEXT)


def _apart(text: str) -> tuple[str, list[int]]:
    """The text without signs, and where they stood in it."""
    if ESCAPE not in text:
        return text, []
    pieces = text.split(ESCAPE)
    return "".join(pieces), list(accumulate(map(len, pieces[:-1])))


def _woven(solid: str, signs: list[int]) -> str:
    return ESCAPE.join(solid[start:end] for start, end in pairwise((0, *signs, len(solid))))


def _marked(solid: str, fresh: bool) -> list[int]:
    """The places right after the first character of a marker, each once, in order."""
    # The character before the text counts as one: an end of line, or the blank after a label.
    whole = ("\n" if fresh else " ") + solid + _AFTER
    found = [hit.start() for pattern in _patterns() for hit in pattern.finditer(whole)]
    return sorted({place for place in found if place <= len(solid)})


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Each matches the first character of a marker, where all of the marker follows."""
    plain: dict[str, set[str]] = {}
    others: list[str] = []
    for first, *rest in map(_atoms, openers()):
        if first == re.escape(first[-1]):
            plain.setdefault(first, set()).add("".join(rest))
        else:
            others.append(f"(?={first}{''.join(rest)})[\\s\\S]")
    # Every choice begins with its own character: the search then skips all other text fast.
    choices = [f"{first}(?={_choice(rests)})" for first, rests in plain.items()]
    return tuple(re.compile("|".join(rows)) for rows in (choices, others) if rows)


def _choice(patterns: Iterable[str]) -> str:
    return "|".join(sorted(patterns, key=lambda pattern: (len(pattern), pattern)))


def _atoms(opener: str | Shape) -> Iterator[str]:
    if isinstance(opener, str):
        return map(re.escape, opener)
    return iter(("\\\n", *opener.atoms) if opener.at_line_start else opener.atoms)

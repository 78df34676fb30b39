r"""The state table of `PythonScan`: a place is a state between two characters.

It covers the Python that models write in calls: strings in any quotes, numbers, words, lists,
tuples, sets, dictionaries, `name=value` and `**{…}`. Anything else halts the scan at once, so that
prose is not taken for a call.

Columns: the place (`_`: blanks are skipped there), where it is, the characters that lead on.

    calls _        in the list of calls      ] or a name
    name           in a called name          letters, digits, . - and (
    after call _   after a call in the list  , ]
    item _         after ( [ { or ,          a value, or a closing bracket
    value _        after = or :              a value
    word           in a word                 letters, digits, . - or it ends
    after word _   after a word              = : , and closing brackets
    after _        after a value             : , and closing brackets
    joined _       after a string            the same, or another string
    number         in a number               digits, letters, . _ or it ends
    e              after its e or E          + - or on as a number
    star, stars    after * and **            * and {
    quote          after an opening quote    the same quote, or on as a string
    quotes         after two of them         a third, or the string was empty
    string         in a string               any character, \ and its quote
    block          in a triple-quoted one    any character, \ and its quote
    one, two       after quotes in it        the same quote, or on as before
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = ("AFTER", "AFTER_CALL", "CALLS", "ITEM", "START", "STRINGS", "Note", "Place")

# The message of a step to the scan: a bracket opens or closes, or a sign is allowed only directly
# in some brackets.
Note: TypeAlias = Literal["", "open", "close", "equals", "colon", "star"]


class Place:
    """A state: the runs that it consumes, the characters that lead on, and its fallbacks."""

    __slots__ = ("run", "skip", "steps", "then")

    def __init__(self, run: str = "(?!)") -> None:
        self.run = re.compile(run, re.DOTALL).match
        self.steps: dict[str, tuple[Place, Note]] = {}
        # The place that reads the same character if this one cannot.
        self.then: Place | None = None
        # The place after any one character.
        self.skip: Place | None = None

    def lead(self, chars: str, to: Place, note: Note = "") -> None:
        self.steps.update(dict.fromkeys(chars, (to, note)))


_BLANKS = r"[ \t\r\n]++"
_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

START, CALLS, ITEM, VALUE, AFTER_CALL = (Place(_BLANKS) for _ in range(5))
AFTER, AFTER_WORD, JOINED = (Place(_BLANKS) for _ in range(3))
NAME, WORD = (Place(r"[\w.-]++") for _ in range(2))
NUMBER = Place(r"[0-9A-DF-Za-df-z_.]++")
E, STAR, STARS = Place(), Place(), Place()


def _lead_values() -> None:
    START.lead("(", ITEM, "open")
    START.lead("[", CALLS, "open")
    CALLS.lead(_LETTERS, NAME)
    NAME.lead("(", ITEM, "open")
    for place in (ITEM, VALUE):
        place.lead("([{", ITEM, "open")
        place.lead(_LETTERS, WORD)
        place.lead(_DIGITS + "+-.", NUMBER)
    ITEM.lead("*", STAR, "star")
    STAR.lead("*", STARS)
    STARS.lead("{", ITEM, "open")
    NUMBER.lead("eE", E)
    E.lead("+-", NUMBER)
    WORD.then, NUMBER.then, E.then, JOINED.then = AFTER_WORD, AFTER, NUMBER, AFTER


def _lead_signs() -> None:
    for place in (CALLS, ITEM, AFTER, AFTER_WORD, AFTER_CALL):
        place.lead(")]}", AFTER, "close")
    for place in (AFTER, AFTER_WORD):
        place.lead(",", ITEM)
        place.lead(":", VALUE, "colon")
    AFTER_CALL.lead(",", CALLS)
    AFTER_WORD.lead("=", VALUE, "equals")


def _lead_strings() -> dict[Place, Callable[[str], re.Match[str] | None]]:
    strings: dict[Place, Callable[[str], re.Match[str] | None]] = {}
    for mark in "'\"":
        first, second, one, two, escape, escaped = (Place() for _ in range(6))
        plain = rf"[^{mark}\\]"
        run = rf"{plain}++(?:\\.{plain}*+){{0,1000}}"
        string, block = Place(run), Place(run)
        for place in (ITEM, VALUE, JOINED):
            place.lead(mark, first)
        first.lead(mark, second)
        second.lead(mark, block)
        string.lead(mark, JOINED)
        block.lead(mark, one)
        one.lead(mark, two)
        two.lead(mark, JOINED)
        first.then, second.then, one.then, two.then = string, JOINED, block, block
        string.lead("\\", escape)
        block.lead("\\", escaped)
        escape.skip, escaped.skip = string, block
        # A search with the interface of a marker: a quote is a hit; a backslash at the end of the
        # piece may still grow; a backslash before a quote or a backslash needs the scan itself.
        stop = re.compile(rf"[\\{mark}](?:(?<={mark})()|\Z|(?=[\\'\"])())").search
        strings |= {string: stop, block: stop}
    return strings


_lead_values()
_lead_signs()
# The places inside of a string, each with a fast search for where the string may end.
STRINGS = _lead_strings()

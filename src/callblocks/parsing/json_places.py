r"""The state table of `JsonScan`: a place is a state between two characters.

Columns: the place (`_`: blanks are skipped there), where it is, and the characters that lead on.
Any other character halts the scan, at `tail` as stopped, elsewhere as broken.

    start _        before the value          [ {
    first item _   after [                   ] or a value
    item _         after , or :              a value: [ { " - 0-9 t f n
    first key _    after {                   } or "
    key _          after , in an object      "
    colon _        after a key               :
    after item _   after a value in [ ]      , ]
    after member _ after a value in { }      , }
    tail _         after the last bracket    nothing
    nowhere        the scan has halted       nothing

    string, name   in a value, in a key      any character from U+0020, \ and "
    escape         after \                   " \ / b f n r t u
    hex 4 .. 1     digits still to come      0-9 a-f A-F
    t tr tru ...   in a literal              its next letter
    minus          after -                   0-9
    zero           after a leading 0         . e E, or the number ends
    whole          in the integer            0-9 . e E, or the number ends
    point          after .                   0-9
    fraction       after it                  0-9 e E, or the number ends
    e              after e or E              + - 0-9
    sign           after its sign            0-9
    exponent       after it                  0-9, or the number ends
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

__all__ = (
    "AFTER_ITEM",
    "AFTER_MEMBER",
    "FIRST_KEY",
    "ITEM",
    "NAME",
    "NOWHERE",
    "START",
    "STRING",
    "TAIL",
    "Note",
    "Place",
    "all_characters",
    "find_special",
    "find_stop",
)

# The message of a step to the scan: a scalar starts, a container opens, a first key starts, a
# scalar ends, a container closes. Behind the last two the place depends on the stack of containers.
Note: TypeAlias = Literal["", "start", "open", "name", "end", "close"]


class Place:
    """A state: the runs that it consumes, and the characters that lead on."""

    __slots__ = ("may_end", "run", "steps")

    def __init__(self, run: str = "(?!)", *, may_end: bool = False) -> None:
        self.run = re.compile(run).match
        self.steps: dict[str, tuple[Place, Note]] = {}
        self.may_end = may_end

    def lead(self, chars: str, to: Place, note: Note = "") -> None:
        self.steps.update(dict.fromkeys(chars, (to, note)))


_BLANKS = r"[ \t\r\n]++"
_DIGITS = r"[0-9]++"
_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_PLAIN = r'[^"\\\x00-\x1f]'
# Python before 3.11.5 matches possessive groups wrongly. A group that is not possessive keeps a
# backtracking point per repetition, so repetitions are bounded and a longer run is consumed in
# parts.
_CHARACTERS = rf"(?:{_PLAIN}|{_ESCAPE}){_PLAIN}*+(?:{_ESCAPE}{_PLAIN}*+){{0,1000}}"

# A fast search for where a string may end or break, with the interface of a marker. Backslashes at
# the end of the piece may still grow. A quote behind a single backslash is skipped; a longer run of
# backslashes is a hit, and the scan itself decides. The pattern begins with a class, because `re`
# searches for a class three times as fast as for an alternation.
find_stop = re.compile(
    r'["\\\x00-\x1f](?:(?<=")(?<![^\\]\\")()|(?<=[\x00-\x1f])()'
    r'|(?<=\\)(?:\\?\Z|(?![/bfnrt"]|\\[^"\\])()))'
).search
find_special = re.compile(r'["\\\x00-\x1f]').search
all_characters = re.compile(_CHARACTERS).fullmatch

START, FIRST_ITEM, ITEM, FIRST_KEY, KEY = (Place(_BLANKS) for _ in range(5))
COLON, AFTER_ITEM, AFTER_MEMBER, TAIL = (Place(_BLANKS) for _ in range(4))
STRING, NAME = Place(_CHARACTERS), Place(_CHARACTERS)
MINUS, POINT, E, SIGN, NOWHERE = (Place() for _ in range(5))
ZERO = Place(may_end=True)
WHOLE, FRACTION, EXPONENT = (Place(_DIGITS, may_end=True) for _ in range(3))


def _lead_structure() -> None:
    for place in (START, FIRST_ITEM, ITEM):
        place.lead("[", FIRST_ITEM, "open")
        place.lead("{", FIRST_KEY, "open")
    FIRST_ITEM.lead("]", NOWHERE, "close")
    FIRST_KEY.lead("}", NOWHERE, "close")
    FIRST_KEY.lead('"', NAME, "name")
    KEY.lead('"', NAME)
    COLON.lead(":", ITEM)
    AFTER_ITEM.lead(",", ITEM)
    AFTER_ITEM.lead("]", NOWHERE, "close")
    AFTER_MEMBER.lead(",", KEY)
    AFTER_MEMBER.lead("}", NOWHERE, "close")


def _lead_strings() -> None:
    for place in (FIRST_ITEM, ITEM):
        place.lead('"', STRING, "start")
    STRING.lead('"', NOWHERE, "end")
    NAME.lead('"', COLON)
    for string in (STRING, NAME):
        digit = string
        for _ in range(4):
            hexadecimal = Place()
            hexadecimal.lead("0123456789abcdefABCDEF", digit)
            digit = hexadecimal
        escape = Place()
        escape.lead('"\\/bfnrt', string)
        escape.lead("u", digit)
        string.lead("\\", escape)


def _lead_numbers() -> None:
    for place in (FIRST_ITEM, ITEM):
        place.lead("-", MINUS, "start")
        place.lead("0", ZERO, "start")
        place.lead("123456789", WHOLE, "start")
    MINUS.lead("0", ZERO)
    MINUS.lead("123456789", WHOLE)
    for place in (ZERO, WHOLE):
        place.lead(".", POINT)
    POINT.lead("0123456789", FRACTION)
    for place in (ZERO, WHOLE, FRACTION):
        place.lead("eE", E)
    E.lead("+-", SIGN)
    for place in (E, SIGN):
        place.lead("0123456789", EXPONENT)


def _lead_literals() -> None:
    for literal in ("true", "false", "null"):
        letters = [Place() for _ in literal[1:]]
        for place in (FIRST_ITEM, ITEM):
            place.lead(literal[0], letters[0], "start")
        for place, letter, then in zip(letters, literal[1:], letters[1:], strict=False):
            place.lead(letter, then)
        letters[-1].lead(literal[-1], NOWHERE, "end")


_lead_structure()
_lead_strings()
_lead_numbers()
_lead_literals()

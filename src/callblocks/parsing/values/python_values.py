r"""A reader for the arguments of a Python call in complete text, as JSON-like values.

    read_arguments("('a', n=[1, True])", strict=True)      (["a"], {"n": [1, True]}, {})

Tuples and sets become lists. A number must be representable in JSON. Some text that is not Python
is read and reported, unless `strict`: `true` and `null`, a string over several lines, words without
quotes, a number that begins with 0.

Why not `ast.literal_eval`: it has no keyword arguments, and it refuses each of these mistakes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from callblocks.parsing.values.strict_json import LONG_RUN, RUN, Halt, ScanState, Search

__all__ = (
    "AFTER",
    "AFTER_CALL",
    "CALLS",
    "ITEM",
    "START",
    "STRINGS",
    "Arguments",
    "Note",
    "PythonScan",
    "PythonState",
    "read_arguments",
)

_BLANKS = " \t\r\n"
_SOLID = re.compile(rf"[^{_BLANKS}]")
_KEYWORD = re.compile(r"([A-Za-z_][\w.-]*)[ \t\r\n]*=")
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
# A number as the scan delimits it; `_INTEGER` and `_FLOAT` decide whether it is one. Hexadecimal
# digits are included, so that `0x1F` is refused as a whole and not read as `0`.
_NUMBER = re.compile(r"[+-]?(?:[0-9A-DF-Za-df-z_.]|[eE][+-]?)+")
_INTEGER = re.compile(r"[+-]?[0-9](?:_?[0-9])*")
_FLOAT = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?")
# The four kinds of strings, triple-quoted ones first. Unrolled loops (plain run, escape, plain run)
# do not backtrack.
_STRING = re.compile(
    r"'''([^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*)'''"
    r'|"""([^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*)"""'
    r"|'([^'\\]*(?:\\.[^'\\]*)*)'"
    r'|"([^"\\]*(?:\\.[^"\\]*)*)"',
    re.DOTALL,
)
# Python's escapes, and JSON's surrogate pairs. An unknown escape such as `\d` stays as written, as
# in Python.
_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|x([0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})|([0-7]{1,3})|\r\n|[\n'\"\\abfnrtv])"
)
_LETTERS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_SHORT = {f"\\{mark}": _LETTERS.get(mark, mark) for mark in "abfnrtv'\"\\"} | {
    "\\\n": "",
    "\\\r\n": "",
}
_PYTHON = {"True": True, "False": False, "None": None}
_JSON = {"true": True, "false": False, "null": None}


class Arguments(NamedTuple):
    """Positional and named values, and the repairs: each code with its first reason."""

    by_place: list[Any]
    by_name: dict[str, Any]
    repairs: dict[str, str]


def read_arguments(text: str, *, strict: bool) -> Arguments:
    """Read `(…)`, which a scan has delimited; raise `ValueError` for what is no plain value."""
    try:
        return _Values(text, strict).arguments()
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


class _Values:
    def __init__(self, text: str, strict: bool) -> None:
        self.text = text
        self.at = 1
        self._strict = strict
        self._repairs: dict[str, str] = {}

    def arguments(self) -> Arguments:
        by_place: list[Any] = []
        by_name: dict[str, Any] = {}
        given: dict[str, Any]
        while self._next() != ")":
            if self.text.startswith("**", self.at):
                self.at += 2
                given = self._dictionary()
            elif keyword := _KEYWORD.match(self.text, self.at):
                self.at = keyword.end()
                given = {keyword[1]: self._value(named=True)}
            else:
                by_place.append(self._value())
                given = {}
            if twice := by_name.keys() & given.keys():
                raise ValueError(f"{min(twice)!r:.60} stands twice")
            by_name.update(given)
            self._comma()
        return Arguments(by_place, by_name, self._repairs)

    def _dictionary(self) -> dict[str, Any]:
        value = self._value()
        if not isinstance(value, dict):
            raise ValueError("`**` needs a dictionary")
        return cast("dict[str, Any]", value)

    def _next(self) -> str:
        """Skip blanks, and return the next character."""
        char = self.text[self.at : self.at + 1]
        if char not in _BLANKS:
            return char
        solid = _SOLID.search(self.text, self.at)
        self.at = solid.start() if solid else len(self.text)
        return self.text[self.at : self.at + 1]

    def _comma(self) -> None:
        if self._next() == ",":
            self.at += 1

    def _value(self, *, named: bool = False, in_list: bool = False) -> Any:
        char = self._next()
        if char in "'\"":
            return self._string(in_list)
        if char == "{":
            return self._braces()
        if char in "[(":
            return self._row("]" if char == "[" else ")")
        if word := _WORD.match(self.text, self.at):
            self.at = word.end()
            return self._word(word[0], named)
        number = _NUMBER.match(self.text, self.at)
        self.at = number.end() if number else self.at
        return self._number(number[0] if number else char)

    def _row(self, closing: str) -> Any:
        self.at += 1
        found: list[Any] = []
        commas = 0
        while self._next() != closing:
            found.append(self._value(in_list=closing == "]"))
            commas += self._next() == ","
            self._comma()
        self.at += 1
        # `(1)` is no tuple, `(1,)` is one.
        return found[0] if closing == ")" and len(found) == 1 and not commas else found

    def _braces(self) -> Any:
        self.at += 1
        found: dict[str, Any] = {}
        members: list[Any] = []
        while self._next() != "}":
            key = self._value(named=True)
            if self._next() != ":":
                members.append(key)
            else:
                self.at += 1
                name = self._key(key)
                if name in found:
                    raise ValueError(f"{name!r:.60} stands twice")
                found[name] = self._value(named=True)
            self._comma()
        self.at += 1
        if members and found:
            raise ValueError("a set or a dictionary, but not both")
        return members or found

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return key
        if isinstance(key, bool) or not isinstance(key, int | float):
            raise ValueError(f"{key!r:.60} is no name")
        return repr(key)

    def _string(self, in_list: bool) -> str:
        parts: list[str] = []
        while self._next() in ("'", '"'):
            found = _STRING.match(self.text, self.at)
            assert found is not None  # the scan has seen its end
            inside = found[found.lastindex or 0]
            if "\n" in inside and not found[0].startswith(("'''", '"""')):
                self._repair("repaired-strings", "a string over several lines", inside)
            parts.append(_plain(inside))
            self.at = found.end()
        if in_list and len(parts) > 1:
            # It is Python, but so is a comma that is missing.
            self._repairs.setdefault("joined-strings", f"{parts[0]!r:.30} and {parts[1]!r:.30}")
        return "".join(parts)

    def _word(self, word: str, named: bool) -> Any:
        if word in _PYTHON:
            return _PYTHON[word]
        if word in _JSON:
            self._repair("repaired-literals", "no word of Python", word)
            return _JSON[word]
        if not named:
            raise ValueError(f"{word!r:.60} is no value")
        self._repair("repaired-quotes", "a word without quotes", word)
        return word

    def _number(self, text: str) -> int | float:
        if _INTEGER.fullmatch(text):
            if text.lstrip("+-")[0] == "0" and int(text) != 0:
                self._repair("repaired-literals", "a number that begins with 0", text)
            return int(text)
        value = float(text) if _FLOAT.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise ValueError(f"{text!r:.60} is no number that JSON can say")
        return value

    def _repair(self, code: str, what: str, text: str) -> None:
        detail = f"{what}: {text!r:.60}"
        if self._strict:
            raise ValueError(detail)
        self._repairs.setdefault(code, detail)


def _plain(text: str) -> str:
    """Return the contents of a string without its escapes."""
    # Fast path: in most strings only line ends are escaped.
    escapes = text.count("\\")
    if escapes == text.count("\\n"):
        return text.replace("\\n", "\n")
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(escape: re.Match[str]) -> str:
    short = _SHORT.get(escape[0])
    if short is not None:
        return short
    pair, octal = escape[1], escape[5]
    if pair:  # a surrogate pair, as JSON escapes characters beyond U+FFFF
        return chr(0x10000 + (int(pair[1:5], 16) - 0xD800) * 0x400 + int(pair[7:], 16) - 0xDC00)
    return chr(int(octal, 8) if octal else int(escape[2] or escape[3] or escape[4], 16))


# --- The state table of `PythonScan`: a place is a state between two characters ---
#
# It covers the Python that models write in calls: strings in any quotes, numbers, words, lists,
# tuples, sets, dictionaries, `name=value` and `**{…}`. Anything else halts the scan at once, so
# that prose is not taken for a call.
#
# Columns: the place (`_`: blanks are skipped there), where it is, the characters that lead on.
#
#     calls _        in the list of calls      ] or a name
#     name           in a called name          letters, digits, . - and (
#     after call _   after a call in the list  , ]
#     item _         after ( [ { or ,          a value, or a closing bracket
#     value _        after = or :              a value
#     word           in a word                 letters, digits, . - or it ends
#     after word _   after a word              = : , and closing brackets
#     after _        after a value             : , and closing brackets
#     joined _       after a string            the same, or another string
#     number         in a number               digits, letters, . _ or it ends
#     e              after its e or E          + - or on as a number
#     star, stars    after * and **            * and {
#     quote          after an opening quote    the same quote, or on as a string
#     quotes         after two of them         a third, or the string was empty
#     string         in a string               any character, \ and its quote
#     block          in a triple-quoted one    any character, \ and its quote
#     one, two       after quotes in it        the same quote, or on as before

# The message of a step to the scan: a bracket opens or closes, or a sign is allowed only directly
# in some brackets.
Note: TypeAlias = Literal["", "open", "close", "equals", "colon", "star"]


class PythonState:
    """A state: the runs that it consumes, the characters that lead on, and its fallbacks."""

    __slots__ = ("run", "skip", "steps", "then")

    def __init__(self, run: str = "(?!)") -> None:
        self.run = re.compile(run, re.DOTALL).match
        self.steps: dict[str, tuple[PythonState, Note]] = {}
        # The place that reads the same character if this one cannot.
        self.then: PythonState | None = None
        # The place after any one character.
        self.skip: PythonState | None = None

    def lead(self, chars: str, to: PythonState, note: Note = "") -> None:
        self.steps.update(dict.fromkeys(chars, (to, note)))


_BLANK_CHARACTERS = r"[ \t\r\n]++"
_DIGITS = "0123456789"
_LETTER_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

START, CALLS, ITEM, VALUE, AFTER_CALL = (PythonState(_BLANK_CHARACTERS) for _ in range(5))
AFTER, AFTER_WORD, JOINED = (PythonState(_BLANK_CHARACTERS) for _ in range(3))
NAME, WORD = (PythonState(r"[\w.-]++") for _ in range(2))
NUMBER = PythonState(r"[0-9A-DF-Za-df-z_.]++")
E, STAR, STARS = PythonState(), PythonState(), PythonState()


def _lead_values() -> None:
    START.lead("(", ITEM, "open")
    START.lead("[", CALLS, "open")
    CALLS.lead(_LETTER_CHARACTERS, NAME)
    NAME.lead("(", ITEM, "open")
    for place in (ITEM, VALUE):
        place.lead("([{", ITEM, "open")
        place.lead(_LETTER_CHARACTERS, WORD)
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


def _lead_strings() -> dict[PythonState, Callable[[str], re.Match[str] | None]]:
    strings: dict[PythonState, Callable[[str], re.Match[str] | None]] = {}
    for mark in "'\"":
        first, second, one, two, escape, escaped = (PythonState() for _ in range(6))
        plain = rf"[^{mark}\\]"
        run = rf"{plain}++(?:\\.{plain}*+){{0,1000}}"
        string, block = PythonState(run), PythonState(run)
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
        # A search like that of JSON's strings, but a backslash escapes any character.
        stop = re.compile(
            rf"[\\{mark}](?:{RUN}(?:\Z|{LONG_RUN})|(?<={mark})(?<!^\\{mark})(?<![^\\]\\{mark})"
            rf"(?<!^\\\\\\{mark})(?<![^\\]\\\\\\{mark})())"
        ).search
        strings |= {string: stop, block: stop}
    return strings


_lead_values()
_lead_signs()
# The places inside of a string, each with a fast search for where the string may end.
STRINGS = _lead_strings()


# --- An incremental scan for the end of the arguments of a Python call ---
#
#     scan = PythonScan()
#     scan.feed("(city='Par")       # 10: taken, scan.state is ScanState.OPEN
#     scan.feed("is') and on")      # 4: stopped right after the bracket
#
# It begins with `(`, the arguments of one call, or with `[`, a list of calls. It is a state machine
# like `JsonScan`: no value is built, and the states are listed in `python_places`. In addition to
# them it needs a stack (`_open`), because `=` and `**` may stand only directly in the parentheses
# of a call, and `:` only in braces.

_OPENING = {")": "(", "]": "[", "}": "{"}
_CLOSING = {opening: closing for closing, opening in _OPENING.items()}


class PythonScan:
    """A scan for the bracket that closes the first one."""

    __slots__ = ("_hurry", "_level", "_max_depth", "_open", "_place", "halt", "state", "too_deep")

    def __init__(self, max_depth: int = 100) -> None:
        self.state = ScanState.OPEN
        self.too_deep = False
        # The position in the last text of `absorb` at which the scan halted.
        self.halt = 0
        self._max_depth = max_depth
        self._place = START
        self._open: list[str] = []
        self._level = 1  # the depth of a call's arguments: 2 inside of a list of calls

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return its end, or the position where the scan halted."""
        # At each place, in this order: a step to another place, a run that stays, a place that
        # skips any character (behind a backslash), a place that passes the same character on
        # (`then`: a word ends where its run ends).
        place, size = self._place, len(text)
        while at < size and self.state is ScanState.OPEN:
            step = place.steps.get(text[at])
            if step is not None:
                place, note = step
                if note and not (place := self._heed(note, text[at], place)):
                    return at
                at += 1
            elif (run := place.run(text, at)) is not None:
                at = run.end()
            elif place.skip is not None:
                at, place = at + 1, place.skip
            elif place.then is not None:
                place = place.then
            else:
                self.state = ScanState.BROKEN
        self._place = place
        return at

    @property
    def closing(self) -> str:
        """The brackets that would close the open ones."""
        return "".join(_CLOSING[char] for char in reversed(self._open))

    def absorb(self, text: str) -> Halt | None:
        """Consume a whole piece and return None, or return the position where the scan halted."""
        was = self._place
        end = self.feed(text)
        if end == len(text) and self.state is ScanState.OPEN:
            # The whole piece was inside of one string: a search for its end is faster from now on.
            if was is self._place and was in STRINGS:
                self._hurry(STRINGS[was])
            return None
        self.halt = end
        return Halt(end)

    def search(self, hurry: Callable[[Search], None]) -> Search:
        """Return the search for the next pieces: `absorb`, or, in a string, one for its end.

        When a string turns out to be long, the faster search is passed to `hurry`.
        """
        self._hurry = hurry
        return STRINGS.get(self._place, self.absorb)

    def _heed(self, note: Note, char: str, place: PythonState) -> PythonState | None:
        """Return the place that a step leads to, or None if the open brackets forbid the step."""
        match note:
            case "open":
                return self._opened(char, place)
            case "close":
                return self._closed(char)
            case "colon":
                fits = self._open[-1] == "{"
            case _:
                fits = len(self._open) == self._level and self._open[-1] == "("
        return place if fits else self._broken()

    def _opened(self, char: str, place: PythonState) -> PythonState:
        if not self._open and char == "[":
            self._level = 2
        self._open.append(char)
        self.too_deep = self.too_deep or len(self._open) > self._max_depth
        return place

    def _closed(self, char: str) -> PythonState | None:
        if self._open[-1] != _OPENING[char]:
            return self._broken()
        self._open.pop()
        if not self._open:
            self.state = ScanState.STOPPED
        return AFTER_CALL if len(self._open) < self._level else AFTER

    def _broken(self) -> None:
        self.state = ScanState.BROKEN

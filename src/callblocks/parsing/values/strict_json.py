"""Strict JSON (RFC 8259): an incremental scan for the end of a value, and a reader."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias

from callblocks.core.calls import Span
from callblocks.core.errors import Unwritable
from callblocks.core.text import brief

__all__ = (
    "AFTER_ITEM",
    "AFTER_MEMBER",
    "FIRST_KEY",
    "ITEM",
    "LONG_RUN",
    "NAME",
    "NOWHERE",
    "RUN",
    "START",
    "STRING",
    "TAIL",
    "Halt",
    "JsonScan",
    "JsonState",
    "Note",
    "ScanState",
    "Search",
    "all_characters",
    "dumps",
    "find_special",
    "find_stop",
    "read_json",
    "read_json_at",
    "write_json",
)

# --- An incremental scan for the end of one JSON object or array, or for where it breaks ---
#
#     scan = JsonScan()
#     scan.feed('[{"name": "l')     # 12: taken, scan.state is ScanState.OPEN
#     scan.feed('s"}] and on')      # 5: stopped before "and", scan.end is 16
#
# No value is built and no text is kept. The scan is a state machine over characters: where a piece
# ends inside of an escape, a number or a literal, the state (`Place`, listed in `json_places`) says
# so. So `feed` always consumes the whole piece until the scan halts, and the cuts change nothing.
#
# Invariants
#     - `_marks` has one entry per open bracket; its length is the depth. Nesting costs eight bytes
#       a level and no recursion.
#     - `_bounds` has the start and the end of each finished element of the outermost array.
#     - After STOPPED or BROKEN the place is NOWHERE, which has no steps: nothing more is consumed.
#
# Why not call `json.loads` whenever a bracket closes: that is quadratic, and it cannot tell text
# that needs more characters from text that is broken. The scan knows it at the first wrong
# character, so prose that only opens like JSON is returned at once.
#
# The grammar is RFC 8259, strict: no NaN, no trailing comma, no raw control character. A lone
# surrogate is a character like any other, and so is its escape, as for `json.loads`.


# --- The state table of `JsonScan`: a place is a state between two characters ---
#
# Columns: the place (`_`: blanks are skipped there), where it is, and the characters that lead on.
# Any other character halts the scan, at `tail` as stopped, elsewhere as broken.
#
#     start _        before the value          [ {
#     first item _   after [                   ] or a value
#     item _         after , or :              a value: [ { " - 0-9 t f n
#     first key _    after {                   } or "
#     key _          after , in an object      "
#     colon _        after a key               :
#     after item _   after a value in [ ]      , ]
#     after member _ after a value in { }      , }
#     tail _         after the last bracket    nothing
#     nowhere        the scan has halted       nothing
#
#     string, name   in a value, in a key      any character from U+0020, \ and "
#     escape         after \                   " \ / b f n r t u
#     hex 4 .. 1     digits still to come      0-9 a-f A-F
#     t tr tru ...   in a literal              its next letter
#     minus          after -                   0-9
#     zero           after a leading 0         . e E, or the number ends
#     whole          in the integer            0-9 . e E, or the number ends
#     point          after .                   0-9
#     fraction       after it                  0-9 e E, or the number ends
#     e              after e or E              + - 0-9
#     sign           after its sign            0-9
#     exponent       after it                  0-9, or the number ends

# The message of a step to the scan: a scalar starts, a container opens, a first key starts, a
# scalar ends, a container closes. Behind the last two the place depends on the stack of containers.
Note: TypeAlias = Literal["", "start", "open", "name", "end", "close"]


class JsonState:
    """A state: the runs that it consumes, and the characters that lead on."""

    __slots__ = ("may_end", "run", "steps")

    def __init__(self, run: str = "(?!)", *, may_end: bool = False) -> None:
        self.run = re.compile(run).match
        self.steps: dict[str, tuple[JsonState, Note]] = {}
        self.may_end = may_end

    def lead(self, chars: str, to: JsonState, note: Note = "") -> None:
        self.steps.update(dict.fromkeys(chars, (to, note)))


_BLANKS = r"[ \t\r\n]++"
_DIGITS = r"[0-9]++"
_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_PLAIN = r'[^"\\\x00-\x1f]'
# Python before 3.11.5 matches possessive groups wrongly. A group that is not possessive keeps a
# backtracking point per repetition, so repetitions are bounded and a longer run is consumed in
# parts.
_CHARACTERS = rf"(?:{_PLAIN}|{_ESCAPE}){_PLAIN}*+(?:{_ESCAPE}{_PLAIN}*+){{0,1000}}"

# A fast search for where a string may end or break, with the interface of a marker. Its text begins
# with a character or a whole escape, so a run of backslashes is in the text from its start on, and
# is looked at there: pairs are passed, and one that is left must begin an escape of one letter. At
# the end of the piece it may still grow. A quote behind one or three backslashes is escaped; behind
# more of them, the scan itself decides, as it does on runs of more than a thousand. The pattern
# begins with a class, because `re` searches for a class three times as fast as for an alternation.
RUN = r"(?<=\\)(?<!\\\\)(?:\\\\){0,500}"
LONG_RUN = r"(?<=\\{1001})()"
find_stop = re.compile(
    rf'["\\\x00-\x1f](?:{RUN}(?:\Z|{LONG_RUN}|(?![/bfnrt"\\]|\Z)())'
    r'|(?<=")(?<!^\\")(?<![^\\]\\")(?<!^\\\\\\")(?<![^\\]\\\\\\")()|(?<=[\x00-\x1f])())'
).search
find_special = re.compile(r'["\\\x00-\x1f]').search
all_characters = re.compile(_CHARACTERS).fullmatch

START, FIRST_ITEM, ITEM, FIRST_KEY, KEY = (JsonState(_BLANKS) for _ in range(5))
COLON, AFTER_ITEM, AFTER_MEMBER, TAIL = (JsonState(_BLANKS) for _ in range(4))
STRING, NAME = JsonState(_CHARACTERS), JsonState(_CHARACTERS)
MINUS, POINT, E, SIGN, NOWHERE = (JsonState() for _ in range(5))
ZERO = JsonState(may_end=True)
WHOLE, FRACTION, EXPONENT = (JsonState(_DIGITS, may_end=True) for _ in range(3))


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
            hexadecimal = JsonState()
            hexadecimal.lead("0123456789abcdefABCDEF", digit)
            digit = hexadecimal
        escape = JsonState()
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
        letters = [JsonState() for _ in literal[1:]]
        for place in (FIRST_ITEM, ITEM):
            place.lead(literal[0], letters[0], "start")
        for place, letter, then in zip(letters, literal[1:], letters[1:], strict=False):
            place.lead(letter, then)
        letters[-1].lead(literal[-1], NOWHERE, "end")


_lead_structure()
_lead_strings()
_lead_numbers()
_lead_literals()


# --- An incremental scan for the end of one JSON object or array, or for where it breaks ---

LONG = 16  # characters of a string, from which on it is worth a search of its own


class ScanState:
    """The state of a scan, compared with `is`.

    It is no `Enum`, because Python 3.11 takes longer for a member of one than for a regex search.
    """

    # The value needs more text.
    OPEN: ClassVar[ScanState]
    # The value is complete; blanks after it are still taken.
    CLOSED: ClassVar[ScanState]
    # The value is complete and something else follows, where `feed` stopped.
    STOPPED: ClassVar[ScanState]
    # The character where `feed` stopped cannot stand there in any JSON.
    BROKEN: ClassVar[ScanState]


ScanState.OPEN, ScanState.CLOSED = ScanState(), ScanState()
ScanState.STOPPED, ScanState.BROKEN = ScanState(), ScanState()


class Halt:
    """A position where a scan halted, in the form of a match (see `stage.Hit`)."""

    __slots__ = ("at",)
    lastindex = 1

    def __init__(self, at: int) -> None:
        self.at = at

    def start(self) -> int:
        """Return the position."""
        return self.at

    def end(self) -> int:
        """Return the same position: a halt consumes nothing."""
        return self.at


# An array that is copied, for a copy takes a third of the time of a new one.
_NONE = array("q")

Search: TypeAlias = Callable[[str], re.Match[str] | Halt | None]


class JsonScan:
    """A scan for the end of one JSON object or array.

    All offsets count from the first character that was fed. With `exact`, any JSON value is scanned
    and the scan stops right at its end, without the blanks behind it. Offsets are then not kept
    exact, since long strings are searched without counting their characters.
    """

    __slots__ = (
        "_bounds",
        "_exact",
        "_hurry",
        "_marks",
        "_max_depth",
        "_place",
        "_start",
        "_taken",
        "end",
        "halt",
        "last_closed",
        "looked_like_calls",
        "state",
        "too_deep",
    )

    def __init__(self, max_depth: int = 100, *, exact: bool = False) -> None:
        self.state = ScanState.OPEN
        # The offset behind the closing bracket; None until that was consumed.
        self.end: int | None = None
        # The object or array that closed most recently, at any depth.
        self.last_closed: Span | None = None
        # True once more than `max_depth` brackets were open. The scan goes on, so that the whole
        # value is consumed and becomes one malformed block.
        self.too_deep = False
        # True if the value began with `[{`, `[]`, `{"` or `{}`, blanks aside.
        self.looked_like_calls = False
        # The position in the last text of `absorb` at which the scan halted.
        self.halt = 0
        self._max_depth = max_depth
        self._exact = exact
        self._place = ITEM if exact else START
        self._taken = 0
        self._start = 0
        # One number per open bracket: its offset for an array, `~offset` (negative) for an object.
        self._marks = _NONE[:]
        # Start and end of each element in turn. An array of numbers takes a tenth of the memory of
        # a list of pairs, and a hostile text can have millions of elements.
        self._bounds = _NONE[:]

    def feed(self, text: str, at: int = 0) -> int:
        """Consume text from `at`; return its end, or the position where the scan halted.

        Once the scan has stopped or broken, nothing more is consumed.
        """
        # At each place, in this order: a character that leads to another place (`steps`); a run of
        # characters that stay (`run`, one regex match); the end of a scalar that has no closing
        # character of its own (`may_end`: the `,` behind `12` ends the number, and is read again).
        # Anything else halts the scan.
        place, size, base = self._place, len(text), self._taken - at
        while at < size:
            step = place.steps.get(text[at])
            if step is not None:
                at += 1
                place, note = step
                if note:
                    if note == "start":
                        self._start = base + at - 1
                    else:
                        place = self._heed(note, place, base + at)
            elif (run := place.run(text, at)) is not None:
                at = run.end()
            elif place.may_end:
                place = self._ended(self._start, base + at)
            else:
                place = self._halted(place)
                break
        self._place, self._taken = place, base + at
        return at

    def absorb(self, text: str) -> Halt | None:
        """Consume a whole piece and return None, or return the position where the scan halted."""
        # Most pieces lie inside of a long string. Then one search for a quote, a backslash or a
        # control character is enough.
        if self._place is STRING and (
            (special := find_special(text)) is None or (special[0] == "\\" and all_characters(text))
        ):
            self._taken += len(text)
            if self._exact and self._taken - self._start >= LONG:
                self._hurry(find_stop)
            return None
        if self._place is NAME and find_special(text) is None:
            self._taken += len(text)
            return None
        end = self.feed(text)
        if end == len(text) and self.state is not ScanState.STOPPED:
            return None
        self.halt = end
        return Halt(end)

    def search(self, hurry: Callable[[Search], None]) -> Search:
        """Return the search for the next pieces: `absorb`, or, in a long string, one for its end.

        When a string turns out to be long, the faster search is passed to `hurry`. A string that is
        the whole value counts as long.
        """
        self._hurry = hurry
        if not self._exact or self._place is not STRING:
            return self.absorb
        is_long = not self._marks or self._taken - self._start >= LONG
        return find_stop if is_long else self.absorb

    @property
    def taken(self) -> int:
        """The number of consumed characters."""
        return self._taken

    @property
    def in_string(self) -> bool:
        """True inside of a string or a key."""
        return self._place is STRING or self._place is NAME

    @property
    def complete(self) -> bool:
        """True once the value has closed, whatever follows."""
        return self.end is not None

    @property
    def count(self) -> int:
        """The number of finished elements; cheaper than `elements`."""
        return len(self._bounds) // 2

    def elements(self, since: int = 0) -> list[Span]:
        """Return the span of each finished element of the array, from number `since` on.

        A top-level object counts as its own single element once it has closed. A number is finished
        when the character behind it was seen.
        """
        bounds = self._bounds[2 * since :]
        return list(zip(bounds[::2], bounds[1::2], strict=True))

    def _heed(self, note: Note, place: JsonState, at: int) -> JsonState:
        if note == "end":
            return self._ended(self._start, at)
        if note == "close":
            return self._closed(at)
        if note == "open":
            self._opened(at - 1, is_object=place is FIRST_KEY)
        elif len(self._marks) == 1:
            self.looked_like_calls = True
        return place

    def _opened(self, start: int, *, is_object: bool) -> None:
        if is_object and len(self._marks) == 1 and not self._bounds:
            self.looked_like_calls = True
        self._marks.append(~start if is_object else start)
        if len(self._marks) > self._max_depth:
            self.too_deep = True

    def _closed(self, end: int) -> JsonState:
        mark = self._marks.pop()
        start = mark if mark >= 0 else ~mark
        self.last_closed = (start, end)
        if self._marks:
            return self._ended(start, end)
        self.looked_like_calls = self.looked_like_calls or not self._bounds
        if mark < 0:
            self._bounds.extend(self.last_closed)
        return self._finished(end)

    def _finished(self, end: int) -> JsonState:
        self.end = end
        self.state = ScanState.STOPPED if self._exact else ScanState.CLOSED
        return NOWHERE if self._exact else TAIL

    def _ended(self, start: int, end: int) -> JsonState:
        if not self._marks:
            return self._finished(end)
        if self._marks[-1] < 0:
            return AFTER_MEMBER
        if len(self._marks) == 1:
            self._bounds.append(start)
            self._bounds.append(end)
        return AFTER_ITEM

    def _halted(self, place: JsonState) -> JsonState:
        if place is not NOWHERE:
            self.state = ScanState.STOPPED if place is TAIL else ScanState.BROKEN
        return NOWHERE


# --- A strict JSON reader for complete text ---
#
# RFC 8259 has no NaN and no Infinity, and a number too big for a float would become Infinity:
# neither could be written again, so neither is read. An object with a duplicate key is refused
# too; a repair reads it and reports that.


def read_json(text: str, max_depth: int | None = None) -> Any:
    """Return the value, or raise `ValueError` with the reason why the text is refused."""
    # A string has no levels, and text with no more brackets than allowed levels cannot be too deep:
    # neither needs a scan. The scan comes first otherwise, because `json` recurses.
    if (
        max_depth is not None
        and not text.startswith('"')
        and text.count("[") + text.count("{") > max_depth
    ):
        scan = JsonScan(max_depth)
        scan.feed(text)
        if scan.too_deep:
            raise ValueError(f"it is nested deeper than {max_depth}")
    try:
        # Most texts are a value and nothing else; `decode` also skips blanks, which costs more.
        value, end = _decoder.raw_decode(text)
        return value if end == len(text) else _decoder.decode(text)
    except json.JSONDecodeError:
        return _decoder.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def read_json_at(text: str, at: int) -> tuple[Any, int]:
    """Return the value at a position and the position behind it, or raise `ValueError`."""
    try:
        return _decoder.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen = set[str]()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"{twice!r:.60} stands twice")
    return value


def _read_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text:.80} is not a number that JSON can say")


# Shared: making a decoder costs more than reading a small value.
_decoder = json.JSONDecoder(
    parse_float=_read_float, parse_constant=_refuse, object_pairs_hook=_read_object
)


# --- A value as JSON in one line, or a refusal that names it ---


def write_json(dialect: str, value: Any) -> str:
    """Write a value as JSON; raise `Unwritable` if JSON cannot represent it."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error


# --- The JSON that a dialect writes for a value ---


def dumps(value: Any, dialect: str) -> str:
    """Return a value as JSON in one line, without `\\u` escapes, or raise `Unwritable`."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error

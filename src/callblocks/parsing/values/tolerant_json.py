"""A tolerant JSON reader: one pass that reads the intended value and records each repair.

    tolerant = Tolerant("{'a': True,}", ended=True, max_depth=100)
    tolerant.read(0)      # ({"a": True}, 12)
    tolerant.repairs      # repaired-quotes, repaired-literals, repaired-commas

The rule is never to invent a value; where a fault has two readings, the text is `Unrepairable`:

    missing value          `{"a": }` is unrepairable
    cut off                `[1, 2` may be `[1, 25]`. Only if `ended`, a marker behind the text, says
                           that it is complete, the number is whole and the brackets are closed
    duplicate key          the last value counts, as in `json.loads`
    missing comma          `}{` and `][` can only be two elements, and a quoted key with a colon
                           only the next member. Behind a string such a key must be a word, and no
                           other quote stand in the string: else the quote may belong to the text
    comment                skipped. One whose line never ends could hide a member, so inside of
                           brackets it is unrepairable

It is a recursive descent, limited by `max_depth`. It never backtracks, and lookahead is bounded, so
each character is looked at a bounded number of times.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from callblocks.core.calls import Span
from callblocks.parsing.values.strict_json import read_json

__all__ = (
    "RepairedString",
    "Tolerant",
    "Unrepairable",
    "read_string",
    "why_open",
)

# --- A tolerant reader for strings in either quotes, with raw newlines and inner quotes ---
#
# The hard question is which quote ends the string. A quote ends it if the text behind the quote can
# follow a string in that place: a colon behind a key; behind a value a closing bracket, or a comma
# and the beginning of the next member or element. Any other quote is part of the string:
#
#     {"say": "he said "no" to me", "n": 1}     the quotes around `no` are text
#
# Three cases have no single reading, and give None:
#     - a quote inside of a key, or one that seems to end a key (`"a": "b "c": 1`): a comma or a
#       quote is missing somewhere;
#     - in a list, an unpaired inner quote beside a comma (`["a", b", "c"]`): it may begin or end an
#       element;
#     - a string that never ends.

_SPECIAL = {quote: re.compile(rf"[\\{quote}\x00-\x1f]") for quote in "\"'"}
# A run of `\u` escapes is decoded as a whole, since two of them may be a surrogate pair.
_UNICODE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"} | {c: c for c in '"\\/'}
# Blanks are bounded: an unbounded run would be scanned again for each quote before it, which is
# quadratic.
_SPACE = r"[ \t\r\n]{0,1000}"
_COMMENT_START = r"(?:(?://|\#)[^\n]{0,300}\n|/\*(?:[^*]|\*(?!/)){0,300}\*/)"
_BLANKS = rf"{_SPACE}(?:{_COMMENT_START}{_SPACE}){{0,4}}"
_COMMAS = rf"(?:,{_BLANKS}){{1,3}}"
# The text that may follow the closing quote of a string, by its place: behind a key a colon; in an
# object a bracket, or a comma and the next key; in an array a bracket, or a comma and a value.
_FOLLOWS = {
    "key": re.compile(rf"{_BLANKS}:"),
    "{": re.compile(
        rf"{_BLANKS}(?:[}}\]]|\Z|{_COMMAS}(?:[\"'}}\]]|\Z|[A-Za-z_]\w{{0,60}}{_BLANKS}:))"
    ),
    "[": re.compile(
        rf"{_BLANKS}(?:[}}\]]|\Z|{_COMMAS}(?:[\"'\[\]{{}}\-0-9]|\Z|[tT]rue|[fF]alse|null|None))"
    ),
    "": re.compile(rf"{_BLANKS}(?:[,;)}}\]<`]|\Z)"),
}
# A colon and a value: a quote before it ends a key, so the string that is read has run too far.
_NEXT_MEMBER = re.compile(rf"{_BLANKS}:{_BLANKS}[\"'\[{{\-0-9tfnTFN]")
# A value that ends, and the next key right behind it.
_NO_COMMA = re.compile(rf"([\"']){_BLANKS}(\1[^\"'\\]{{1,60}}\1){_BLANKS}:")
# A string, and another value right behind it. It must hold no bracket or sign: else the match runs
# from one string into the next.
_NO_SIGN = re.compile(rf"([\"'][^\"'\\\n{{}}\[\],:]{{1,60}}[\"']){_BLANKS}[\"'\[{{\-0-9tfnTFN]")
# The next key, a word, and its colon right behind a value of an object that lacks its comma.
_NEXT_KEY = re.compile(
    rf"{_BLANKS}([\"'])[A-Za-z_][\w.-]{{0,60}}\1{_BLANKS}:{_BLANKS}[\"'\[{{\-0-9tfnTFN]"
)
# A string, and a character behind it that can follow no string.
_LOOSE = re.compile(rf"([\"'][^\"'\\\n{{}}\[\],:]{{1,60}}[\"']){_BLANKS}([^\s,:}}\]\"'/#])")
# A comma before a quote, or after it.
_BEFORE, _AFTER = re.compile(r",[ \t\r\n]{0,10}\Z"), re.compile(r"[ \t\r\n]{0,10},")


class RepairedString(NamedTuple):
    """A string, the position behind it, and the codes of the repairs in it."""

    value: str
    end: int
    repairs: tuple[str, ...]


def read_string(text: str, at: int, place: str) -> RepairedString | None:
    """Read the string whose quote is at a position; None if its end is not certain.

    `place` is "key", the bracket that the string stands in, or "" outside of any.
    """
    quote, follows = text[at], _FOLLOWS[place]
    repairs = {"repaired-quotes": None} if quote == "'" else {}
    parts: list[str] = []
    bare: list[int] = []
    at += 1
    while special := _SPECIAL[quote].search(text, at):
        parts.append(text[at : special.start()])
        at = special.end()
        if special[0] == "\\":
            part, at, plain = _escape(text, at - 1, quote)
            parts.append(part)
        elif special[0] == quote and follows.match(text, at):
            is_one = place != "[" or not _is_two(text, bare)
            return RepairedString("".join(parts), at, tuple(repairs)) if is_one else None
        elif special[0] == quote and place == "{" and not bare and _NEXT_KEY.match(text, at):
            return RepairedString("".join(parts), at, tuple(repairs))
        elif special[0] == quote and (place == "key" or _NEXT_MEMBER.match(text, at)):
            return None
        else:
            bare += [special.start()] if special[0] == quote else []
            parts.append(special[0])
            plain = False
        if not plain:
            repairs["repaired-strings"] = None
    return None


def why_open(text: str, at: int) -> str:
    """Explain why the end of the string at a position is not certain."""
    if found := _NO_COMMA.search(text, at + 1):
        return f"a comma is missing before {found[2]}"
    if found := _NO_SIGN.match(text, at):
        return f"a colon or a comma is missing after {found[1]}"
    if found := _LOOSE.match(text, at):
        return f"{found[2]!r} cannot stand after {found[1]}"
    return "a string is not closed"


def _is_two(text: str, bare: list[int]) -> bool:
    """Return whether an inner quote beside a comma may end an element or begin the next."""
    return len(bare) % 2 > 0 and any(
        _BEFORE.search(text, max(at - 11, 0), at) or _AFTER.match(text, at + 1) for at in bare
    )


def _escape(text: str, at: int, quote: str) -> tuple[str, int, bool]:
    """Return the text of an escape, the position behind it, and whether it is valid JSON."""
    if run := _UNICODE.match(text, at):
        return json.loads(f'"{run[0]}"'), run.end(), True
    after = text[at + 1 : at + 2]
    if after == quote:
        return quote, at + 2, True
    if after in _ESCAPES:
        return _ESCAPES[after], at + 2, True
    return "\\", at + 1, False


# --- A tolerant JSON reader: one pass that reads the intended value and records each repair ---

_SOLID = re.compile(r"[^ \t\r\n]")
# A comment of either kind; a group matched if the comment ends.
_COMMENT = re.compile(r"(?://|#)[^\n]*(\n)?|/\*.*?(\*/)", re.DOTALL)
# A JSON number. The lookahead refuses `1.2.3` and `2024-01-02`, which are no numbers.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.+-])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# A quoted key and its colon: only a member of an object begins so.
_MEMBER = re.compile(r"([\"'])[^\"'\\\n]{0,100}\1[ \t\r\n]{0,100}:")
_PAIRS = ("}{", "][")  # what can only be two elements of a list
_LITERALS = {"true": True, "false": False, "null": None}
_PYTHON = {"True": True, "False": False, "None": None}


class Unrepairable(ValueError):
    """The error that no single reading of the text exists; the message says where."""


class Tolerant:
    """A reader of values; `repairs` are the codes of the repairs, in order.

    `members` maps the position of each object to the spans of its values by key, `elements` the
    position of each array to the spans of its elements. `inside` are brackets that were opened
    before the text.
    """

    def __init__(self, text: str, *, ended: bool, max_depth: int, inside: str = "") -> None:
        self.text = text
        self.repairs: dict[str, None] = {}
        self.members: dict[int, dict[str, Span]] = {}
        self.elements: dict[int, list[Span]] = {}
        self._ended = ended
        self._max_depth = max_depth
        self._open = list(inside)

    def note(self, code: str) -> None:
        """Record a repair."""
        self.repairs[code] = None

    def solid(self, at: int) -> int:
        """Return the position of the next character outside of blanks and comments, or the end."""
        while True:
            found = _SOLID.search(self.text, at)
            if found is None:
                return len(self.text)
            comment = _COMMENT.match(self.text, found.start()) if found[0] in "/#" else None
            if comment is None:
                return found.start()
            if self._open and not comment.lastindex:
                raise Unrepairable("a comment does not end")
            self.note("repaired-comments")
            at = comment.end()

    def read(self, at: int) -> tuple[Any, int]:
        """Read the value at a position; return it, and the position behind it."""
        try:
            return self._value(at)
        except RecursionError as error:  # where `max_depth` allows it
            raise Unrepairable("it is nested too deep") from error

    def _value(self, at: int) -> tuple[Any, int]:
        char = self.text[at : at + 1]
        if char == "{":
            return self._object(at)
        if char == "[":
            return self._array(at)
        if char and char in "\"'":
            return self._string(at, self._open[-1] if self._open else "")
        return self._scalar(at)

    def _scalar(self, at: int) -> tuple[Any, int]:
        if number := _NUMBER.match(self.text, at):
            if number.end() == len(self.text) and not self._ended:
                raise Unrepairable("the text ends in a number")
            return read_json(number[0]), number.end()
        word = _WORD.match(self.text, at)
        if word and word[0] in _LITERALS:
            return _LITERALS[word[0]], word.end()
        if word and word[0] in _PYTHON:
            self.note("repaired-literals")
            return _PYTHON[word[0]], word.end()
        raise self._unexpected(at, "a value")

    def _object(self, start: int) -> tuple[dict[str, Any], int]:
        at = self.solid(start + 1)
        if self.text[at : at + 1] == "{":
            return self._doubled(start, at)
        self.enter("{")
        value: dict[str, Any] = {}
        places = self.members[start] = {}
        last = "{"
        while not self._closes(at, last):
            key, at = self._key(at)
            if key in value:
                self.note("repaired-keys")
                del value[key]
            at = self._expect(at, ":")
            value[key], end = self._value(at)
            places[key] = (at, end)
            at, last = self._after(end, in_object=True)
        return value, self._leave(at, "}")

    def _doubled(self, start: int, inner: int) -> tuple[dict[str, Any], int]:
        """Read an object in doubled braces, which count as a level of their own."""
        self.note("repaired-braces")
        self.enter("{")
        value, end = self._object(inner)
        self._open.pop()
        self.members[start] = self.members[inner]
        closing = self.solid(end)
        return value, closing + 1 if self.text[closing : closing + 1] == "}" else end

    def _array(self, start: int) -> tuple[list[Any], int]:
        self.enter("[")
        value: list[Any] = []
        places = self.elements[start] = []
        at, last = self.solid(start + 1), "["
        while not self._closes(at, last):
            element, end = self._value(at)
            value.append(element)
            places.append((at, end))
            at, last = self._after(end, in_object=False)
        return value, self._leave(at, "]")

    def enter(self, bracket: str) -> None:
        """Record an open bracket."""
        self._open.append(bracket)
        if len(self._open) > self._max_depth:
            raise Unrepairable(f"it is nested deeper than {self._max_depth}")

    def _closes(self, at: int, last: str) -> bool:
        """Return whether the innermost container ends here, by any bracket or by the end.

        `last` is the bracket or comma before this position, or "" behind a value.
        """
        # Any closing bracket ends the container: `[{"a": 1]` lacks a brace. `_leave` decides
        # whether the bracket belongs to it or to an outer one.
        char = self.text[at : at + 1]
        if char not in ("}", "]", ""):
            return False
        if not char and last and not self._ended:
            raise Unrepairable("the text ends before a value")
        if last == ",":
            self.note("repaired-commas")
        return True

    def _leave(self, at: int, bracket: str) -> int:
        """Return where a container ends: behind its own bracket, or before an outer one's."""
        self._open.pop()
        char = self.text[at : at + 1]
        if char == bracket:
            return at + 1
        if char and "[{"["]}".index(char)] not in self._open:
            raise self._unexpected(at, f"{bracket!r}")
        self.note("repaired-closing")
        return at

    def _after(self, end: int, *, in_object: bool) -> tuple[int, str]:
        """Return the position behind a member or an element and its comma, and that comma."""
        at = self.solid(end)
        char = self.text[at : at + 1]
        if char == ",":
            at = self.solid(at + 1)
            while self.text[at : at + 1] == ",":
                self.note("repaired-commas")
                at = self.solid(at + 1)
            return at, char
        if char in ("}", "]", ""):
            return at, ""
        if self._lacks_comma(end, at, in_object):
            self.note("repaired-commas")
            return at, ","
        if char in ('"', "'"):
            raise Unrepairable(f"a comma is missing before character {at + 1}")
        raise self._unexpected(at, "a comma or a closing bracket")

    def _lacks_comma(self, end: int, at: int, in_object: bool) -> bool:
        """Return whether a comma is missing here and no other reading is possible."""
        if in_object:
            return _MEMBER.match(self.text, at) is not None
        return self.text[end - 1] + self.text[at : at + 1] in _PAIRS

    def _key(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] in ('"', "'"):
            return self._string(at, "key")
        if word := _WORD.match(self.text, at):
            self.note("repaired-quotes")
            return word[0], word.end()
        raise self._unexpected(at, "a key")

    def _string(self, at: int, place: str) -> tuple[str, int]:
        found = read_string(self.text, at, place)
        if found is None:
            raise Unrepairable(why_open(self.text, at))
        for code in found.repairs:
            self.note(code)
        return found.value, found.end

    def _expect(self, at: int, char: str) -> int:
        at = self.solid(at)
        if self.text[at : at + 1] != char:
            raise self._unexpected(at, f"{char!r}")
        return self.solid(at + 1)

    def _unexpected(self, at: int, expected: str) -> Unrepairable:
        if at >= len(self.text):
            return Unrepairable(f"the text ends before {expected}")
        return Unrepairable(f"{self.text[at]!r} stands at character {at + 1}, not {expected}")

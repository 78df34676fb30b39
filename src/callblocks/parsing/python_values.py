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
from typing import Any, NamedTuple, cast

__all__ = ("Arguments", "read_arguments")

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

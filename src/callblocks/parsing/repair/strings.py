r"""A tolerant reader for strings: in either quotes, with raw newlines, quotes and backslashes.

The hard question is which quote ends the string. A quote ends it if the text behind the quote can
follow a string in that place: a colon behind a key; behind a value a closing bracket, or a comma
and the beginning of the next member or element. Any other quote is part of the string:

    {"say": "he said "no" to me", "n": 1}     the quotes around `no` are text

Three cases have no single reading, and give None:
    - a quote inside of a key, or one that seems to end a key (`"a": "b "c": 1`): a comma or a quote
      is missing somewhere;
    - in a list, an unpaired inner quote beside a comma (`["a", b", "c"]`): it may begin or end an
      element;
    - a string that never ends.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

__all__ = ("Found", "read_string", "why_open")

_SPECIAL = {quote: re.compile(rf"[\\{quote}\x00-\x1f]") for quote in "\"'"}
# A run of `\u` escapes is decoded as a whole, since two of them may be a surrogate pair.
_UNICODE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"} | {c: c for c in '"\\/'}
# Blanks are bounded: an unbounded run would be scanned again for each quote before it, which is
# quadratic.
_SPACE = r"[ \t\r\n]{0,1000}"
_COMMENT = r"(?:(?://|\#)[^\n]{0,300}\n|/\*(?:[^*]|\*(?!/)){0,300}\*/)"
_BLANKS = rf"{_SPACE}(?:{_COMMENT}{_SPACE}){{0,4}}"
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
_MEMBER = re.compile(rf"{_BLANKS}:{_BLANKS}[\"'\[{{\-0-9tfnTFN]")
# A value that ends, and the next key right behind it.
_NO_COMMA = re.compile(rf"([\"']){_BLANKS}(\1[^\"'\\]{{1,60}}\1){_BLANKS}:")
# A string, and another value right behind it. It must hold no bracket or sign: else the match runs
# from one string into the next.
_NO_SIGN = re.compile(rf"([\"'][^\"'\\\n{{}}\[\],:]{{1,60}}[\"']){_BLANKS}[\"'\[{{\-0-9tfnTFN]")
# A comma before a quote, or after it.
_BEFORE, _AFTER = re.compile(r",[ \t\r\n]{0,10}\Z"), re.compile(r"[ \t\r\n]{0,10},")


class Found(NamedTuple):
    """A string, the position behind it, and the codes of the repairs in it."""

    value: str
    end: int
    repairs: tuple[str, ...]


def read_string(text: str, at: int, place: str) -> Found | None:
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
            return Found("".join(parts), at, tuple(repairs)) if is_one else None
        elif special[0] == quote and (place == "key" or _MEMBER.match(text, at)):
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

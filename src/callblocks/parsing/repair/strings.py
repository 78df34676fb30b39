r"""A string as models write it: in either quotes, line breaks, quotes and backslashes in it raw.

A quote ends the string if what follows it can follow a string there: a colon after a key; after
a value a closing bracket, or a comma and what may come next. Any other quote is part of the text,
unless it stands in a key or seems to end one: then it is not known where the string ends. Nor is
it in a list where a quote without a partner stands beside a comma: another one may be missing.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

__all__ = ("Found", "read_string", "why_open")

_SPECIAL = {quote: re.compile(rf"[\\{quote}\x00-\x1f]") for quote in "\"'"}
_UNICODE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"} | {c: c for c in '"\\/'}
# Blanks are bounded, so that a run of them is not looked through for each quote before it.
_SPACE = r"[ \t\r\n]{0,1000}"
_COMMENT = r"(?:(?://|\#)[^\n]{0,300}\n|/\*(?:[^*]|\*(?!/)){0,300}\*/)"
_BLANKS = rf"{_SPACE}(?:{_COMMENT}{_SPACE}){{0,4}}"
_COMMAS = rf"(?:,{_BLANKS}){{1,3}}"
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
# What stands after a key: a string that runs into it is not one that holds a quote.
_MEMBER = re.compile(rf"{_BLANKS}:{_BLANKS}[\"'\[{{\-0-9tfnTFN]")
# A value that ends, and the next key right behind it.
_NO_COMMA = re.compile(rf"([\"']){_BLANKS}(\1[^\"'\\]{{1,60}}\1){_BLANKS}:")
# A string, and another value right behind it. A bracket or sign in the string says that it goes
# too far.
_NO_SIGN = re.compile(rf"([\"'][^\"'\\\n{{}}\[\],:]{{1,60}}[\"']){_BLANKS}[\"'\[{{\-0-9tfnTFN]")
# A comma before a quote, or after it.
_BEFORE, _AFTER = re.compile(r",[ \t\r\n]{0,10}\Z"), re.compile(r"[ \t\r\n]{0,10},")


class Found(NamedTuple):
    """A string, where it ends, and the codes of what was repaired in it."""

    value: str
    end: int
    repairs: tuple[str, ...]


def read_string(text: str, at: int, place: str) -> Found | None:
    """Read the string whose quote stands here; None if it has no end.

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
    """Why the string whose quote stands here has no end, as far as that can be told."""
    if found := _NO_COMMA.search(text, at + 1):
        return f"a comma is missing before {found[2]}"
    if found := _NO_SIGN.match(text, at):
        return f"a colon or a comma is missing after {found[1]}"
    return "a string is not closed"


def _is_two(text: str, bare: list[int]) -> bool:
    """Whether one of these quotes, beside a comma, may end a string of a list or begin the next."""
    return len(bare) % 2 > 0 and any(
        _BEFORE.search(text, max(at - 11, 0), at) or _AFTER.match(text, at + 1) for at in bare
    )


def _escape(text: str, at: int, quote: str) -> tuple[str, int, bool]:
    """What a backslash and what follows it stand for, where that ends, and whether it is JSON."""
    if run := _UNICODE.match(text, at):
        return json.loads(f'"{run[0]}"'), run.end(), True
    after = text[at + 1 : at + 2]
    if after == quote:
        return quote, at + 2, True
    if after in _ESCAPES:
        return _ESCAPES[after], at + 2, True
    return "\\", at + 1, False

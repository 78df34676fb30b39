"""A repair for unescaped quotes inside of the strings of a Python call.

    (command='sed -n '1,5p' a.txt')      is      (command='sed -n \\'1,5p\\' a.txt')

A quote ends an argument if the next argument (`, name=`) or the end of the call follows it. Any
other quote of the same kind belongs to the string.
"""

from __future__ import annotations

import re

__all__ = ("escape_quotes",)

# Blanks and names are bounded: an unbounded run would be scanned again for each quote before it,
# which is quadratic.
_BLANKS = r"[ \t\r\n]{0,100}"
_NAME = r"[A-Za-z_][\w.-]{0,100}"
_START = re.compile(rf"[(,]{_BLANKS}{_NAME}{_BLANKS}={_BLANKS}(['\"])")
_END = {
    quote: re.compile(
        rf"{quote}(?={_BLANKS}(?:,{_BLANKS}{_NAME}{_BLANKS}=|\){_BLANKS}(?:[\],]|\Z)))"
    )
    for quote in "'\""
}
_BARE = {quote: re.compile(rf"(\\.)|{quote}", re.DOTALL) for quote in "'\""}


def escape_quotes(text: str) -> str:
    """Return the arguments with the quotes inside of their strings escaped."""
    parts: list[str] = []
    at = 0
    while start := _START.search(text, at):
        quote = start[1]
        end = _END[quote].search(text, start.end())
        if end is None:
            break
        inside = text[start.end() : end.start()]
        parts += [
            text[at : start.end()],
            _BARE[quote].sub(lambda found, mark=quote: found[1] or f"\\{mark}", inside),
            quote,
        ]
        at = end.end()
    return "".join([*parts, text[at:]])

"""The arguments of a call that is written as code: `query="tides", limit=3)`."""

from __future__ import annotations

import re
from typing import Any

from callblocks.parsing.values.tolerant_json import Tolerant, Unrepairable

__all__ = (
    "escape_quotes",
    "read_keywords",
)

_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_NEXT = re.compile(r"\s*(,\s*\)|,|\))")
_CLOSED = re.compile(r"\s*\)")


def read_keywords(text: str, depth: int) -> tuple[dict[str, Any], int]:
    """Read arguments up to the closing parenthesis; return them, and the position behind it."""
    # Values are read tolerantly, as JSON or Python literals. `_NEXT` also takes a comma right
    # before the closing parenthesis, which ends the loop.
    value: dict[str, Any] = {}
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    if closed := _CLOSED.match(text):
        return value, closed.end()
    at, after = 0, ","
    while after == ",":
        keyword = _KEYWORD.match(text, at)
        if keyword is None or keyword[1] in value:
            raise Unrepairable(f"no keyword at character {at + 1}")
        value[keyword[1]], end = tolerant.read(keyword.end())
        found = _NEXT.match(text, end)
        if found is None:
            raise Unrepairable(f"no comma or parenthesis at character {end + 1}")
        at, after = found.end(), found[1]
    return value, at


# --- A repair for unescaped quotes inside of the strings of a Python call ---
#
#     (command='sed -n '1,5p' a.txt')      is      (command='sed -n \'1,5p\' a.txt')
#
# A quote ends an argument if the next argument (`, name=`) or the end of the call follows it. Any
# other quote of the same kind belongs to the string.

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

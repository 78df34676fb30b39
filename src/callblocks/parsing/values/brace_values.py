"""A reader for values in braces whose strings have a quote marker of their own.

    {city:<q>Paris<q>,days:3,near:[<q>Rouen<q>],more:{wind:true}}

Numbers, `true`, `false` and `null` are bare. A bare word is read as a string and reported; so are a
bare value where the schema wants a string, and a string in the quotes of JSON or Python. `quote` is
the marker on both sides of a string. The text is complete and was delimited by a scan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.typed import typed

__all__ = ("BraceValues",)

_BLANKS = re.compile(r"[ \t\r\n]*")
_BARE = re.compile(r"[^,{}\[\]]*")
# Comments of C, which some models put between members; their length is bounded.
_COMMENTS = re.compile(r"(?:(?://[^\n]*\n|/\*[^*]{0,400}\*/)[ \t\r\n]*)+")
_KEY = re.compile(r"[^,:{}\[\]]+")
# A string in the quotes of JSON or Python. Its closing quote must be followed by a separator:
# otherwise `it's` would open a string.
_QUOTED = re.compile(r"([\"'])((?:(?!\1)[^\\]|\\.)*)\1(?=[ \t\r\n]*[,:}\]])", re.DOTALL)
_PYTHON = {"True": True, "False": False, "None": None}


class BraceValues:
    """A reader of one object; `repairs` are the codes of the repairs, each with its reason."""

    def __init__(self, text: str, quote: str, *, strict: bool) -> None:
        self.text = text
        self.repairs: dict[str, str] = {}
        self._quote = quote
        self._strict = strict
        self._at = 0

    def read(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object that is the whole text, or raise `ValueError` with the reason.

        The caller guarantees that brackets match and that strings are closed.
        """
        try:
            value = self._object(schema)
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error
        # The scan counts a brace inside of foreign quotes; so the object may end before the text.
        if rest := self._next():
            raise ValueError(f"{rest!r} cannot stand after the arguments")
        return value

    def _next(self) -> str:
        blanks = _BLANKS.match(self.text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self.text[self._at : self._at + 1]

    def _next_member(self) -> str:
        """Skip blanks and comments, and return the first character of a member, or `}`."""
        self._next()
        if comments := _COMMENTS.match(self.text, self._at):
            self._repair("repaired-comments", f"a comment: {comments[0]!r:.60}")
            self._at = comments.end()
        return self._next()

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while self._next_member() != "}":
            key = self._key()
            if self._next() != ":":
                raise ValueError(f"a colon is missing after {key!r:.60}")
            self._at += 1
            if key in found:
                raise ValueError(f"{key!r:.60} stands twice")
            found[key] = self._value(_inner(schema.get("properties"), key))
            self._comma("}")
        self._at += 1
        return found

    def _array(self, schema: Mapping[str, Any]) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        while self._next() != "]":
            found.append(self._value(_inner(schema, "items")))
            self._comma("]")
        self._at += 1
        return found

    def _comma(self, closing: str) -> None:
        char = self._next()
        if char == ",":
            self._at += 1
        elif char != closing:
            raise ValueError(f"{char!r} cannot stand after a value")

    def _key(self) -> str:
        if (string := self._string()) is not None:
            return string
        bare = _KEY.match(self.text, self._at)
        if not bare:
            raise ValueError("a name is missing")
        self._at = bare.end()
        return bare[0].strip()

    def _value(self, schema: Mapping[str, Any]) -> Any:
        char = self._next()
        if char == "{":
            return self._object(schema)
        if char == "[":
            return self._array(schema)
        string = self._string()
        return self._bare(schema) if string is None else string

    def _string(self) -> str | None:
        """Return the string at the position, or None if no quote stands there."""
        self._next()
        if not self.text.startswith(self._quote, self._at):
            return self._quoted()
        start = self._at + len(self._quote)
        end = self.text.index(self._quote, start)
        self._at = end + len(self._quote)
        return self.text[start:end]

    def _quoted(self) -> str | None:
        """Return the string in foreign quotes at the position, if it is closed."""
        found = _QUOTED.match(self.text, self._at)
        if not found:
            return None
        self._repair("repaired-quotes", f"a string in other quotes: {found[0]!r:.60}")
        self._at = found.end()
        try:
            return str(read_json(f'"{found[2]}"'))
        except ValueError:
            return found[2]

    def _bare(self, schema: Mapping[str, Any]) -> Any:
        match = _BARE.match(self.text, self._at)
        self._at = match.end() if match else self._at
        text = match[0].strip() if match else ""
        if not text:
            raise ValueError("a value is missing")
        if self._quote in text:
            return self._unquoted(self._without_quote(text))
        value = typed(text, {"type": schema["type"]}) if schema.get("type") else None
        if value and value[1]:
            return self._unquoted(text) if isinstance(value[0], str) else value[0]
        try:
            return read_json(text)
        except ValueError:
            return self._word(text)

    def _without_quote(self, text: str) -> str:
        """Return a word without the quote that closes it; the one that opens it is missing."""
        word = text.removesuffix(self._quote)
        if self._quote in word:
            raise ValueError(f"a quote stands inside of {text!r:.60}")
        return word

    def _word(self, text: str) -> Any:
        if text not in _PYTHON:
            return self._unquoted(text)
        self._repair("repaired-literals", f"a word of Python: {text}")
        return _PYTHON[text]

    def _unquoted(self, text: str) -> str:
        self._repair("repaired-quotes", f"a string without quotes: {text!r:.60}")
        return text

    def _repair(self, code: str, detail: str) -> None:
        if self._strict:
            raise ValueError(detail)
        self.repairs.setdefault(code, detail)


def _inner(schema: Any, name: str) -> Mapping[str, Any]:
    inner: Any = (
        cast("Mapping[str, Any]", schema).get(name) if isinstance(schema, Mapping) else None
    )
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}

"""Keyword arguments as Python writes them: `(path="a.txt", days=3)`.

Strings stream; the closing quote is told when another argument follows it. Other values wait for
their end, and are read as the parser reads them. Anything else stops the reader: positional
arguments, joined strings, expressions.
"""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.reader import JsonOutput, Reader
from callblocks.parsing.values.python_values import read_arguments

__all__ = ("PythonReader",)

_NAME = re.compile(r"([A-Za-z_][\w.-]{0,200})[ \t\r\n]{0,100}=[ \t\r\n]{0,100}(?=[^= \t\r\n])")
_MAY_BE_NAME = re.compile(
    r"[A-Za-z_][\w.-]{0,200}[ \t\r\n]{0,100}(?:=[ \t\r\n]{0,100})?\Z",
)
_SHORT = dict(zip("abfnrtv'\"\\", "\a\b\f\n\r\t\v'\"\\", strict=True)) | {"\n": ""}
_HEX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")
_HARD = "xuU01234567\r"
_MAY_BE_HEX = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3})\Z")
_SPECIAL = {
    quote: re.compile(rf"[\\{quote[0]}]" if len(quote) == 1 else rf"\\|{quote[0]}{{1,3}}")
    for quote in ("'", '"', "'''", '"""')
}


class _ValueScan:
    """A search for the end of a value that is no string; it remembers how far it has looked.

    `quotes` are the characters that open and close strings in it.
    """

    _TOKEN = re.compile(r"""\\.|[\[\](){},'"]""", re.DOTALL)

    def __init__(self, quotes: str = "'\"") -> None:
        self._quotes = quotes
        self._open: list[str] = []
        self._quote = ""

    def find(self, buf: str, pos: int) -> int:
        """Return the position of the comma or bracket that ends the value; -1 if it goes on."""
        for token in self._TOKEN.finditer(buf, pos):
            char = token[0]
            if self._quote:
                if char == self._quote:
                    self._quote = ""
            elif char in self._quotes:
                self._quote = char
            elif char in "[({":
                self._open.append(char)
            elif char in "])}," and not self._open:
                return token.start()
            elif char in "])}":
                self._open.pop()
        return -1


class PythonReader(Reader):
    """A reader of keyword arguments in parentheses."""

    def __init__(self, out: JsonOutput, spec: ToolSpec | None = None) -> None:
        super().__init__(out)
        self._known = spec.properties if spec else {}
        self._seen: set[str] = set()
        self._name = self._quote = ""
        self._scan = _ValueScan()
        self._parts: list[str] = []

    def begin(self) -> bool:
        char = self.skip_blanks()
        if not char:
            return self.wait()
        if char != "(":
            return self.stop()
        self.pos += 1
        self.step = self._argument
        return True

    def _argument(self) -> bool:
        """Read the name of an argument, and where its value begins."""
        char = self.skip_blanks()
        if not char:
            return self.wait()
        found = _NAME.match(self.buf, self.pos)
        if found is None:
            return self.wait() if _MAY_BE_NAME.match(self.buf, self.pos) else self.stop()
        name, at = found[1], found.end()
        if name in self._seen or (self._known and name not in self._known):
            return self.stop()
        char = self.buf[at]
        if char in "'\"":
            mark = self.buf[at : at + 3]
            if len(mark) < 3 and mark in ("'", '"', "''", '""'):
                return False
            self._quote = mark if mark in ("'''", '"""') else char
            self.out.key(name)
            self.out.open()
            self.pos = at + len(self._quote)
            self.step = self._string
        else:
            self.pos = at
            self._scan, self._parts = _ValueScan(), []
            self.step = self._value
        self._seen.add(name)
        self._name = name
        return True

    def _string(self) -> bool:
        buf, quote = self.buf, self._quote
        special = _SPECIAL[quote].search(buf, self.pos)
        end = special.start() if special else len(buf)
        if end > self.pos:
            self.out.text(buf[self.pos : end])
            self.pos = end
        if special is None:
            return False
        if special[0] == "\\":
            return self._escape()
        if len(special[0]) < len(quote):
            if special.end() == len(buf):
                return False
            self.out.text(special[0])
            self.pos = special.end()
            return True
        return self._end(special.end())

    def _escape(self) -> bool:
        buf, pos = self.buf, self.pos
        char = buf[pos + 1 : pos + 2]
        if not char:
            return False
        if char in _SHORT:
            self.out.text(_SHORT[char])
            self.pos += 2
            return True
        if char not in _HARD:
            # An unknown escape stays as it is written, as in Python.
            self.out.text(buf[pos : pos + 2])
            self.pos += 2
            return True
        found = _HEX.match(buf, pos)
        code = int(found[1] or found[2], 16) if found else 0xD800
        if 0xD800 <= code <= 0xDFFF:
            return False if _MAY_BE_HEX.match(buf, pos) else self.stop()
        self.out.text(chr(code))
        self.pos = found.end() if found else pos
        return True

    def _end(self, at: int) -> bool:
        """Read a quote that may end a string: another argument must follow."""
        char, at = self.ahead(at)
        if char != ",":
            return self.stop() if char else self.wait()
        char, at = self.ahead(at + 1)
        if not char:
            return self.wait()
        if not _NAME.match(self.buf, at):
            return self.wait() if _MAY_BE_NAME.match(self.buf, at) else self.stop()
        self.out.close()
        self.pos = at
        self.step = self._argument
        return True

    def _value(self) -> bool:
        buf = self.buf
        # A backslash at the end may begin an escape of two characters.
        whole = len(buf) - buf.endswith("\\")
        end = self._scan.find(buf[:whole], self.pos)
        if end < 0:
            self._parts.append(buf[self.pos : whole])
            self.pos = whole
            return False
        if buf[end] != ",":
            return self.stop()
        text = "".join((*self._parts, buf[self.pos : end])).strip()
        try:
            value: Any = read_arguments(f"(value={text})", strict=False).by_name["value"]
        except (ValueError, KeyError):
            return self.stop()
        self.out.key(self._name)
        self.out.value(value)
        self.pos = end + 1
        self.step = self._argument
        return True

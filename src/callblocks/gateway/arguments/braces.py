"""Values in braces whose strings have a quote marker: `{city:<q>Paris<q>,days:3}`.

A string of the object itself streams. Other values wait for their end, and the parser's own reader
reads them by the schema.
"""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.output import JsonOutput
from callblocks.gateway.arguments.reader import Reader
from callblocks.parsing.values.brace_values import BraceValues

__all__ = ("BraceReader",)

_KEY = re.compile(r"[^,:{}\[\]\"'<>/]{1,200}")


class BraceReader(Reader):
    """A reader of the object of one call."""

    def __init__(self, out: JsonOutput, quote: str, spec: ToolSpec | None) -> None:
        super().__init__(out)
        self._quote, self._spec = quote, spec
        begun = "|".join(re.escape(quote[:size]) for size in range(len(quote) - 1, 0, -1))
        self._string_end = re.compile(rf"({re.escape(quote)})|(?:{begun})\Z")
        self._token = re.compile(rf"({re.escape(quote)})|([\[\]{{}},\"'])|(?:{begun})\Z")
        self._seen: set[str] = set()
        self._name = ""
        self._open: list[str] = []
        self._inside = False
        self._parts: list[str] = []

    def begin(self) -> bool:
        char = self.skip_blanks()
        if not char:
            return self.wait()
        if char != "{":
            return self.stop()
        self.pos += 1
        self.step = self._member
        return True

    def _member(self) -> bool:
        if not self.skip_blanks():
            return self.wait()
        buf = self.buf
        found = _KEY.match(buf, self.pos)
        if found is None:
            return self.stop()
        if found.end() == len(buf):
            return self.wait()
        name, at = found[0].strip(), found.end()
        if buf[at] != ":" or not name or name in self._seen:
            return self.stop()
        char, at = self.ahead(at + 1)
        mark = buf[at : at + len(self._quote)]
        if not char or (mark != self._quote and self._quote.startswith(mark)):
            return self.wait()
        self._seen.add(name)
        self._name = name
        self.pos = at
        if mark == self._quote:
            self.out.key(name)
            self.out.open()
            self._parts = []
            self.pos += len(mark)
            self.step = self._string
        else:
            self._open, self._parts, self._inside = [], [], False
            self.step = self._value
        return True

    def _string(self) -> bool:
        found = self._string_end.search(self.buf, self.pos)
        end = found.start() if found else len(self.buf)
        if end > self.pos:
            self._tell_text(self.buf[self.pos : end])
            self.pos = end
        if found is None or not found[1]:
            return False
        char, at = self.ahead(found.end())
        if char != ",":
            return self.stop() if char else self.wait()
        self.out.text("".join(self._parts))
        self.out.close()
        self.pos = at + 1
        self.step = self._member
        return True

    def _tell_text(self, text: str) -> None:
        # Brackets at the end of a string end the call instead, if the last quote is missing.
        kept = text.rstrip("}] \t\r\n")
        if kept:
            self.out.text("".join((*self._parts, kept)))
            self._parts = []
        if len(kept) < len(text):
            self._parts.append(text[len(kept) :])

    def _value(self) -> bool:
        """Find the end of a value that is no string."""
        while found := self._token.search(self.buf, self.pos):
            if found[1] is None and found[2] is None:
                self._keep(found.start())
                return False
            if found[1]:
                self._inside = not self._inside
            elif not self._inside:
                char = found[2]
                if char in "\"'" or (char in "}]" and not self._open):
                    return self.stop()
                if char == "," and not self._open:
                    self._keep(found.start())
                    return self._tell()
                if char in "{[":
                    self._open.append(char)
                elif char in "}]":
                    self._open.pop()
            self._keep(found.end())
        self._keep(len(self.buf))
        return False

    def _keep(self, end: int) -> None:
        self._parts.append(self.buf[self.pos : end])
        self.pos = end

    def _tell(self) -> bool:
        text = f"{{{self._name}:{''.join(self._parts)}}}"
        schema: dict[str, Any] = self._spec.parameters if self._spec else {}
        try:
            read = BraceValues(text, self._quote, strict=False).read(schema)
        except (ValueError, IndexError):
            return self.stop()
        if list(read) != [self._name]:
            return self.stop()
        self.out.key(self._name)
        self.out.value(read[self._name])
        self.pos += 1
        self.step = self._member
        return True

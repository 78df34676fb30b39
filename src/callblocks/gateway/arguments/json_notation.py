"""JSON as models write it, and values in braces whose strings have a quote marker.

    {"city": "Paris"}              `JsonReader`: an object
    "{\\"city\\": \\"Paris\\"}"      `QuotedJsonReader`: a string that holds one
    {city:<q>Paris<q>,days:3}      `BraceReader`

Strings stream at any depth, since no schema changes a value that was written as JSON. The closing
quote of a string is told when what follows confirms it: the parser reads `"a "b" c"` as one string.
A raw newline in a string is text, as it is for the parser.

In braces a string of the object itself streams. Other values wait for their end, and the parser's
own reader reads them by the schema.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.reader import JsonOutput, Reader, Step, dumps
from callblocks.parsing.shapes.brace_calls import BraceValues

__all__ = ("BraceReader", "Decoded", "JsonReader", "QuotedJsonReader", "decode")

_SPECIAL = re.compile(r'["\\]')
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_MAY_BE_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_LOW = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_MAY_BE_LOW = re.compile(r"(?:\\(?:u[dD]?[0-9a-fA-F]{0,2})?)?")
_ESCAPE_SIZE = 6
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_KEY = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?(?:[eE][-+]?[0-9]{1,5})?")
_WORDS = {"true": True, "false": False, "null": None}
_MOST_DEEP = 100


class Decoded(NamedTuple):
    """Decoded text, where it ends, and why: "more" text is needed, the "end", or it is "bad"."""

    text: str
    end: int
    why: str


def decode(buf: str, pos: int) -> Decoded:
    """Decode the inside of a JSON string from a position on, as far as it is certain."""
    parts: list[str] = []
    while True:
        special = _SPECIAL.search(buf, pos)
        parts.append(buf[pos : special.start() if special else len(buf)])
        if special is None:
            return Decoded("".join(parts), len(buf), "more")
        pos = special.start()
        if special[0] == '"':
            return Decoded("".join(parts), pos, "end")
        escape = _ESCAPE.match(buf, pos)
        if escape is None:
            begins = _MAY_BE_ESCAPE.match(buf, pos) is not None
            return Decoded("".join(parts), pos, "more" if begins else "bad")
        if escape[1]:
            parts.append(_SHORT[escape[1]])
            pos = escape.end()
            continue
        char, end = chr(int(escape[2], 16)), escape.end()
        if "\ud800" <= char <= "\udbff":
            # It may be the first half of a pair, which is one character.
            rest = buf[end : end + 6]
            low = _LOW.match(rest)
            if low is None and len(rest) < _ESCAPE_SIZE and _MAY_BE_LOW.fullmatch(rest):
                return Decoded("".join(parts), pos, "more")
            if low:
                high = ord(char) - 0xD800
                char = chr(0x10000 + (high << 10) + int(low[1], 16) - 0xDC00)
                end += 6
        parts.append(char)
        pos = end


class _Nothing(JsonOutput):
    """An output that drops everything."""

    def key(self, name: str) -> None:
        pass

    def raw(self, text: str) -> None:
        pass

    def open(self) -> None:
        pass

    def text(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


_NOTHING = _Nothing()


class JsonReader(Reader):
    """A reader of an object in JSON.

    A member that the tool does not have is read and not told: the parser may find that it is none.
    """

    def __init__(self, out: JsonOutput, spec: ToolSpec | None = None) -> None:
        super().__init__(out)
        self._own = out
        self._known = spec.properties if spec else {}
        # The open brackets, the keys in each open object, and whether each has a member already.
        self._brackets: list[str] = []
        self._keys: list[set[str]] = []
        self._filled: list[bool] = []
        self._name = ""

    def feed(self, text: str) -> None:
        # Most pieces are the plain middle of a string.
        if (
            self.step == self._string
            and self.pos == len(self.buf)
            and '"' not in text
            and "\\" not in text
        ):
            self.out.text(text)
            return
        super().feed(text)

    def begin(self) -> bool:
        char = self.skip_blanks()
        if not char:
            return self.wait()
        if char != "{":
            return self.stop()
        self.pos += 1
        self._brackets.append("{")
        self._keys.append(set())
        self._filled.append(False)
        self.step = self._member
        return True

    def _member(self) -> bool:
        """Read the key of a member and its colon, or the end of an object."""
        char = self.skip_blanks()
        if not char or char == "}":
            return self._end() if char else self.wait()
        key = _KEY.match(self.buf, self.pos) if char == '"' else None
        if key is None:
            return self.wait() if char == '"' else self.stop()
        colon, at = self.ahead(key.end())
        char, at = self.ahead(at + 1) if colon == ":" else ("", at)
        if not char:
            return self.wait() if colon in ("", ":") else self.stop()
        name = _name_in(key[0])
        if name is None or name in self._keys[-1]:
            return self.stop()
        self._keys[-1].add(name)
        if len(self._brackets) == 1:
            known = self._known
            self.out = self._own if not known or name in known else _NOTHING
        self._name = name
        self.pos = at
        self.step = self._value
        return True

    def _value(self) -> bool:
        char = self.skip_blanks()
        if not char:
            return self.wait()
        if char == '"':
            self._introduce()
            self.out.open()
            self.pos += 1
            self.step = self._string
        elif char in "{[":
            if len(self._brackets) >= _MOST_DEEP:
                return self.stop()
            self._introduce()
            self.out.raw(char)
            self.pos += 1
            self._brackets.append(char)
            self._keys.append(set())
            self._filled.append(False)
            self.step = self._member if char == "{" else self._item
        else:
            return self._scalar()
        return True

    def _item(self) -> bool:
        """Read the first item of an array, or its end."""
        char = self.skip_blanks()
        if not char:
            return self.wait()
        if char == "]":
            return self._end()
        self.step = self._value
        return True

    def _introduce(self) -> None:
        """Tell what stands before a value: a comma, a key."""
        if len(self._brackets) == 1:
            self.out.key(self._name)
            return
        comma = ", " if self._filled[-1] else ""
        self._filled[-1] = True
        name = f"{self.out.name(self._name)}: " if self._brackets[-1] == "{" else ""
        self.out.raw(comma + name)

    def _scalar(self) -> bool:
        found = _SCALAR.match(self.buf, self.pos)
        if found is None:
            return self.stop()
        if found.end() == len(self.buf):
            return self.wait()
        text = found[0]
        if text in _WORDS:
            value = _WORDS[text]
        elif _NUMBER.fullmatch(text):
            value = json.loads(text)
            if isinstance(value, float) and not math.isfinite(value):
                return self.stop()
        else:
            return self.stop()
        if not self._is_followed(found.end()):
            return False
        self._introduce()
        self.out.raw(dumps(value))
        self.pos = found.end()
        self.step = self._after
        return True

    def _string(self) -> bool:
        text, self.pos, why = decode(self.buf, self.pos)
        if text:
            self.out.text(text)
        if why == "end":
            self.step = self._quote
            return True
        return self.stop() if why == "bad" else False

    def _quote(self) -> bool:
        """Read a quote that may end a string."""
        if not self._is_followed(self.pos + 1):
            return False
        self.out.close()
        self.pos += 1
        self.step = self._after
        return True

    def _is_followed(self, at: int) -> bool:
        """Return whether the end of a value follows; stop if something else does."""
        char, at = self.ahead(at)
        inside = self._brackets[-1]
        if char == ",":
            char, _ = self.ahead(at + 1)
            begins = '"' if inside == "{" else '"[{-0123456789tfn'
            good = bool(char) and char in begins
        else:
            good = bool(char) and char == ("}" if inside == "{" else "]")
        if char and not good:
            self.stop()
        elif not char:
            self.wait()
        return good

    def _after(self) -> bool:
        """Read what stands behind a value."""
        char = self.skip_blanks()
        if not char:
            return self.wait()
        inside = self._brackets[-1]
        if char == ",":
            self.pos += 1
            self.step = self._member_or_value
            return True
        return self._end() if char == ("}" if inside == "{" else "]") else self.stop()

    def _member_or_value(self) -> bool:
        char = self.skip_blanks()
        if not char:
            return self.wait()
        if char in "]}":
            return self.stop()
        self.step = self._member if self._brackets[-1] == "{" else self._value
        return True

    def _end(self) -> bool:
        """Read a closing bracket."""
        if len(self._brackets) == 1:
            return self.stop()
        bracket = self._brackets.pop()
        self._keys.pop()
        self._filled.pop()
        self.out.raw("}" if bracket == "{" else "]")
        self.pos += 1
        self.step = self._after
        return True


def _name_in(text: str) -> str | None:
    """Return the key that a JSON string stands for."""
    try:
        return str(json.loads(text))
    except ValueError:
        return None


class QuotedJsonReader(Reader):
    """A reader of a JSON string that holds an object in JSON."""

    def __init__(self, out: JsonOutput, spec: ToolSpec | None = None) -> None:
        super().__init__(out)
        self._inner = JsonReader(out, spec)

    def begin(self) -> bool:
        if self.skip_blanks() != '"':
            return self.wait()
        self.pos += 1
        self.step: Step = self._inside
        return True

    def _inside(self) -> bool:
        text, self.pos, why = decode(self.buf, self.pos)
        if text:
            self._inner.feed(text)
        return self.stop() if why != "more" or self._inner.stopped else False


# --- Braces ---


_BARE_KEY = re.compile(r"[^,:{}\[\]\"'<>/]{1,200}")


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
        found = _BARE_KEY.match(buf, self.pos)
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

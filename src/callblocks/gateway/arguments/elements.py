"""Arguments in elements with their names: `<path>a.txt</path><content>…</content>`.

A value ends at the first closing tag of its name that the opening tag of another argument follows;
at any other such tag the reader stops. Entities are decoded where the dialect does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.output import JsonOutput
from callblocks.gateway.arguments.reader import Reader
from callblocks.gateway.arguments.schema_text import types_for
from callblocks.gateway.arguments.tags import Value
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.shapes.element_bodies import ElementBodies, NamedTags

__all__ = ("ElementReader",)

_OPENING = re.compile(r"<([A-Za-z_][\w.-]{0,100})>")
_MAY_OPEN = re.compile(r"<(?:[A-Za-z_][\w.-]{0,100})?\Z")
_ENTITY = re.compile(r"&(?:#?\w{0,10})?\Z")
_DEPTH = 100


@lru_cache(maxsize=512)
def _ends(before: str, key: str, *, escapes: bool) -> re.Pattern[str]:
    """Return a pattern for what ends the plain text of a value, or may begin to.

    Its group is the closing tag; where the text stops inside of what may be one, no group matches.
    """
    close = f"{before}</"
    tag = rf"{re.escape(close)}[ \t\r\n]{{0,20}}{re.escape(key)}[ \t\r\n]{{0,20}}>"
    begun = "|".join(re.escape(close[:size]) for size in range(len(close) - 1, 0, -1))
    name = "|".join(re.escape(key[:size]) for size in range(len(key), -1, -1))
    partly = rf"{re.escape(close)}[ \t\r\n]{{0,20}}(?:{name})[ \t\r\n]{{0,20}}\Z|(?:{begun})\Z"
    nested = rf"|({re.escape(before)})" if before else ""
    entity = r"|(&(?:#?\w{0,10};?)?)" if escapes else ""
    cdata = r"|(<!\[CDATA\[)|<(?:!(?:\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?\Z" if escapes else ""
    return re.compile(f"({tag})|{partly}{cdata}{entity}{nested}")


class ElementReader(Reader):
    """A reader of the elements of one call; `before` stands before each tag."""

    def __init__(
        self,
        out: JsonOutput,
        shape: ElementBodies,
        spec: ToolSpec | None,
        *,
        before: str = "",
        skips: str = "",
    ) -> None:
        super().__init__(out)
        self._shape, self._spec, self._before, self._skips = shape, spec, before, skips
        self._seen: set[str] = set()
        self._current: Value | None = None
        self._ends = _OPENING

    def begin(self) -> bool:
        """Read the opening tag of the first argument, and perhaps a tag around all."""
        key, end = self._opening(self.pos)
        if key is None:
            return False
        self.pos = end
        if key == self._skips:
            self._skips = ""
            return True
        return self._open(key)

    def _opening(self, at: int) -> tuple[str | None, int]:
        """Return the name in an opening tag, and its end; None where it must wait, or stops."""
        char, at = self.ahead(at)
        if not char:
            self.wait()
            return None, 0
        before, buf = self._before, self.buf
        if before:
            begun = buf[at : at + len(before)]
            if not before.startswith(begun):
                self.stop()
                return None, 0
            if begun != before:
                return None, 0
            at += len(before)
        found = _OPENING.match(buf, at)
        if found:
            return found[1], found.end()
        if at < len(buf) and not _MAY_OPEN.match(buf, at):
            self.stop()
        return None, 0

    def _open(self, key: str) -> bool:
        shape, spec = self._shape, self._spec
        if key in self._seen or not shape.is_key(key, spec):
            return self.stop()
        self._seen.add(key)
        known = spec is None or not spec.properties or key in spec.properties
        types = types_for(spec, key)
        # An object or a list may stand in elements, also where a string is allowed.
        is_open = isinstance(shape, NamedTags) or bool(self._before)
        held = {"any"} if is_open and types & {"object", "array"} else set[str]()
        self._current = Value(self.out, key, types | held, trims=shape.trims, known=known)
        self._ends = _ends(self._before, key, escapes=shape.escapes)
        self.step = self._read
        return True

    def _read(self) -> bool:
        value = self._current
        assert value is not None
        found = self._ends.search(self.buf, self.pos)
        end = found.start() if found else len(self.buf)
        if end > self.pos:
            value.add(self.buf[self.pos : end])
            self.pos = end
        if found is None:
            return False
        if found[1] is None:
            return self._read_other(value, found)
        key, after = self._opening(found.end())
        if key is None or not self._shape.is_key(key, self._spec):
            return False if key is None else self.stop()
        self.pos = after
        return self._open(key) if self._end(value) else self.stop()

    def _read_other(self, value: Value, found: re.Match[str]) -> bool:
        """Read what is no closing tag: an entity, or what makes the value irregular."""
        text = found[0]
        if not text.startswith("&"):
            return self.stop() if found.lastindex else self.wait()
        if found.end() == len(self.buf) and not text.endswith(";") and _ENTITY.match(text):
            return self.wait()
        decoded = self._shape.decode(text) if isinstance(self._shape, NamedTags) else text
        value.add(decoded if value.shown else text)
        self.pos = found.end()
        return True

    def _end(self, value: Value) -> bool:
        """Tell the end of a value; return False if it cannot be told."""
        if value.shown:
            value.end()
            return True
        spec, key, before = self._spec, value.key, self._before
        if spec is not None and spec.properties and key not in spec.properties:
            return True
        try:
            body = f"{before}<{key}>{value.text}{before}</{key}>"
            read, problems = self._shape.read_body(body, spec, _DEPTH)
        except (BadBody, ValueError, RecursionError):
            return False
        if list(read) != [key]:
            return False
        # A value that does not fit may be the first item of a list, if its element is repeated.
        if not problems:
            self.out.key(key)
            self.out.value(read[key])
        return True

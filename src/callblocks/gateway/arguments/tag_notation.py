"""Arguments in tags, or in elements with their names.

    <parameter=KEY>, <parameter name="KEY">, <arg_key> and <arg_value>      `TagReader`
    <path>a.txt</path><content>…</content>                                  `ElementReader`

A value is text up to a tag that may close the argument. The tag counts if the opening tag of
another argument follows it. The parser takes any other such tag for part of the value, or splits
the value there: the reader stops, and the value is begun, but not ended. In elements a value ends
at the first closing tag of its name; entities are decoded where the dialect does.

The last value ends with the call, so `finish` ends it. A value that may not be a string waits for
its end, and the dialect itself types it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from callblocks.core.specs import ToolSpec
from callblocks.gateway.arguments.reader import (
    MOST,
    Certainty,
    JsonOutput,
    Reader,
    certainty,
    types_for,
)
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.readers.tags import BLANKS, XmlTags
from callblocks.parsing.shapes.element_bodies import ElementBodies, NamedTags
from callblocks.parsing.shapes.tag_arguments import JsonValues, MarkedValues
from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("ElementReader", "TagReader")

_CDATA = "<![CDATA["
# The beginning of a value that may still be CDATA.
_MAY_BE_CDATA = re.compile(r"\s*(?:<(?:!(?:\[(?:C(?:D(?:A(?:T(?:A\[?)?)?)?)?)?)?)?)?\Z")


@lru_cache(maxsize=512)
def _stops(tags: XmlTags, key: str) -> Markers:
    """Return the tags that may end the value of a key, or begin another one."""
    own = Shape(tuple(map(re.escape, f"</{key}>")))
    return Markers(*tags.argument_end.shapes, *tags.argument.shapes, own)


@lru_cache(maxsize=256)
def _opening(tags: XmlTags) -> Markers:
    return Markers(*(Shape((BLANKS, *shape.atoms)) for shape in tags.argument.shapes))


class ArgumentValue:
    """The value of one argument while it is read.

    `trims`: one line end on each side belongs to the tags. `shown`: the value is told as text.
    """

    def __init__(
        self,
        out: JsonOutput,
        key: str,
        types: set[str],
        *,
        trims: bool = False,
        untyped_is_json: bool = False,
        cdata: bool = False,
        known: bool = True,
    ) -> None:
        self.key = key
        self.shown = False
        self._out = out
        self._types = types
        self._trims = trims
        self._untyped_is_json = untyped_is_json
        self._cdata = cdata
        self._certainty = Certainty.OPEN if known else Certainty.HELD
        self._parts: list[str] = []
        self._held = ""

    @property
    def text(self) -> str:
        """The text of a value that was not told."""
        return "".join(self._parts)

    def add(self, text: str) -> None:
        """Take more text of the value."""
        if self.shown:
            self._tell(text)
            return
        self._parts.append(text)
        if self._certainty is not Certainty.OPEN:
            return
        begun = self.text
        if self._trims:
            # The line end of the tag must be whole.
            if begun in ("", "\r"):
                return
            begun = begun.removeprefix("\n" if begun.startswith("\n") else "\r\n")
        if self._cdata:
            if _MAY_BE_CDATA.fullmatch(begun[:MOST]):
                self._certainty = Certainty.HELD if len(begun) > MOST else Certainty.OPEN
                return
            if begun.lstrip().startswith(_CDATA):
                self._certainty = Certainty.HELD
                return
        first = begun[:MOST]
        self._certainty = certainty(self._types, first, untyped_is_json=self._untyped_is_json)
        if self._certainty is Certainty.TEXT:
            self.shown = True
            self._parts.clear()
            self._out.key(self.key)
            self._out.open()
            self._tell(begun)
        elif len(begun) > MOST:
            self._certainty = Certainty.HELD
        elif self._certainty is Certainty.OPEN:
            self._parts = [self.text]

    def end(self) -> None:
        """End a value that was told; a line end that belongs to its tag is dropped."""
        if self._held and (self._held == "\r" or not self._trims):
            self._out.text(self._held)
        self._out.close()

    def _tell(self, text: str) -> None:
        # The parser drops the line end behind a value that lacks its closing tag, in any dialect.
        text = self._held + text
        kept = text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
        kept = kept.removesuffix("\r") if kept == text else kept
        text, self._held = kept, text[len(kept) :]
        if text:
            self._out.text(text)


class TagReader(Reader):
    """A reader of the arguments of one call in a dialect of tags."""

    def __init__(self, out: JsonOutput, shape: XmlParameters, spec: ToolSpec | None) -> None:
        super().__init__(out)
        self._shape, self._spec = shape, spec
        self._openings = _opening(shape.tags).growing
        self._search = self._openings
        self._tag = ""
        self._seen: set[str] = set()
        self._current: ArgumentValue | None = None

    def begin(self) -> bool:
        """Read the opening tag of the first argument."""
        if self.pos == len(self.buf):
            return False
        found = self._openings.match(self.buf, self.pos)
        if found is None:
            return self.stop()
        if not found.lastindex:
            return self.wait()
        self.pos = found.end()
        return self._open(found[0].lstrip())

    def _open(self, tag: str) -> bool:
        try:
            key = self._shape.key_in(tag)
        except IndexError:
            return self.stop()
        if not key or key in self._seen or tag.endswith("/>"):
            return self.stop()
        self._seen.add(key)
        self._tag = tag
        self._current = self._value_of(key, tag)
        self._search = _stops(self._shape.tags, key).growing
        self.step = self._read
        return True

    def _value_of(self, key: str, tag: str) -> ArgumentValue:
        shape, spec = self._shape, self._spec
        types = types_for(spec, key)
        is_json = isinstance(shape, JsonValues) and not types
        if isinstance(shape, MarkedValues) and not shape.is_text(tag):
            # JSON that fits the schema is taken as JSON, and `string` in it may be any.
            is_json, types = True, types and {*types, "any"}
        return ArgumentValue(
            self.out,
            key,
            types,
            trims=shape.trims,
            untyped_is_json=is_json,
            cdata=shape.cdata,
            known=spec is None or not spec.properties or key in spec.properties,
        )

    def _read(self) -> bool:
        value = self._current
        assert value is not None
        found = self._search.search(self.buf, self.pos)
        end = found.start() if found else len(self.buf)
        if end > self.pos:
            value.add(self.buf[self.pos : end])
            self.pos = end
        if found is None or not found.lastindex:
            return self.wait() if found else False
        tag, after = found[0], found.end()
        closes = self._shape.tags.argument_end.is_in(tag) or tag == f"</{value.key}>"
        opening = self._openings.match(self.buf, after) if closes else None
        if opening is None:
            return False if closes and after == len(self.buf) else self.stop()
        if not opening.lastindex:
            return self.wait()
        self.pos = opening.end()
        return self._open(opening[0].lstrip()) if self._end(value) else self.stop()

    def _end(self, value: ArgumentValue) -> bool:
        """Tell the end of a value; return False if it cannot be told."""
        if value.shown:
            value.end()
            return True
        spec, key = self._spec, value.key
        if spec is not None and spec.properties and key not in spec.properties:
            return True
        shape = self._shape
        try:
            read = shape.typed_value(self._tag, shape.bare(value.text), spec, key)
        except (BadBody, ValueError, RecursionError):
            return False
        # A value that does not fit may be the first item of a list, if its argument is repeated.
        if read.fits:
            self.out.key(key)
            self.out.value(read.value)
        return True


# --- Elements ---


_ELEMENT = re.compile(r"<([A-Za-z_][\w.-]{0,100})>")
_MAY_BE_ELEMENT = re.compile(r"<(?:[A-Za-z_][\w.-]{0,100})?\Z")
_ENTITY = re.compile(r"&(?:#?\w{0,10})?\Z")
_DEPTH = 100


@lru_cache(maxsize=512)
def _element_ends(before: str, key: str, *, escapes: bool) -> re.Pattern[str]:
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
        self._current: ArgumentValue | None = None
        self._ends = _ELEMENT

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
        found = _ELEMENT.match(buf, at)
        if found:
            return found[1], found.end()
        if at < len(buf) and not _MAY_BE_ELEMENT.match(buf, at):
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
        self._current = ArgumentValue(self.out, key, types | held, trims=shape.trims, known=known)
        self._ends = _element_ends(self._before, key, escapes=shape.escapes)
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

    def _read_other(self, value: ArgumentValue, found: re.Match[str]) -> bool:
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

    def _end(self, value: ArgumentValue) -> bool:
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

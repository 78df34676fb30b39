"""Dialects of the shape: an opening marker, `call:NAME{…}`, a closing marker.

    <|tool_call>call:ls{path:<|"|>.<|"|>}<tool_call|>

Strings stand between a quote marker of their own, so they may hold anything but that marker. If the
last quote is missing, the end of the call also ends the string, provided that another call or
nothing follows it. While the arguments arrive only brackets and quotes are tracked; `BraceValues`
reads them when they are complete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, cast

from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.openers import lone_markers
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import BraceRules, brace_text
from callblocks.parsing.grammar.expressions import alt, lit, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.typed import typed

__all__ = (
    "BraceCalls",
    "BraceValues",
)

# --- A reader for values in braces whose strings have a quote marker of their own ---
#
#     {city:<q>Paris<q>,days:3,near:[<q>Rouen<q>],more:{wind:true}}
#
# Numbers, `true`, `false` and `null` are bare. A bare word is read as a string and reported; so
# are a
# bare value where the schema wants a string, and a string in the quotes of JSON or Python.
# `quote` is
# the marker on both sides of a string. The text is complete and was delimited by a scan.

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


# --- Dialects of the shape: an opening marker, `call:NAME{…}`, a closing marker ---

NAME = Markers(Shape((*"call:", r"[ \t\r\n]{0,20}", "[A-Za-z_]", r"[\w.-]{0,200}", r"\{")))
# Models also write strings in JSON's quotes: brackets inside of them must not count.
OTHER_QUOTE = Shape((r"[:,\[{]", r"[ \t\r\n]{0,20}", '"'))
_KEY_GAP = r"[ \t\r\n]{0,20}"
_OPENING = {"}": "{", "]": "["}
_CLOSING = {"{": "}", "[": "]"}


def _closing_part(text: str, open_: Sequence[str]) -> str:
    """Return the end of an unclosed string that closes the open brackets, or `""`.

    Brackets before it belong to the string, so they must match: `ls {a}}` ends with one brace.
    """
    rest = text.rstrip()
    for char in open_:
        if not rest.endswith(_CLOSING[char]):
            return ""
        rest = rest[:-1].rstrip()
    matches = all(rest.count(char) == rest.count(_CLOSING[char]) for char in _CLOSING)
    return text[len(rest) :] if matches or rest[-1:] not in _OPENING else ""


class BraceCalls(Dialect):
    """A dialect of this shape; strings stand between `quote`s."""

    opening: ClassVar[str]
    closing: ClassVar[str]
    quote: ClassVar[str]
    keeps_ids = False
    markers = ("opening", "closing")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.codes = {
            f"{cls.name}.arguments": "the arguments of a call are not as the dialect writes them",
            **cls.codes,
        }

    @cached_property
    def _inside(self) -> Markers:
        return Markers(self.quote, self.opening, self.closing, OTHER_QUOTE, *"{}[]")

    @cached_property
    def _ends(self) -> Markers:
        return Markers(self.opening, self.closing)

    @cached_property
    def _quotes(self) -> Markers:
        return Markers(self.quote, self.closing)

    @cached_property
    def _next_call(self) -> Markers:
        blanks = "[ \\t\\r\\n]{0,100}"
        return Markers(Shape((blanks, *map(re.escape, self.opening))))

    @cached_property
    def _other_quotes(self) -> Markers:
        escape = Shape(("\\\\", "[\\s\\S]"))
        return Markers('"', escape, self.opening, self.closing)

    @cached_property
    def _closers(self) -> Markers:
        return Markers(self.closing)

    @property
    def closers(self) -> tuple[str, ...]:
        return lone_markers(self.closing, *self.other_closers)

    @property
    def bodies_between(self) -> Bodies | None:
        return Bodies((self.opening,), (self.closing,), notation="braces")

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # `call:NAME{` without a marker occurs in prose, so it opens only in a single dialect, or
        # with a string in its own quotes behind the first key.
        if setting.alone:
            return (self.opening, *NAME.shapes)
        key = (_KEY_GAP, r"[\w-]{1,100}", _KEY_GAP, ":", _KEY_GAP, *map(re.escape, self.quote))
        return (self.opening, *(shape._replace(ahead=(key,)) for shape in NAME.shapes))

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[str]:
        return (self.quote,)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening != self.opening:
            return (yield from self._read_unopened(block))
        yield from block.peek()
        if (yield from block.match(self._closers)):
            return block.malformed("empty-calls", "there is no call in it")
        head = yield from block.match(NAME)
        if not head:
            return block.refuse()
        return (yield from self._read_call(block, head))

    def _read_unopened(self, block: Block) -> Reading[Refused | None]:
        """Read a call without its opening marker; only the name of a declared tool counts."""
        head = block.opening
        if block.stage.strict or head.removeprefix("call:")[:-1].lstrip() not in block.stage.tools:
            return block.refuse()
        yield from self._read_call(block, head)
        block.problem("repaired-opening", GENERAL_CODES["repaired-opening"])
        return None

    def _read_call(self, block: Block, head: str) -> Reading[None]:
        """Read a call whose name and brace were consumed."""
        block.started(head.removeprefix("call:")[:-1].lstrip(), end=block.offset - 1)
        block.input("{")
        start = block.offset - 1
        open_ = yield from self._read_braces(block)
        text = block.text[start - block.start :]
        return (yield from self._finish(block, text, open_))

    def _read_braces(self, block: Block) -> Reading[str]:
        """Emit the arguments while they arrive; return the brackets that are still open.

        Return `?` if brackets do not match, and `!` if they are too deep.
        """
        open_ = ["{"]
        while open_:
            _, marker = yield from block.stream(self._inside)
            if marker in ("", self.opening, self.closing):
                block.give_back(block.offset - len(marker))
                break
            block.input(marker)
            if marker[0] in _CLOSING:
                open_.append(marker[0])
                if len(open_) > block.stage.limits.depth:
                    return (yield from self._give_up(block, "!"))
            elif marker in _OPENING and open_.pop() != _OPENING[marker]:
                return (yield from self._give_up(block, "?"))
            is_quote = marker == self.quote or marker.endswith('"')
            fault = (yield from self._read_string(block, marker, open_)) if is_quote else ""
            if fault:
                return fault
        return "".join(open_)

    def _read_string(self, block: Block, opening: str, open_: Sequence[str]) -> Reading[str]:
        """Emit a string while it arrives; return its fault, or `""`.

        The fault is `?` if the string is not closed before the call is. If only its quote is
        missing, it is the quote, and then the text behind it.
        """
        is_own = opening == self.quote
        ends, quote = (self._quotes, opening) if is_own else (self._other_quotes, '"')
        quotes_calls, end = False, ""
        while True:
            text, marker = yield from block.stream(ends)
            quotes_calls = quotes_calls or self.opening in text
            is_end = marker in ("", self.opening, self.closing)
            if is_end and is_own and marker:
                # A closing marker in a string that also has an opening one is quoted with it.
                is_mended = not (block.stage.strict or quotes_calls)
                end = _closing_part(text, open_) if is_mended else ""
                is_end = bool(end) and (yield from self._is_over(block))
            if is_end:
                block.give_back(block.offset - len(marker))
                return f"{quote}{end}" if is_own and marker else "?"
            block.input(marker)
            if marker == quote:
                return ""

    def _is_over(self, block: Block) -> Reading[bool]:
        """Return whether another call, or nothing, follows."""
        if (yield from block.stands(self._next_call)):
            return True
        offset = block.offset
        char = yield from block.peek()
        block.give_back(offset)
        return not char

    def _give_up(self, block: Block, why: str) -> Reading[str]:
        """Consume the rest of the call."""
        _, marker = yield from block.stream(self._ends)
        block.give_back(block.offset - len(marker))
        return why

    def _finish(self, block: Block, text: str, open_: str) -> Reading[None]:
        end = block.offset
        yield from block.peek()
        marker = yield from block.match(self._closers)
        if not marker and not block.ends_within(self._closers):
            block.give_back(end)
        code, stage = f"{self.name}.arguments", block.stage
        if open_ == "!":
            return block.malformed("too-deep", f"more than {stage.limits.depth} levels")
        if open_ == "?" or (open_ and (stage.strict or not marker)):
            return block.malformed(code, "the braces are not closed")
        if stage.strict and not marker:
            return block.malformed(code, "the closing marker is missing")
        tool = stage.tools.get(block.name)
        lacks_quote = open_.startswith(self.quote)
        if lacks_quote:
            text, open_ = self._with_quote(text, open_.removeprefix(self.quote)), ""
        # At the end of the text a missing quote is not certain: more text might continue the
        # string, so the call is not ended unless another call follows.
        ended = not lacks_quote or (yield from block.stands(self._next_call))
        values = BraceValues(
            text + "".join(_CLOSING[char] for char in reversed(open_)),
            self.quote,
            strict=stage.strict,
        )
        try:
            value = values.read(tool.parameters if tool else {})
        except ValueError as error:
            return block.malformed(code, str(error))
        block.ready(value, size=len(text), ended=ended)
        if open_ or not marker:
            values.repairs["repaired-closing"] = "a brace or the closing marker is missing"
        if lacks_quote:
            values.repairs["repaired-quotes"] = "the quote that closes a string is missing"
        for repair, detail in values.repairs.items():
            block.problem(repair, detail)
        return None

    def _with_quote(self, text: str, end: str) -> str:
        """Return the arguments with the missing quote of their last string, before `end`.

        A quote behind a word closes it, and the one that opens it is missing: `{command:ls<q>}`.
        """
        before = text[: text.rindex(self.quote)].rstrip()
        if before[-1:] not in (":", ",", "[", "{"):
            return text
        return f"{text.removesuffix(end)}{self.quote}{end}"

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        return "".join(
            item if isinstance(item, str) else self._compose_call(item, tools) for item in items
        )

    def _compose_call(self, item: Item, tools: Mapping[str, ToolSpec]) -> str:
        if not isinstance(item, Call):
            raise Unwritable(self.name, "results: it has no form for them")
        tool = tools.get(item.name)
        value = in_schema_order(item.input, tool.parameters) if tool else item.input
        try:
            return f"{self.opening}call:{item.name}{brace_text(value, self.quote)}{self.closing}"
        except (TypeError, ValueError) as error:
            raise Unwritable(self.name, f"the input {brief(value)}: {error}") from error

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        calls = (
            seq(
                lit(f"{self.opening}call:{tool.name}"),
                BraceRules(grammar, tool.parameters, self.quote).value(
                    {"type": "object", **tool.parameters}, f"{tool.name}-input"
                ),
            )
            for tool in tools
        )
        call = grammar.rule("call", seq(alt(*calls), lit(self.closing)))
        grammar.text([self.opening], call)

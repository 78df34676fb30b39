"""Dialects of the shape: an opening marker, call objects in JSON, a closing marker.

    <tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>

A dialect gives the markers, the keys, and the frame around calls (an array, or lines). `RowReader`
reads the row behind the opening marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.openers import lone_markers
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar import json_rules as rules
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import Expr, alt, lit, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.call_keys import Keys
from callblocks.parsing.readers.foreign_body import Bodies, stands_python_list
from callblocks.parsing.readers.named_reader import Head, Named, NamedReader
from callblocks.parsing.readers.row import CallRow, RowReader
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import dumps

__all__ = (
    "NAME",
    "CommandCalls",
    "JsonCalls",
    "NamedJson",
)

_BLANKS = "[ \\t\\r\\n]{0,100}"
_FENCE = Markers("```")


class JsonCalls(Dialect):
    """A dialect of this shape; the first of each tuple of markers is written."""

    opening: ClassVar[tuple[str, ...]]
    closing: ClassVar[tuple[str, ...]] = ()
    keys: ClassVar[Keys] = Keys()
    # The characters that may follow the opening marker; any other is not this dialect.
    starts: ClassVar[str] = "{["
    # The text before the first call, between two calls, and behind the last.
    frame: ClassVar[tuple[str, str, str]] = ("\n", "\n", "\n")
    # True if the markers are written.
    marked: ClassVar[bool] = True
    # True if adjacent calls share one pair of markers.
    together: ClassVar[bool] = False
    as_text: ClassVar[bool] = False
    # Markers that may follow a row and belong to it.
    trailing: ClassVar[tuple[str, ...]] = ()
    # Markers around prose that are markup if no other dialect is read.
    hidden: ClassVar[tuple[str, ...]] = ()
    # The bracket that begins calls without an opening marker.
    bare: ClassVar[str] = ""
    # Further openings, which end like one of `opening`.
    shapes: ClassVar[tuple[Shape, ...]] = ()
    # Ambiguous openings: if the dialect is read alone, a name and arguments make a call.
    unsure: ClassVar[tuple[str, ...]] = ()
    # Further markers that are markup; they begin with `<`.
    hidden_shapes: ClassVar[tuple[Shape, ...]] = ()
    # Names that call nothing.
    silent: ClassVar[tuple[str, ...]] = ()
    # Repairs that are not reported, because the grammar is not quite JSON.
    natural: ClassVar[tuple[str, ...]] = ()
    separators: ClassVar[str] = ",;"
    # True if calls may follow each other outside of an array.
    many: ClassVar[bool] = True
    keeps_ids = False
    markers = ("opening", "closing", "trailing", "hidden")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.codes = {
            f"{cls.name}.json": "what follows the opening marker is not JSON, even with repairs",
            f"{cls.name}.call": "an object has no name, or its arguments are no object",
        }

    @cached_property
    def row(self) -> CallRow:
        """The syntax of the row of calls."""
        return self._make_row(sure=True)

    @cached_property
    def _unsure_row(self) -> CallRow:
        return self._make_row(sure=False)

    def _make_row(self, *, sure: bool) -> CallRow:
        return CallRow(
            self.keys,
            self.opening,
            self.closing,
            separators=self.separators,
            many=self.many,
            trailing=self.trailing,
            silent=self.silent,
            natural=self.natural,
            as_text=self.as_text,
            sure=sure,
        )

    @property
    def closers(self) -> tuple[str, ...]:
        closers = (*self.closing, *self.trailing, *self.other_closers)
        return lone_markers(*(one for one in closers if one not in self.hidden))

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        found = (*self.opening, *self.shapes)
        if setting.alone:
            found += (*self.unsure, *self.hidden, *self.hidden_shapes)
        if self.bare:
            found += (self._bare_opener(alone=setting.alone),)
        return found

    def _bare_opener(self, *, alone: bool) -> Shape:
        """Return the opener of calls without a marker: a bracket, among dialects at a line start.

        A lookahead must match the first key of a call, because text is full of brackets: `{"name"`
        opens, `{"city"` does not. If the grammar is not quite JSON, the lookahead is only the brace
        of the first call.
        """
        ahead = self.keys.beginnings(self.bare)
        if self.natural or self.keys.single:
            ahead = ((_BLANKS, r"\{"),) if self.bare == "[" and not self.closing else ()
        bracket = re.escape(self.bare)
        return Shape((bracket,), ahead=ahead) if alone else Shape((_BLANKS, bracket), True, ahead)

    @property
    def bodies_between(self) -> Bodies | None:
        if any(one.startswith("{") for one in self.opening):
            return None
        return Bodies(
            self.opening, self.closing, trailing=self.trailing, notation="json", keys=self.keys
        )

    def is_sure(self, block: Block) -> bool:
        """Return whether the marker that opened the block makes calls certain."""
        return block.marker.endswith(self.opening)

    def row_of(self, block: Block, sure: bool) -> CallRow:
        """Return the syntax of the row behind the marker that opened the block."""
        return self.row if sure else self._unsure_row

    def _hides(self, opening: str) -> bool:
        shaped = (
            self.hidden_shapes and opening.startswith("<") and not opening.endswith(self.opening)
        )
        return opening in self.hidden or bool(shaped)

    def read(self, block: Block) -> Reading[Refused | None]:
        if self.hidden and self._hides(block.marker):
            return block.markup()
        sure = self.is_sure(block)
        if self.bare and not sure and block.opening.endswith(self.bare):
            block.give_back_bracket()
        char = yield from block.peek()
        fenced = char == "`" and not block.stage.strict and bool(self.closing)
        if fenced:
            fenced = yield from block.stands(_FENCE)
        if not (fenced or (char and char in self.starts)):
            return block.refuse(expected=" or ".join(f"`{one}`" for one in self.starts))
        if char == "[" and not block.stage.strict and (yield from stands_python_list(block)):
            return block.refuse(expected="an object")
        return (yield from RowReader(block, self.row_of(block, sure)).read(char))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        parts: list[str] = []
        for is_prose, group in groupby(items, key=lambda item: isinstance(item, str)):
            members = list(group)
            if is_prose:
                parts.extend(map(str, members))
            else:
                calls = [self._object(item, tools) for item in members]
                rows = [calls] if self.together else [[call] for call in calls]
                parts.extend(map(self._row, rows))
        return "".join(parts)

    def _row(self, calls: Iterable[str]) -> str:
        begin, between, end = self._framed
        return begin + between.join(calls) + end

    @property
    def _framed(self) -> tuple[str, str, str]:
        """The text before, between and behind calls, markers included."""
        before, between, after = self.frame
        opening = self.opening[0] if self.marked else ""
        closing = self.closing[0] if self.closing and self.marked else ""
        return opening + before, between, after + closing

    def _object(self, item: Item, tools: Mapping[str, ToolSpec]) -> str:
        if not isinstance(item, Call):
            raise Unwritable(self.name, "results: it has no form for them")
        tool = tools.get(item.name)
        value: Any = in_schema_order(item.input, tool.parameters) if tool else item.input
        value = dumps(value, self.name) if self.as_text else value
        return dumps(self.keys.said(item.name, value, item.id, item.extra), self.name)

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        begin, between, end = self._framed
        call = grammar.rule("call", alt(*(self._call_rule(grammar, tool) for tool in tools)))
        calls = grammar.row(call, lit(between)) if self.together else call
        row = seq(lit(begin), calls, lit(end))
        bare = {"{": ('{"',), "[": ("[{",)}.get(self.bare, ())
        grammar.text((*self.opening, *bare), row)

    def _call_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        keys, string = self.keys, rules.string(grammar)
        value = string if self.as_text else input_rule(grammar, tool)
        if keys.single:
            return self._object_rule(grammar, {tool.name: value})
        ids: dict[str, Expr] = {keys.id: string} if keys.id else {}
        call: dict[str, Expr] = {keys.name[0]: rules.key(tool.name), keys.input[0]: value}
        if keys.wrapped:
            inner = self._object_rule(grammar, call)
            call = {"type": rules.key("function"), keys.nested[0]: inner}
        first = keys.id_first or keys.wrapped
        return self._object_rule(grammar, {**ids, **call} if first else {**call, **ids})

    def _object_rule(self, grammar: Grammar, members: Mapping[str, Expr]) -> Expr:
        first, *rest = (rules.pair(grammar, rules.key(key), rule) for key, rule in members.items())
        listed = seq(first, *(seq(rules.comma(grammar), member) for member in rest))
        return rules.bracketed(grammar, "{}", listed, may_be_empty=False)


# --- The syntax of Cohere's Command models: a JSON array between markers, cited answers ---
#
#     <|START_ACTION|>[
#         {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
#     ]<|END_ACTION|>
#     <|START_RESPONSE|>It is <co>mild</co: 0:[1]>.<|END_RESPONSE|>
#
# The markers of an answer and of its citations are markup.

CITES, CITED = "<co>", Shape((*map(re.escape, "</co:"), "[^<>]{0,100}", ">"))
CITATION = Markers(CITED, "<", "\n\n")


class CommandCalls(JsonCalls):
    """`<|START_ACTION|>`, an array of calls, `<|END_ACTION|>`."""

    name = "cohere_command"
    summary = "a JSON array of calls between <|START_ACTION|> and <|END_ACTION|>"
    syntax = (
        '<|START_ACTION|>[\n    {"tool_call_id": ID, "tool_name": NAME, "parameters": '
        "{KEY: VALUE}}\n]<|END_ACTION|>"
    )
    rules = (
        "Between `<|START_ACTION|>` and `<|END_ACTION|>` stands one JSON array with all calls.",
        "Each call is an object: `tool_call_id` is its number as a string, `tool_name` the tool's "
        "name, `parameters` an object with its input.",
    )
    opening = ("<|START_ACTION|>",)
    closing = ("<|END_ACTION|>",)
    keys = Keys(
        name=("tool_name", "name"),
        input=("parameters", "arguments"),
        id="tool_call_id",
        id_first=True,
    )
    frame = ("[\n    ", ",\n    ", "\n]")
    together = True
    hidden = (
        *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", CITES),
        "<|CHATBOT_TOKEN|>",
    )
    hidden_shapes = (CITED,)
    keeps_ids = True
    reasoning = (("<|START_THINKING|>", "<|END_THINKING|>"),)
    reasoning_breaks = ("<|START_RESPONSE|>", "<|START_TEXT|>")

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # No other dialect has these markers, so they are markup in a guessed dialect, too.
        more = () if setting.alone else (*self.hidden, *self.hidden_shapes)
        return (*super().openers(setting), *more)

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening == CITES and not block.stage.alone:
            return _read_citation(block)
        return super().read(block)


def _read_citation(block: Block) -> Reading[Refused | None]:
    """Read `<co>` as a citation if a citation's end follows; any text may have such a tag."""
    start = block.offset
    _, end = yield from block.until(CITATION)
    if not end.startswith("</co"):
        at = block.offset - len(end)
        return block.refuse(until=at, expected="the end of a citation", at=at)
    block.give_back(start)
    return block.markup()


# --- Dialects of the shape: an opening marker, the tool's name, its input as JSON, a closing
#     marker ---
#
#     [TOOL_CALLS]ls[ARGS]{"path": "."}
#
# A dialect gives the markers. Calls may stand in a section with markers of its own.

# A tool's name. The lookahead makes the marker end where the name does.
NAME = Markers(Shape((r"[\w.:/-]{1,128}", r"(?![\w.:/-])")), what="a name")
_SPACES = Markers(Shape(("[ \\t]{1,20}", "(?![ \\t])")))
_NAMED_BLANKS = Markers(Shape(("[ \\t\\r\\n]{1,20}", "(?![ \\t\\r\\n])")))
_GAP = "[ \\t\\r\\n]{0,20}"
# The beginning of an object in a fence or in a string, which can be repaired.
MENDABLE = Markers(
    Shape(("`", "`", "`", r"`{0,9}\w{0,20}", _GAP, r"\{")), Shape(('"', _GAP, r"\{"))
)
# A short value that is no object, which models also write as arguments.
VALUE = Markers(
    "null",
    Shape(('"', r'[^"\\\x00-\x1f]{0,200}', '"')),
    Shape((r"\[", r"[^\[\]\x00-\x1f]{0,200}", r"\]")),
)


class NamedJson(Dialect):
    """A dialect of this shape; the first of each tuple of markers is written."""

    opening: ClassVar[tuple[str, ...]]
    before_name: ClassVar[tuple[str, ...]] = ("",)
    after_name: ClassVar[tuple[str, ...]]
    closing: ClassVar[tuple[str, ...]] = ()
    section: ClassVar[tuple[str, ...]] = ()
    section_end: ClassVar[tuple[str, ...]] = ()
    # True if a name and its separator are so common in prose that only an object makes a call.
    only_objects: ClassVar[bool] = False
    keeps_ids = False
    markers = ("section", "opening", "before_name", "after_name", "closing", "section_end")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.codes = {f"{cls.name}.json": "what follows the name is not JSON, even with repairs"}
        if not cls.only_objects:
            cls.codes[f"{cls.name}.call"] = "the arguments are no object"

    @cached_property
    def named(self) -> Named:
        """The markers, compiled."""
        return Named(self.opening, self.closing, self.section, self.section_end)

    @cached_property
    def separators(self) -> Markers:
        """The markers between a name and its input."""
        return Markers(*self.after_name)

    @cached_property
    def _before(self) -> Markers:
        """The text before a name: as it is written, and with blanks before its marker."""
        rows = (one.partition("<") for one in self.before_name)
        spaced = (
            Shape((*word, "[ \\t\\r\\n]{1,20}", *map(re.escape, f"<{rest}")))
            for word, _, rest in rows
        )
        return Markers(*self.before_name, *spaced)

    @property
    def closers(self) -> tuple[str, ...]:
        return lone_markers(*self.closing, *self.section_end, *self.other_closers)

    @property
    def bodies_between(self) -> Bodies | None:
        if not self.closing or self.opening[0].endswith("="):
            return None
        return Bodies(
            self.opening,
            self.closing,
            section=self.section,
            section_end=self.section_end,
            notation="named",
        )

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*self.section, *self.opening)

    def read(self, block: Block) -> Reading[Refused | None]:
        return NamedReader(block, self.named, self.read_head, self.begins).read()

    def read_head(self, block: Block) -> Reading[Head | None]:
        """Consume the name and its separator; return None if this is no head."""
        # Blanks beside the name, and beside the text before it, are a repair. Line ends are blanks
        # only if a marker closes the call (without one, a line decides), and behind the name only
        # if they do not begin the separator.
        blanks = _NAMED_BLANKS if self.closing else _SPACES
        gaps: list[str] = []
        if self.before_name[0]:
            gaps.append((yield from block.match(blanks)))
            before = yield from block.match(self._before)
            if not before:
                return None
            gaps.append("" if before in self.before_name else " ")
        gaps.append((yield from block.match(blanks)))
        name = yield from block.match(NAME)
        if not name:
            return None
        if not (yield from block.match(self.separators)):
            is_line = self.after_name[0].startswith("\n")
            after = yield from block.match(_SPACES if is_line else blanks)
            if not after or not (yield from block.match(self.separators)):
                return None
            gaps.append(after)
        if not any(gaps):
            return Head(name)
        return None if block.stage.strict else Head(name, repairs=("repaired-name",))

    def begins(self, block: Block) -> Reading[bool]:
        """Return whether an input, or the end of a call without one, begins here.

        Anything else is prose about calls.
        """
        char = yield from block.peek()
        if char == "{" or self.only_objects:
            return char == "{"
        if (yield from block.stands(MENDABLE)) or (yield from self.is_empty(block)):
            return True
        start = block.offset
        found = yield from block.match(VALUE)
        ends = bool(found) and (yield from self._ends(block))
        block.give_back(start)
        return ends

    def is_empty(self, block: Block) -> Reading[bool]:
        """Return whether a call without input ends here."""
        return (yield from self._ends(block))

    def _ends(self, block: Block) -> Reading[bool]:
        """Return whether a call, or the text, ends here."""
        return not (yield from block.peek()) or (yield from block.stands(self.named.ends))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        parts: list[str] = []
        for is_prose, group in groupby(items, key=lambda item: isinstance(item, str)):
            members = list(group)
            if is_prose:
                parts.extend(map(str, members))
                continue
            calls = [self._call(item, tools) for item in members]
            parts += [*self.section[:1], *calls, *self.section_end[:1]]
        return "".join(parts)

    def _call(self, item: Item, tools: Mapping[str, ToolSpec]) -> str:
        if not isinstance(item, Call):
            raise Unwritable(self.name, "results: it has no form for them")
        tool = tools.get(item.name)
        value = in_schema_order(item.input, tool.parameters) if tool else item.input
        closing = self.closing[0] if self.closing else ""
        return self.written_head(item) + dumps(value, self.name) + closing

    def written_head(self, call: Call) -> str:
        """Return the text before the input of a call."""
        return f"{self.opening[0]}{self.before_name[0]}{call.name}{self.after_name[0]}"

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        closing = lit(self.closing[0]) if self.closing else seq()
        calls = (
            seq(self.head_rule(grammar, tool), input_rule(grammar, tool), closing) for tool in tools
        )
        call = grammar.rule("call", alt(*calls))
        row = (
            seq(lit(self.section[0]), grammar.row(call), lit(self.section_end[0]))
            if self.section
            else call
        )
        grammar.text((*self.section, *self.opening), row)

    def head_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        """Return a rule for the text before the input of a tool's call."""
        return lit(f"{self.opening[0]}{self.before_name[0]}{tool.name}{self.after_name[0]}")

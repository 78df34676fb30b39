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
from callblocks.parsing.readers.row import CallRow, RowReader
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import dumps

__all__ = (
    "CommandCalls",
    "JsonCalls",
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

"""Dialects of the shape: an opening marker, call objects in JSON, a closing marker.

    <tool_call>{"name": "ls", "arguments": {"path": "."}}</tool_call>

A dialect says what the markers and keys are, and whether calls stand in an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

from callblocks.model.calls import Call, Item
from callblocks.model.errors import Unwritable
from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.expressions import Expr, alt, lit, many, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.machines import without
from callblocks.parsing.markers import Shape
from callblocks.parsing.schema_order import in_schema_order
from callblocks.parsing.schema_rules import input_rule
from callblocks.parsing.shapes.dumping import dumps
from callblocks.parsing.shapes.keys import Keys
from callblocks.parsing.shapes.row import Row, RowReader
from callblocks.parsing.stage import Reading

__all__ = ("JsonCalls",)

_BLANKS = "[ \\t\\r\\n]{0,100}"


class JsonCalls(Dialect):
    """`opening`, calls, `closing`; what is written is the first of each."""

    opening: ClassVar[tuple[str, ...]]
    closing: ClassVar[tuple[str, ...]] = ()
    keys: ClassVar[Keys] = Keys()
    starts: ClassVar[str] = "{["
    """What may stand after the opening marker; anything else is not this dialect."""
    frame: ClassVar[tuple[str, str, str]] = ("\n", "\n", "\n")
    """What is written before the first call, between two, and after the last."""
    together: ClassVar[bool] = False
    """Whether neighbouring calls share one pair of markers."""
    as_text: ClassVar[bool] = False
    trailing: ClassVar[tuple[str, ...]] = ()
    """What may follow a row, and belongs to it."""
    hidden: ClassVar[tuple[str, ...]] = ()
    """Markers around prose that show nothing, where no other dialect is read."""
    bare: ClassVar[str] = ""
    """The bracket that begins calls without an opening marker."""
    unsure: ClassVar[tuple[str | Shape, ...]] = ()
    """Further openings, after which only a name and arguments make a call."""
    silent: ClassVar[tuple[str, ...]] = ()
    """Names that call nothing."""
    separators: ClassVar[str] = ",;"
    many: ClassVar[bool] = True
    """Whether calls may follow each other outside of an array."""
    keeps_ids = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.codes = {
            f"{cls.name}.json": "what follows the opening marker is not JSON, even with repairs",
            f"{cls.name}.call": "an object has no name, or its arguments are no object",
            **cls.codes,
        }

    @cached_property
    def row(self) -> Row:
        """How the calls stand in the text."""
        return self._make_row(sure=True)

    @cached_property
    def _unsure_row(self) -> Row:
        return self._make_row(sure=False)

    def _make_row(self, *, sure: bool) -> Row:
        return Row(
            self.keys,
            self.opening,
            self.closing,
            separators=self.separators,
            many=self.many,
            trailing=self.trailing,
            silent=self.silent,
            as_text=self.as_text,
            sure=sure,
        )

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        bare = re.escape(self.bare)
        anywhere, first = Shape((f"(?={bare})",)), Shape((_BLANKS, f"(?={bare})"), True)
        found = (*self.opening, *self.unsure, *((self.hidden) if setting.alone else ()))
        return (*found, anywhere if setting.alone else first) if bare else found

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self.hidden:
            return block.markup()
        sure = block.opening in self.opening
        if not (sure or block.stage.alone or block.at_start):
            return block.refuse()
        char = yield from block.peek()
        fenced = char == "`" and not block.stage.strict and bool(self.closing)
        if not (fenced or (char and char in self.starts)):
            return block.refuse()
        return (yield from RowReader(block, self.row if sure else self._unsure_row).read())

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
        before, between, after = self.frame
        closing = self.closing[0] if self.closing else ""
        return f"{self.opening[0]}{before}{between.join(calls)}{after}{closing}"

    def _object(self, item: Item, tools: Mapping[str, ToolSpec]) -> str:
        if not isinstance(item, Call):
            raise Unwritable(self.name, "results: it has no form for them")
        tool = tools.get(item.name)
        value: Any = in_schema_order(item.input, tool.parameters) if tool else item.input
        value = dumps(value, self.name) if self.as_text else value
        return dumps(self.keys.said(item.name, value, item.id, item.extra), self.name)

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        before, between, after = self.frame
        call = grammar.rule("call", alt(*(self._call_rule(grammar, tool) for tool in tools)))
        rest = many(seq(lit(between), call)) if self.together else seq()
        closing = lit(self.closing[0]) if self.closing else seq()
        row = seq(lit(self.opening[0] + before), call, rest, lit(after), closing)
        prose = grammar.rule("prose", without(self.opening))
        grammar.rule("root", seq(prose, many(seq(row, prose))))

    def _call_rule(self, grammar: Grammar, tool: ToolSpec) -> Expr:
        keys, value = self.keys, input_rule(grammar, tool)
        if keys.single:
            members = [(tool.name, value)]
        else:
            members = [(keys.name[0], rules.key(tool.name)), (keys.input[0], value)]
            members += [(keys.id, rules.string(grammar))] if keys.id else []
        first, *rest = (rules.pair(grammar, rules.key(key), rule) for key, rule in members)
        listed = seq(first, *(seq(rules.comma(grammar), member) for member in rest))
        return rules.bracketed(grammar, "{}", listed, may_be_empty=False)

"""Dialects of the shape: an opening marker, Python calls, a closing marker.

<|tool_call_start|>[ls(path=".")]<|tool_call_end|>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import ClassVar

from callblocks.model.calls import Call, Item
from callblocks.model.errors import Unwritable
from callblocks.model.specs import ToolSpec
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.expressions import alt, lit, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.foreign_body import Bodies
from callblocks.parsing.shapes.python_calls import PythonRow, PythonRowReader
from callblocks.parsing.shapes.python_write import python_call, python_call_rule, python_words
from callblocks.parsing.stage import Reading
from callblocks.parsing.turn_end import lone_markers

__all__ = ("PythonMarked", "python_codes")


def python_codes(dialect: str) -> dict[str, str]:
    """Return the codes of a dialect's own problems."""
    return {
        f"{dialect}.arguments": "the arguments of a call are no plain values",
        f"{dialect}.row": "something that is no call stands among calls",
    }


class PythonMarked(Dialect):
    """`opening`, calls, `closing`."""

    opening: ClassVar[str]
    closing: ClassVar[str]
    # True if the calls stand in one list; otherwise each is on a line of its own.
    in_list: ClassVar[bool] = True
    keeps_ids = False
    markers = ("opening", "closing")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A dialect with codes of its own lists all of them.
        if "codes" not in vars(cls):
            cls.codes = python_codes(cls.name)

    @cached_property
    def row(self) -> PythonRow:
        """The markers and brackets around the calls."""
        return PythonRow(self.closing, self.opening, in_list=self.in_list)

    @property
    def closers(self) -> tuple[str, ...]:
        return lone_markers(self.closing, *self.other_closers)

    @property
    def bodies_between(self) -> Bodies | None:
        return Bodies((self.opening,), (self.closing,), notation="python")

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (self.opening,)

    def read(self, block: Block) -> Reading[Refused | None]:
        char = yield from block.peek()
        if (yield from block.match(self.row.closers)):
            return block.malformed("empty-calls", "there is no call in it")
        if self.in_list:
            if char != "[":
                return block.refuse(expected="`[`")
            block.step()
        return (yield from PythonRowReader(block, self.row).read())

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        parts: list[str] = []
        before, between, after = self._frame
        for is_prose, group in groupby(items, key=lambda item: isinstance(item, str)):
            members = list(group)
            if is_prose:
                parts.extend(map(str, members))
            else:
                row = between.join(self._call(item, tools) for item in members)
                parts.append(f"{self.opening}{before}{row}{after}{self.closing}")
        return "".join(parts)

    @property
    def _frame(self) -> tuple[str, str, str]:
        """The text before the first call, between two calls, and behind the last."""
        return ("[", ", ", "]") if self.in_list else ("\n", "\n", "\n")

    def _call(self, item: Item, tools: Mapping[str, ToolSpec]) -> str:
        if not isinstance(item, Call):
            raise Unwritable(self.name, "results: it has no form for them")
        return python_call(self.name, item, tools)

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        python_words(grammar)
        before, between, after = self._frame
        call = grammar.rule("call", alt(*(python_call_rule(grammar, tool) for tool in tools)))
        calls = grammar.row(call, lit(between))
        row = seq(lit(self.opening + before), calls, lit(after + self.closing))
        grammar.text([self.opening], row)

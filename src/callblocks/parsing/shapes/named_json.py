"""Dialects of the shape: an opening marker, the tool's name, its input as JSON, a closing marker.

    [TOOL_CALLS]ls[ARGS]{"path": "."}

A dialect gives the markers. Calls may stand in a section with markers of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import ClassVar

from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.openers import lone_markers
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import Expr, alt, lit, seq
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.named_reader import Head, Named, NamedReader
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import dumps

__all__ = ("NAME", "NamedJson")

# A tool's name. The lookahead makes the marker end where the name does.
NAME = Markers(Shape((r"[\w.:/-]{1,128}", r"(?![\w.:/-])")), what="a name")
_SPACES = Markers(Shape(("[ \\t]{1,20}", "(?![ \\t])")))
_BLANKS = Markers(Shape(("[ \\t\\r\\n]{1,20}", "(?![ \\t\\r\\n])")))
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
        blanks = _BLANKS if self.closing else _SPACES
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

"""Dialects of the shape: an opening marker, Python calls, a closing marker.

<|tool_call_start|>[ls(path=".")]<|tool_call_end|>
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, cast

from callblocks.core.calls import Call, Item
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.engine.openers import lone_markers
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import input_rule, json_rule
from callblocks.parsing.grammar.expressions import (
    EMPTY,
    Expr,
    alt,
    chars,
    lit,
    many,
    none_of,
    opt,
    repeat,
    seq,
)
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.python_calls import PythonRow, PythonRowReader
from callblocks.parsing.values.schema_shape import in_schema_order

__all__ = (
    "PythonMarked",
    "python_call",
    "python_call_rule",
    "python_codes",
    "python_words",
)

# --- A writer of calls in Python, `f(a=1, b="two")`, and grammar rules for them ---
#
# An argument whose name is no identifier is written in a dictionary: `f(**{"a b": 1})`. Strings are
# written as JSON strings, which Python reads in the same way.

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,200}")


def python_call(dialect: str, call: Call, tools: Mapping[str, ToolSpec]) -> str:
    """Write a call, its arguments in the order of their schema."""
    if not _NAME.fullmatch(call.name):
        raise Unwritable(dialect, f"the name {call.name!r:.80}")
    tool = tools.get(call.name)
    value: dict[str, Any] = in_schema_order(call.input, tool.parameters) if tool else call.input
    try:
        if _all_words(value):
            given = ", ".join(f"{name}={_literal(one)}" for name, one in value.items())
        else:
            given = f"**{_literal(value)}"
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the input {brief(value)}: {error}") from error
    return f"{call.name}({given})"


def _all_words(names: Mapping[str, Any]) -> bool:
    return all(isinstance(name, str) and _WORD.fullmatch(name) for name in names)  # pyright: ignore[reportUnnecessaryIsInstance] callers err


def _literal(value: Any) -> str:
    match value:
        case None | bool():
            return repr(value)
        case dict():
            members = cast("dict[Any, Any]", value).items()
            return "{" + ", ".join(f"{_key(name)}: {_literal(one)}" for name, one in members) + "}"
        case list():
            return f"[{', '.join(map(_literal, cast('list[Any]', value)))}]"
        case _:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{name!r:.60} is no name")
    return json.dumps(name, ensure_ascii=False)


def python_words(grammar: Grammar) -> None:
    """Define the grammar's words and strings as Python's; call it before any rule is made."""
    grammar.words = {"true": "True", "false": "False", "null": "None"}
    digits = repeat(chars("0-9a-fA-F"), 4, 4)
    escape = seq(lit("\\"), alt(chars('"\\bfnrt'), seq(lit("u"), digits)))
    inside = many(alt(none_of('"\\\x00-\x1f'), escape))
    grammar.once("json-string", lambda: seq(lit('"'), inside, lit('"')))


def python_call_rule(grammar: Grammar, tool: ToolSpec) -> Expr:
    """Return a rule for the calls of a tool, with arguments in the schema's order."""
    if not _all_words(tool.properties):
        given: Expr = seq(lit("**"), input_rule(grammar, tool))
    else:
        given = _named(grammar, tool)
    return seq(lit(f"{tool.name}("), given, lit(")"))


def _named(grammar: Grammar, tool: ToolSpec) -> Expr:
    """Return a rule with one alternative per argument that may come first (see schema_rules)."""
    starts: list[Expr] = [] if tool.required else [EMPTY]
    rest: Expr = EMPTY
    wanted = [name for name in tool.properties if name in tool.required]
    first = list(tool.properties).index(wanted[0]) if wanted else len(tool.properties)
    for at, (name, schema) in reversed(list(enumerate(tool.properties.items()))):
        value = json_rule(grammar, schema, f"{tool.name}-{name}", tool.parameters)
        pair = seq(lit(f"{name}="), value)
        if rest != EMPTY:
            rest = grammar.rule(f"{tool.name}-after-{name}", rest)
        if at <= first:
            starts.append(seq(pair, rest))
        step = seq(lit(", "), pair)
        rest = seq(step if name in tool.required else opt(step), rest)
    return alt(*starts)


# --- Dialects of the shape: an opening marker, Python calls, a closing marker ---


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

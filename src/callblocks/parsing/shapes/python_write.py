"""A writer of calls in Python, `f(a=1, b="two")`, and grammar rules for them.

An argument whose name is no identifier is written in a dictionary: `f(**{"a b": 1})`. Strings are
written as JSON strings, which Python reads in the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from callblocks.model.brief import brief
from callblocks.model.calls import Call
from callblocks.model.errors import Unwritable
from callblocks.model.specs import ToolSpec
from callblocks.parsing.expressions import (
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
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.schema_order import in_schema_order
from callblocks.parsing.schema_rules import input_rule, json_rule

__all__ = ("python_call", "python_call_rule", "python_words")

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

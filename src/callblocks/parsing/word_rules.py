"""Grammar rules for a tool's positional arguments: words as a shell splits them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.expressions import EMPTY, Expr, Ref, alt, lit, many, none_of, seq
from callblocks.parsing.grammar import Grammar

__all__ = ("Body", "arguments")

# The body that may follow: none, any, one that is not empty, or a JSON value of its schema.
Body: TypeAlias = Literal["none", "any", "some", "json"]


def arguments(grammar: Grammar, tool: ToolSpec) -> list[tuple[Expr, Body]]:
    """Return each way to write the arguments, with the body that may follow it.

    A way is a blank and a word for each of the first parameters. The others may be missing if they
    are optional, or if the body can be bound to them. A JSON body may be missing if its parameter
    is optional.
    """
    names = [name for name in tool.properties if name != tool.body]
    ways: list[tuple[Expr, Body]] = []
    said: Expr = EMPTY
    for count in range(len(names) + 1):
        left = {name for name in names[count:] if name in tool.required}
        strings = [name for name in names[count:] if tool.properties[name].get("type") == "string"]
        if left <= set(strings[-1:] if not tool.body else ()):
            may: Body = "any" if tool.body or strings else "none"
            if tool.body_is_json:
                may = "json"
                if tool.body not in tool.required:
                    ways.append((said, "none"))
            ways.append((said, "some" if left else may))
        if count < len(names):
            said = seq(said, lit(" "), _word(grammar, tool.properties[names[count]]))
    return ways


def _word(grammar: Grammar, schema: Mapping[str, Any]) -> Expr:
    if "enum" in schema:
        return alt(*(lit(shlex.quote(str(value))) for value in schema["enum"]))
    match schema.get("type"):
        case "integer":
            return rules.integer(grammar)
        case "number":
            return rules.number(grammar)
        case "boolean":
            return rules.boolean(grammar)
        case _:
            return _any_word(grammar)


def _any_word(grammar: Grammar) -> Ref:
    bare = none_of(" \t\r\n'\"\\]")
    single = seq(lit("'"), many(none_of("'\n]")), lit("'"))
    double = seq(lit('"'), many(none_of('"\\\n]')), lit('"'))
    return grammar.once("word", lambda: many(alt(bare, single, double), least=1))

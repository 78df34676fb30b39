"""A tool's positional arguments as rules: words as a shell would split them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.expressions import EMPTY, Expr, Ref, alt, lit, many, none_of, opt, seq
from callblocks.parsing.grammar import Grammar

__all__ = ("arguments",)


def arguments(grammar: Grammar, tool: ToolSpec) -> Expr:
    """A blank and a word for each parameter in order; those after the last required may lack.

    A parameter that takes the body is no word; where none is marked, the last one may be.
    """
    names = [name for name in tool.properties if name != tool.body]
    least = max((at + 1 for at, name in enumerate(names) if name in tool.required), default=0)
    if not tool.body and least == len(names) and names:
        least -= tool.properties[names[-1]].get("type") == "string"
    said: Expr = EMPTY
    for at, name in reversed(list(enumerate(names))):
        word = seq(lit(" "), _word(grammar, tool.properties[name]), said)
        said = word if at < least else opt(word)
    return said


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

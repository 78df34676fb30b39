"""A tool's input as YAML, as rules: one line for each parameter, below a key of its own.

      path: notes.txt
      lines: 3
      text: |
        anything, over
        several lines

Names, order and scalar types are held to; what is nested inside a parameter only has to be
JSON, or indented.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.expressions import (
    EMPTY,
    Expr,
    Ref,
    alt,
    chars,
    lit,
    many,
    none_of,
    opt,
    seq,
)
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.yaml_write import dump

__all__ = ("input_lines", "scalar_text")

INDICATORS = r"""-?:,\[]{}#&*!|>'"%@`0-9+.~ """


def input_lines(grammar: Grammar, tool: ToolSpec) -> Expr:
    """The lines below `input:`, at least one."""
    lines = [
        (seq(lit(f"  {scalar_text(name)}:"), _value(grammar, schema)), name in tool.required)
        for name, schema in tool.properties.items()
    ]
    if not tool.properties:
        return _indented(grammar, "  ")
    required = [at for at, (_, is_required) in enumerate(lines) if is_required]
    firsts = range(required[0] + 1 if required else len(lines))
    return alt(*(_from(lines, first) for first in firsts))


def scalar_text(value: object) -> str:
    """A scalar as the YAML writer writes it."""
    return dump(value).rstrip("\n")


def _from(lines: Sequence[tuple[Expr, bool]], first: int) -> Expr:
    rest = (line if required else opt(line) for line, required in lines[first + 1 :])
    return seq(lines[first][0], *rest)


def _value(grammar: Grammar, schema: Mapping[str, Any]) -> Expr:
    """What follows a parameter's colon, with the end of its line."""
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        said = {text for value in values for text in (scalar_text(value), json.dumps(value))}
        return seq(lit(" "), alt(*map(lit, sorted(said))), lit("\n"))
    given = schema.get("type", ())
    kinds = [given] if isinstance(given, str) else list(given)
    return alt(*(_kind(grammar, kind) for kind in kinds)) if kinds else _anything(grammar)


def _kind(grammar: Grammar, kind: str) -> Expr:
    scalars = {
        "integer": rules.integer,
        "number": rules.number,
        "boolean": rules.boolean,
        "null": rules.null,
    }
    if kind == "string":
        return _string(grammar)
    if kind in scalars:
        return seq(lit(" "), scalars[kind](grammar), lit("\n"))
    return _nested(grammar)


def _string(grammar: Grammar) -> Ref:
    quoted = seq(
        lit('"'), many(alt(none_of('"\\\n'), seq(lit("\\"), none_of("\n")))), lit('"'), lit("\n")
    )
    safe = none_of(" \n:#")
    plain = seq(
        none_of(INDICATORS + "\n\t"),
        many(alt(safe, chars("#"), seq(lit(":"), safe), seq(lit(" "), safe))),
        lit("\n"),
    )
    head = seq(lit("|"), opt(lit("2")), opt(chars("+-")), lit("\n"))
    block = seq(head, _indented(grammar, "    "))
    return grammar.once("yaml-string", lambda: seq(lit(" "), alt(quoted, plain, block)))


def _nested(grammar: Grammar) -> Ref:
    flow = seq(lit(" "), rules.any_value(grammar), lit("\n"))
    block = seq(lit("\n"), _indented(grammar, "    "))
    return grammar.once("yaml-nested", lambda: alt(flow, block))


def _anything(grammar: Grammar) -> Ref:
    return grammar.once("yaml-any", lambda: alt(_string(grammar), _nested(grammar)))


def _indented(grammar: Grammar, margin: str) -> Ref:
    line = seq(lit(margin), many(none_of("\n")), lit("\n"))
    blank = many(lit("\n"))
    name = f"yaml-indented-{len(margin)}"
    return grammar.once(name, lambda: seq(blank, line, many(alt(line, lit("\n"))), EMPTY))

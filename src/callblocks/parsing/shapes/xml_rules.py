"""The grammar of a dialect of tags: prose without opening tags, and calls of known tools."""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.model.specs import ToolSpec
from callblocks.parsing.arguments import schema_of
from callblocks.parsing.expressions import Expr, alt, lit, many, opt, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.json_rules import strings_without
from callblocks.parsing.machines import until, without
from callblocks.parsing.schema_rules import json_rule
from callblocks.parsing.schema_shape import Schemas
from callblocks.parsing.shapes.xml_form import XmlForm
from callblocks.parsing.typed import types_of

__all__ = ("arguments_rule", "value_rule", "xml_rules")


def xml_rules(grammar: Grammar, form: XmlForm, tools: Sequence[ToolSpec]) -> None:
    """Add the rule `root`."""
    strings_without(grammar, [form.value_end.strip()])
    calls = [
        seq(
            lit(f"{form.head[0]}{tool.name}{form.head[1]}"),
            arguments_rule(grammar, form, tool),
            lit(form.end),
        )
        for tool in tools
    ]
    call = grammar.rule("call", alt(*calls))
    row = many(call, least=1) if form.shared else call
    block = grammar.rule("block", seq(lit(form.wrapper[0]), row, lit(form.wrapper[1])))
    prose = grammar.rule("prose", without(form.openings))
    grammar.rule("root", seq(prose, many(seq(block, prose))))


def arguments_rule(grammar: Grammar, form: XmlForm, tool: ToolSpec) -> Expr:
    """The arguments of a tool in their order, of which the optional ones may be missing."""
    parts: list[Expr] = []
    for key in tool.properties:
        argument = seq(
            lit(f"{form.key[0]}{key}{form.key[1]}"), value_rule(grammar, form, tool, key)
        )
        parts.append(argument if key in tool.required else opt(argument))
    return seq(*parts)


def value_rule(grammar: Grammar, form: XmlForm, tool: ToolSpec, key: str) -> Expr:
    """A value and the tag that ends it: text where the schema allows a string, else JSON."""
    schema, end = schema_of(tool, key), form.value_end
    plain = Schemas(tool.parameters).plain(schema)
    if all(types_of(one) and "string" not in types_of(one) for one in plain):
        return seq(json_rule(grammar, schema, f"{tool.name}-{key}", tool.parameters), lit(end))
    chosen = [one.get("enum") for one in plain]
    if all(chosen):
        words = dict.fromkeys(str(word) for words in chosen for word in words or ())
        return seq(alt(*map(lit, words)), lit(end))
    return seq(grammar.once("text-value", lambda: _text(end)), lit(end[len(end.rstrip()) :]))


def _text(end: str) -> Expr:
    """Any text and then the tag; a newline before it belongs to the tag, and never lacks."""
    whole, tag = end.rstrip(), end.strip()
    return until([whole], [tag] if tag != whole else [])

"""The grammar of a dialect of tags: prose without opening tags, and calls of known tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callblocks.model.specs import ToolSpec
from callblocks.parsing.arguments import schema_of
from callblocks.parsing.expressions import EMPTY, Expr, alt, chars, lit, many, opt, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.json_rules import strings_without
from callblocks.parsing.machines import until
from callblocks.parsing.schema_rules import json_rule
from callblocks.parsing.schema_shape import Plain, Schemas
from callblocks.parsing.shapes.xml_form import TYPES
from callblocks.parsing.typed import type_name, types_of

if TYPE_CHECKING:
    from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("argument_rule", "arguments_rule", "xml_rules")


def xml_rules(grammar: Grammar, shape: XmlParameters, tools: Sequence[ToolSpec]) -> None:
    """Add the rule `root`."""
    form = shape.form
    ends = (shape.value_end_of(key).strip() for tool in tools for key in tool.properties)
    if markers := [*dict.fromkeys(ends)]:
        strings_without(grammar, markers)
    number = seq(lit(form.number), many(chars("0-9"), least=1)) if form.number else EMPTY
    calls = [
        seq(
            lit(shape.head_of(tool.name)),
            number,
            lit(form.head[1]),
            arguments_rule(grammar, shape, tool),
            lit(shape.tail_of(tool.name)),
        )
        for tool in tools
    ]
    call = grammar.rule("call", alt(*calls))
    row = grammar.row(call) if form.shared else call
    block = grammar.rule("block", seq(lit(form.wrapper[0]), row, lit(form.wrapper[1])))
    grammar.text(shape.openings(grammar.known or tools), block)


def arguments_rule(grammar: Grammar, shape: XmlParameters, tool: ToolSpec) -> Expr:
    """Return a rule for the arguments of a tool in their order; optional ones may be missing."""
    parts: list[Expr] = []
    for key in tool.properties:
        argument = argument_rule(grammar, shape, tool, key)
        parts.append(argument if key in tool.required else opt(argument))
    return seq(*parts)


def argument_rule(grammar: Grammar, shape: XmlParameters, tool: ToolSpec, key: str) -> Expr:
    """Return a rule for an argument: text if the schema allows a string, else JSON."""
    form, written = shape.form, shape.written_name(key)
    plain = Schemas(tool.parameters).plain(schema_of(tool, key)) or [{}]
    ways = [(one, kind) for one in plain for kind in sorted(types_of(one)) or TYPES]
    if not form.marks and any(kind == "string" for _, kind in ways):
        # Without a type in the tag, a number and its text look the same: a schema that allows a
        # string then allows any text.
        ways = [(one, kind) for one, kind in ways if kind == "string"]
    if shape.nests:
        # Nested tags are constrained like text: only up to the closing tag of the argument.
        ways = [(one, "string" if kind in ("array", "object") else kind) for one, kind in ways]
    label = f"{tool.name}-{key}"
    return alt(
        *(
            seq(
                lit(form.opening(written, kind)),
                _value(grammar, shape.value_end_of(key), one, kind, label, tool.parameters),
            )
            for one, kind in ways
        )
    )


def _value(
    grammar: Grammar, end: str, plain: Plain, kind: str, label: str, document: object
) -> Expr:
    """Return a rule for a value of one type, and the tag that ends it."""
    choices = [plain["const"]] if "const" in plain else plain.get("enum") or ()
    chosen = [value for value in choices if type_name(value) == kind]
    if kind == "string" and chosen:
        return seq(alt(*(lit(word) for word in chosen)), lit(end))
    if kind == "string":
        return seq(grammar.once(f"text{end}", lambda: _text(end)), lit(end[len(end.rstrip()) :]))
    schema = {"enum": chosen} if chosen else {**plain, "type": kind}
    return seq(json_rule(grammar, schema, label, document), lit(end))


def _text(end: str) -> Expr:
    """Return a rule for any text up to the tag; a newline before the tag is part of it."""
    whole, tag = end.rstrip(), end.strip()
    return until([whole], [tag] if tag != whole else [])

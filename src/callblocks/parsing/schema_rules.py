"""Grammar rules for the JSON values that a JSON Schema allows.

    json_rule(grammar, {"type": "object", "properties": {"path": {"type": "string"}}})

Objects have their members in the schema's order, required ones always, then others if
`additionalProperties` allows them; a writer puts its value `in_schema_order` first. A fixed order
is a restriction, but any order would need a rule per subset of the members. An integer has no
fraction. Lengths, patterns and ranges are not enforced: a grammar cannot express them, or not
cheaply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.expressions import EMPTY, Expr, Ref, alt, many, opt, repeat, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.schema_shape import (
    Elements,
    Members,
    Plain,
    Schemas,
    elements,
    kind,
    members,
)

__all__ = ("input_rule", "json_rule")

_SCALARS: Mapping[str, Callable[[Grammar], Expr]] = {
    "string": rules.string,
    "integer": rules.integer,
    "number": rules.number,
    "boolean": rules.boolean,
    "null": rules.null,
}


def json_rule(
    grammar: Grammar, schema: object, name: str = "value", document: object = None
) -> Expr:
    """Return a rule for the values of a schema as JSON; `name` labels the rules that it needs.

    `$ref` points into `document`, by default the schema itself.
    """
    return _Rules(grammar, schema if document is None else document).value(schema, name)


def input_rule(grammar: Grammar, tool: ToolSpec) -> Expr:
    """Return a rule for the inputs of a tool as a JSON object."""
    return json_rule(grammar, {"type": "object", **tool.parameters}, f"{tool.name}-input")


class _Rules:
    def __init__(self, grammar: Grammar, document: object) -> None:
        self._grammar = grammar
        self._schemas = Schemas(document)
        self._named: dict[str, Ref] = {}

    def value(self, schema: object, name: str) -> Expr:
        choices = self._schemas.plain(schema) or [{}]
        return alt(*(self._plain(plain, name) for plain in choices))

    def _plain(self, plain: Plain, name: str) -> Expr:
        if "const" in plain:
            return rules.constant(self._grammar, plain["const"])
        if plain.get("enum"):
            return alt(*(rules.constant(self._grammar, value) for value in plain["enum"]))
        match kind(plain):
            case "object":
                return self._once(plain, name, self._object)
            case "array":
                return self._once(plain, name, self._array)
            case scalar:
                return _SCALARS.get(scalar or "", rules.any_value)(self._grammar)

    def _once(self, plain: Plain, name: str, build: Callable[[Plain, str], Expr]) -> Ref:
        """Return one rule for all equal schemas; a recursive schema then refers to itself."""
        same = json.dumps(plain, default=repr)
        if same not in self._named:
            self._named[same] = self._grammar.reserve(name)
            self._grammar.define(self._named[same], build(plain, name))
        return self._named[same]

    def _object(self, plain: Plain, name: str) -> Expr:
        said = members(plain)
        inner = alt(*self._starts(said, name)) if said.known or said.extra is not False else EMPTY
        return rules.bracketed(self._grammar, "{}", inner, may_be_empty=not said.required)

    def _starts(self, said: Members, name: str) -> list[Expr]:
        """Return one alternative per member that may come first."""
        # The comma is the difficulty: each member but the first has one before it, and optional
        # members may be missing. `rest` is built from the last member backwards, each with its
        # comma; an alternative is a first member without a comma and the rest behind it. The first
        # member is at most the first required one (`last`). A `rest` that several alternatives
        # share becomes a rule, otherwise the grammar grows quadratically.
        comma = rules.comma(self._grammar)
        extra, rest = self._extra(said, name)
        wanted = [member in said.required for member in said.known]
        last = wanted.index(True) if any(wanted) else len(wanted)
        starts = [seq(extra, rest)] if extra and last == len(wanted) else []
        for at, (member, schema) in reversed(list(enumerate(said.known.items()))):
            value = self.value(schema, f"{name}-{member}")
            pair = rules.pair(self._grammar, rules.key(member), value)
            if at <= last and last > 0 and rest != EMPTY:  # several starts go on with it
                rest = self._grammar.rule(f"{name}-after-{member}", rest)
            if at <= last:
                starts.append(seq(pair, rest))
            step = seq(comma, pair)
            rest = seq(step if wanted[at] else opt(step), rest)
        return starts[::-1]

    def _extra(self, said: Members, name: str) -> tuple[Expr | None, Expr]:
        """Return a rule for one unknown member, and for any number of them."""
        if said.extra is False:
            return None, EMPTY
        value = self.value(said.extra, f"{name}-other")
        pair = rules.pair(self._grammar, rules.other_key(self._grammar, said.known), value)
        extra = self._grammar.rule(f"{name}-other-member", pair)
        return extra, many(seq(rules.comma(self._grammar), extra))

    def _array(self, plain: Plain, name: str) -> Expr:
        said = elements(plain)
        inner = self._first(said, name) if said.first else self._alike(said, name)
        return rules.bracketed(self._grammar, "[]", inner, may_be_empty=said.least == 0)

    def _alike(self, said: Elements, name: str) -> Expr:
        if said.most == 0 or said.rest is False:
            return EMPTY
        element = self.value(said.rest, f"{name}-element")
        # llama.cpp copies the body of a bounded repetition and limits the total size: a reference
        # is small.
        if not isinstance(element, Ref):
            element = self._grammar.rule(f"{name}-element", element)
        most = None if said.most is None else said.most - 1
        step = seq(rules.comma(self._grammar), element)
        return seq(element, repeat(step, max(said.least, 1) - 1, most))

    def _first(self, said: Elements, name: str) -> Expr:
        """Return a rule for elements with schemas of their own, then any number of the rest."""
        comma = rules.comma(self._grammar)
        full = said.rest is False or said.most == len(said.first)
        after = EMPTY if full else many(seq(comma, self.value(said.rest, f"{name}-rest")))
        first = [self.value(schema, f"{name}-{at}") for at, schema in enumerate(said.first)]
        for at in reversed(range(1, len(first))):
            step = seq(comma, first[at], after)
            after = step if at < said.least else opt(step)
        return seq(first[0], after)

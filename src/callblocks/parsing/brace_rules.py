"""Values in braces with a quote marker of their own: a writer, and grammar rules.

    {city:<q>Paris<q>,days:3}

Known members stand in the schema's order; required ones are always there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from callblocks.parsing import json_rules as rules
from callblocks.parsing.expressions import EMPTY, Expr, alt, lit, many, none_of, opt, seq
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.machines import until
from callblocks.parsing.schema_shape import Plain, Schemas, elements, kind, members

__all__ = ("BraceRules", "brace_text")

_SCALARS: Mapping[str | None, Callable[[Grammar], Expr]] = {
    "integer": rules.integer,
    "number": rules.number,
    "boolean": rules.boolean,
    "null": rules.null,
}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def brace_text(value: Any, quote: str) -> str:
    """Write a value; raise `TypeError` or `ValueError` for one that cannot be represented."""
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case dict():
            given = cast("dict[Any, Any]", value).items()
            return (
                "{" + ",".join(f"{_name(n, quote)}:{brace_text(v, quote)}" for n, v in given) + "}"
            )
        case list():
            return f"[{','.join(brace_text(one, quote) for one in cast('list[Any]', value))}]"
        case _:
            return json.dumps(value, allow_nan=False)


def _name(name: Any, quote: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{name!r:.60} is no name")
    return name if _WORD.fullmatch(name) else f"{quote}{name}{quote}"


class BraceRules:
    """A maker of rules for the schemas of one document."""

    def __init__(self, grammar: Grammar, document: Mapping[str, Any], quote: str) -> None:
        self._grammar = grammar
        self._schemas = Schemas(document)
        self._quote = quote
        self._named: dict[str, Expr] = {}

    def value(self, schema: object, name: str) -> Expr:
        """Return a rule for the values of a schema; `name` labels the rules that it needs."""
        choices = self._schemas.plain(schema) or [{}]
        return alt(*(self._plain(plain, name) for plain in choices))

    def _plain(self, plain: Plain, name: str) -> Expr:
        chosen = [plain["const"]] if "const" in plain else plain.get("enum")
        if chosen:
            return alt(*(lit(brace_text(one, self._quote)) for one in chosen))
        said = kind(plain)
        if said in ("object", "array"):
            return self._once(plain, name)
        if said == "string":
            return self._string()
        return _SCALARS[said](self._grammar) if said in _SCALARS else self._any()

    def _once(self, plain: Plain, name: str) -> Expr:
        """Return one rule for all equal schemas; a recursive schema then refers to itself."""
        # The rule is reserved before it is built: the schema may refer to itself.
        same = json.dumps(plain, default=repr)
        if same not in self._named:
            ref = self._grammar.reserve(name)
            self._named[same] = ref
            build = self._object if kind(plain) == "object" else self._array
            self._grammar.define(ref, build(plain, name))
        return self._named[same]

    def _string(self) -> Expr:
        return self._grammar.once("text", lambda: seq(lit(self._quote), until([self._quote])))

    def _any(self) -> Expr:
        return self._grammar.once("any-value", self._of_any)

    def _of_any(self) -> Expr:
        grammar, value = self._grammar, self._any()
        scalars = (rules.number(grammar), rules.boolean(grammar), rules.null(grammar))
        member = seq(self._any_name(), lit(":"), value)
        return alt(self._string(), *scalars, _row("{}", member), _row("[]", value))

    def _any_name(self) -> Expr:
        return self._grammar.once("name", lambda: many(none_of(",:{}[]<|\x00- "), least=1))

    def _object(self, plain: Plain, name: str) -> Expr:
        said = members(plain)
        if said.extra is not False and not said.known:
            return _row("{}", seq(self._any_name(), lit(":"), self._any()))
        starts: list[Expr] = [] if said.required else [EMPTY]
        rest: Expr = EMPTY
        first = next((at for at, key in enumerate(said.known) if key in said.required), None)
        for at, (key, schema) in reversed(list(enumerate(said.known.items()))):
            value = self.value(schema, f"{name}-{key}")
            pair = seq(lit(f"{_name(key, self._quote)}:"), value)
            if rest != EMPTY:
                rest = self._grammar.rule(f"{name}-after-{key}", rest)
            if first is None or at <= first:
                starts.append(seq(pair, rest))
            step = seq(lit(","), pair)
            rest = seq(step if key in said.required else opt(step), rest)
        return seq(lit("{"), alt(*starts), lit("}"))

    def _array(self, plain: Plain, name: str) -> Expr:
        said = elements(plain)
        parts = [self.value(schema, f"{name}-element") for schema in (*said.first, said.rest)]
        return _row("[]", alt(*parts))


def _row(brackets: str, one: Expr) -> Expr:
    inside = seq(one, many(seq(lit(","), one)))
    return seq(lit(brackets[0]), opt(inside), lit(brackets[1]))

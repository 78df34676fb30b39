"""Grammar rules for a tool's input as YAML: one entry per parameter.

      path: notes.txt
      lines: 3
      text: |
        anything, over
        several lines

The rules enforce names, order and scalar types. A nested value only has to be JSON, or indented:
indentation that depends on depth is not context-free.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from callblocks.core.specs import ToolSpec
from callblocks.parsing.grammar import json_rules as rules
from callblocks.parsing.grammar.expressions import (
    EMPTY,
    Chars,
    Expr,
    Machine,
    Ref,
    alt,
    chars,
    lit,
    many,
    none_of,
    one_of,
    opt,
    repeat,
    seq,
    until,
)
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.values.schema_shape import (
    Elements,
    Members,
    Plain,
    Schemas,
    elements,
    kind,
    members,
)
from callblocks.parsing.values.yaml_core import dump

__all__ = (
    "Body",
    "BraceRules",
    "arguments",
    "brace_text",
    "input_lines",
    "input_rule",
    "json_rule",
    "scalar_text",
    "text_value",
)

_HEX = chars("0-9a-fA-F")
# Words that are not strings to readers of YAML 1.2, or to most readers of 1.1.
WORDS = tuple(
    spelling
    for word in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    for spelling in (word, word.capitalize(), word.upper())
)
INDICATORS = r"""-?:,\[]{}#&*!|>'"%@`0-9+.~ """


def input_lines(grammar: Grammar, tool: ToolSpec) -> Expr:
    """Return the rule for the lines below `input:`, at least one."""
    # At least one line is required, since `input:` without one is null. So there is one
    # alternative per parameter that may come first: each up to the first required one.
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
    """Return a scalar as the YAML writer writes it."""
    return dump(value).rstrip("\n")


def _from(lines: Sequence[tuple[Expr, bool]], first: int) -> Expr:
    rest = (line if required else opt(line) for line, required in lines[first + 1 :])
    return seq(lines[first][0], *rest)


def _value(grammar: Grammar, schema: Mapping[str, Any]) -> Expr:
    """Return the rule for the text behind a parameter's colon, with its line end."""
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
        return text_value(grammar, "    ")
    if kind in scalars:
        return seq(lit(" "), scalars[kind](grammar), lit("\n"))
    return _nested(grammar)


def text_value(grammar: Grammar, margin: str) -> Ref:
    """Return the rule for a string behind its key: quoted, plain, or a block with this margin."""
    head = seq(lit("|"), opt(lit("2")), opt(chars("+-")), lit("\n"))
    block = seq(head, _indented(grammar, margin))
    line = seq(alt(_quoted(grammar), _plain(grammar)), lit("\n"))
    name = f"yaml-string-{len(margin)}"
    return grammar.once(name, lambda: seq(lit(" "), alt(line, block)))


def _quoted(grammar: Grammar) -> Ref:
    # Escapes of surrogates (`\uD800` to `\uDFFF`) are excluded: they stand for no character.
    code = alt(
        seq(chars("0-9a-cA-CeEfF"), repeat(_HEX, 3, 3)),
        seq(chars("dD"), chars("0-7"), repeat(_HEX, 2, 2)),
    )
    escape = seq(lit("\\"), alt(chars('"\\/bfnrt0'), seq(lit("u"), code)))
    inside = many(alt(none_of('"\\\x00-\x1f\x7f'), escape))
    return grammar.once("yaml-quoted", lambda: seq(lit('"'), inside, lit('"')))


def _plain(grammar: Grammar) -> Ref:
    """Return an automaton for plain strings: none of `WORDS`, and without `: ` and ` #`."""
    # States: one per prefix of a word, then `free` (no longer a prefix), `blank` (behind a space)
    # and `colon` (behind a colon). The text may end in `free` and in a prefix that is no word.
    states = list(dict.fromkeys(word[:size] for word in WORDS for size in range(len(word) + 1)))
    free, blank, colon = (len(states) + at for at in range(3))
    after = [((none_of(" \n:#"), free),)] * 2
    onward = ((one_of(" "), blank), (one_of(":"), colon))
    steps = [
        *(_word_steps(state, states, free) + (onward if state else ()) for state in states),
        ((none_of(" \n:"), free), *onward),
        *after,
    ]
    ends = [at for at, state in enumerate(states) if state and state not in WORDS]
    machine = Machine(tuple(steps), frozenset({*ends, free}))
    return grammar.once("yaml-plain", lambda: machine)


def _word_steps(state: str, states: list[str], free: int) -> tuple[tuple[Chars, int], ...]:
    """Return the steps of a prefix: on to a longer prefix, or to `free`.

    The first character must be no indicator, which would begin another kind of node.
    """
    further = {text[-1]: at for at, text in enumerate(states) if text and text[:-1] == state}
    barred = none_of(" \n:" if state else INDICATORS + "\n\t")
    other = Chars((*barred.ranges, *one_of(further).ranges), negated=True)
    return (*((one_of(char), at) for char, at in further.items()), (other, free))


def _nested(grammar: Grammar) -> Ref:
    flow = seq(lit(" "), rules.any_value(grammar), lit("\n"))
    block = seq(lit("\n"), _indented(grammar, "    "))
    return grammar.once("yaml-nested", lambda: alt(flow, block))


def _anything(grammar: Grammar) -> Ref:
    return grammar.once("yaml-any", lambda: alt(text_value(grammar, "    "), _nested(grammar)))


def _indented(grammar: Grammar, margin: str) -> Ref:
    line = seq(lit(margin), many(none_of("\n")), lit("\n"))
    blank = many(lit("\n"))
    name = f"yaml-indented-{len(margin)}"
    return grammar.once(name, lambda: seq(blank, line, many(alt(line, lit("\n"))), EMPTY))


# --- Grammar rules for a tool's positional arguments: words as a shell splits them ---

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


# --- Values in braces with a quote marker of their own: a writer, and grammar rules ---
#
#     {city:<q>Paris<q>,days:3}
#
# Known members stand in the schema's order; required ones are always there.

_BRACE_SCALARS: Mapping[str | None, Callable[[Grammar], Expr]] = {
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
        return _BRACE_SCALARS[said](self._grammar) if said in _BRACE_SCALARS else self._any()

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


# --- Grammar rules for the JSON values that a JSON Schema allows ---
#
#     json_rule(grammar, {"type": "object", "properties": {"path": {"type": "string"}}})
#
# Objects have their members in the schema's order, required ones always, then others if
# `additionalProperties` allows them; a writer puts its value `in_schema_order` first. A fixed order
# is a restriction, but any order would need a rule per subset of the members. An integer has no
# fraction. Lengths, patterns and ranges are not enforced: a grammar cannot express them, or not
# cheaply.

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

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
from collections.abc import Mapping, Sequence
from typing import Any

from callblocks.model.specs import ToolSpec
from callblocks.parsing import json_rules as rules
from callblocks.parsing.expressions import (
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
    opt,
    repeat,
    seq,
)
from callblocks.parsing.grammar import Grammar
from callblocks.parsing.machines import one_of
from callblocks.parsing.yaml_write import dump

__all__ = ("input_lines", "scalar_text", "text_value")

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

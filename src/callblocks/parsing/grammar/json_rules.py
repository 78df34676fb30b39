"""Grammar rules for JSON, as `json.dumps` prints it and as models write it.

Blanks between tokens are allowed but bounded: nothing, one space, or a newline and indentation. A
model that is constrained to unbounded blanks can go on writing blanks for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

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
    without,
)
from callblocks.parsing.grammar.grammar import Grammar

__all__ = (
    "any_value",
    "blank",
    "boolean",
    "bracketed",
    "comma",
    "constant",
    "integer",
    "key",
    "null",
    "number",
    "other_key",
    "pair",
    "string",
    "strings_without",
)

# The longest indentation that a grammar allows.
INDENT = 32  # sixteen levels of two, eight of four
_PLAIN = none_of('"\\\x00-\x1f')
_DIGITS = many(chars("0-9"), least=1)
_HEX = chars("0-9a-fA-F")
_ESCAPED = chars('"\\/bfnrt')

# The steps of a state: classes of characters with the state that each leads to.
Steps: TypeAlias = tuple[tuple[Chars, int], ...]


def blank(grammar: Grammar) -> Ref:
    """Return the rule for blanks between two tokens."""
    line = seq(opt(lit("\r")), lit("\n"), repeat(chars(" \t"), 0, INDENT))
    return grammar.once("json-blank", lambda: alt(EMPTY, lit(" "), line))


def comma(grammar: Grammar) -> Ref:
    """Return the rule for the comma between two members or elements."""
    return grammar.once("json-comma", lambda: seq(blank(grammar), lit(","), blank(grammar)))


def string(grammar: Grammar) -> Ref:
    """Return the rule for a string."""
    escape = seq(lit("\\"), alt(_ESCAPED, seq(lit("u"), repeat(_HEX, 4, 4))))
    return grammar.once("json-string", lambda: seq(lit('"'), many(alt(_PLAIN, escape)), lit('"')))


def strings_without(grammar: Grammar, markers: Sequence[str]) -> None:
    """Define the grammar's strings as ones that hold none of these markers unescaped.

    It must run before the first string is requested: the rule is shared under one name.
    """
    grammar.once("json-string", lambda: seq(lit('"'), _without(markers), lit('"')))


def _without(markers: Sequence[str]) -> Machine:
    """Return an automaton for a string's contents without these markers.

    An escape interrupts a marker, so the automaton is in its start state behind one.
    """
    free = without(markers)
    escape = len(free.steps)
    steps = [(*_within_string(one), (one_of("\\"), escape)) for one in free.steps]
    return Machine((*steps, *_escape_steps(escape, then=0)), free.ends)


def _within_string(steps: Steps) -> Steps:
    """Return the steps without the characters that a string must escape."""
    return tuple(
        (Chars((*_PLAIN.ranges, *taken.ranges), negated=True) if taken.negated else taken, to)
        for taken, to in steps
    )


def _escape_steps(at: int, then: int) -> tuple[Steps, ...]:
    """Return the states behind a backslash, from number `at` on: a letter, or `u` and 4 digits."""
    digits = tuple(((_HEX, at + 2 + done if done < 3 else then),) for done in range(4))
    return (((_ESCAPED, then), (one_of("u"), at + 1)), *digits)


def integer(grammar: Grammar) -> Ref:
    """Return the rule for a number without fraction and exponent."""
    whole = alt(lit("0"), seq(chars("1-9"), many(chars("0-9"))))
    return grammar.once("json-integer", lambda: seq(opt(lit("-")), whole))


def number(grammar: Grammar) -> Ref:
    """Return the rule for any number."""
    fraction = opt(seq(lit("."), _DIGITS))
    exponent = opt(seq(chars("eE"), opt(chars("+-")), _DIGITS))
    return grammar.once("json-number", lambda: seq(integer(grammar), fraction, exponent))


def boolean(grammar: Grammar) -> Ref:
    """Return the rule for true or false."""
    return grammar.once(
        "json-boolean", lambda: alt(*(lit(grammar.words[word]) for word in ("true", "false")))
    )


def null(grammar: Grammar) -> Expr:
    """Return the rule for null."""
    return lit(grammar.words["null"])


def any_value(grammar: Grammar) -> Ref:
    """Return the rule for any JSON value."""
    return grammar.once("json-value", lambda: _any(grammar))


def _any(grammar: Grammar) -> Expr:
    member = pair(grammar, string(grammar), any_value(grammar))
    members = seq(member, many(seq(comma(grammar), member)))
    element = any_value(grammar)
    elements = seq(element, many(seq(comma(grammar), element)))
    return alt(
        bracketed(grammar, "{}", members, may_be_empty=True),
        bracketed(grammar, "[]", elements, may_be_empty=True),
        string(grammar),
        number(grammar),
        boolean(grammar),
        null(grammar),
    )


def bracketed(grammar: Grammar, brackets: str, inner: Expr, *, may_be_empty: bool) -> Expr:
    """Return a rule for `inner` in brackets or braces, with blanks around it."""
    filled = seq(inner, blank(grammar))
    body = opt(filled) if may_be_empty else filled
    return seq(
        lit(brackets[0]), blank(grammar), *([] if inner == EMPTY else [body]), lit(brackets[1])
    )


def pair(grammar: Grammar, name: Expr, value: Expr) -> Expr:
    """Return a rule for a member of an object."""
    return seq(name, blank(grammar), lit(":"), blank(grammar), value)


def key(name: str) -> Expr:
    """Return a rule for a known string, in letters or in `\\u` escapes."""
    return alt(lit(json.dumps(name, ensure_ascii=False)), lit(json.dumps(name)))


def constant(grammar: Grammar, value: object) -> Expr:
    """Return a rule for exactly one value, its members in order."""
    match value:
        case str():
            return key(value)
        case dict():
            members = [
                pair(grammar, key(name), constant(grammar, inner))
                for name, inner in cast("dict[str, Any]", value).items()
            ]
            return bracketed(grammar, "{}", _listed(grammar, members), may_be_empty=False)
        case list():
            elements = [constant(grammar, inner) for inner in cast("list[Any]", value)]
            return bracketed(grammar, "[]", _listed(grammar, elements), may_be_empty=False)
        case _:
            word = json.dumps(value)
            return lit(grammar.words.get(word, word))


def _listed(grammar: Grammar, found: list[Expr]) -> Expr:
    rest = (part for expr in found[1:] for part in (comma(grammar), expr))
    return seq(*found[:1], *rest)


def other_key(grammar: Grammar, known: Iterable[str]) -> Expr:
    """Return a rule for a string that is none of the known ones, if written without escapes."""
    # States: one per prefix of a known name, then `other` (no longer a prefix) and the states of an
    # escape. A state that is a whole known name is no end. A name in escapes passes: excluding it
    # too would multiply the states by the spellings of each letter.
    names = [name for name in known if json.dumps(name, ensure_ascii=False) == f'"{name}"']
    if not names:
        return string(grammar)
    states = list(dict.fromkeys(name[:size] for name in names for size in range(len(name) + 1)))
    other = len(states)
    steps = [_key_steps(state, states, other) for state in states]
    # After the states come: any other key, an escape, and its digits.
    free = ((_PLAIN, other), (one_of("\\"), other + 1))
    escape = _escape_steps(other + 1, then=other)
    ends = frozenset(at for at, state in enumerate(states) if state not in names)
    return seq(lit('"'), Machine((*steps, free, *escape), ends | {other}), lit('"'))


def _key_steps(state: str, states: list[str], other: int) -> tuple[tuple[Chars, int], ...]:
    further = {text[-1]: at for at, text in enumerate(states) if text and text[:-1] == state}
    rest = Chars((*_PLAIN.ranges, *one_of(further).ranges), negated=True)
    known = ((one_of(char), at) for char, at in further.items())
    return (*known, (rest, other), (one_of("\\"), other + 1))

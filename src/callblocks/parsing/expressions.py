"""Expressions of grammar rules, independent of the notation in which they are printed.

    seq(lit("<"), many(chars("a-z"), least=1), opt(lit("/")), lit(">"))

A class is written as in a regular expression's brackets, without escapes: `a-z0-9_`; a
hyphen at either end stands for itself. Expressions are values: equal ones are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from callblocks.model.errors import CallerError

__all__ = (
    "EMPTY",
    "Alt",
    "Chars",
    "Expr",
    "Lit",
    "Machine",
    "Ref",
    "Repeat",
    "Seq",
    "alt",
    "chars",
    "lit",
    "many",
    "none_of",
    "opt",
    "repeat",
    "seq",
    "within",
)


class Lit(msgspec.Struct, frozen=True):
    """A literal text."""

    text: str


class Chars(msgspec.Struct, frozen=True):
    """One character inside of the ranges, or, if `negated`, one outside of all of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False


class Seq(msgspec.Struct, frozen=True):
    """A sequence; without parts, the empty text."""

    parts: tuple[Expr, ...]


class Alt(msgspec.Struct, frozen=True):
    """A choice of one alternative."""

    choices: tuple[Expr, ...]


class Repeat(msgspec.Struct, frozen=True):
    """A repetition of `least` to `most` times; without `most`, unbounded."""

    body: Expr
    least: int
    most: int | None


class Ref(msgspec.Struct, frozen=True):
    """A reference to a rule."""

    name: str


class Machine(msgspec.Struct, frozen=True):
    """A deterministic automaton over characters: it starts in state 0 and may stop in `ends`.

    `steps[state]` are classes of characters with the state that each leads to. It is a node of its
    own, and not rules, because GBNF needs right recursion and Lark left recursion.
    """

    steps: tuple[tuple[tuple[Chars, int], ...], ...]
    ends: frozenset[int]


Expr: TypeAlias = Lit | Chars | Seq | Alt | Repeat | Ref | Machine

# The empty text.
EMPTY = Seq(())


def lit(text: str) -> Expr:
    """Return an expression for exactly this text."""
    return Lit(text) if text else EMPTY


def chars(spec: str) -> Chars:
    """Return an expression for one character of the class `spec`, such as `a-zA-Z_`."""
    return Chars(_ranges(spec))


def none_of(spec: str) -> Chars:
    """Return an expression for one character outside of `spec`; newlines are characters, too."""
    return Chars(_ranges(spec), negated=True)


def seq(*parts: Expr) -> Expr:
    """Return a sequence of all parts; nested sequences are flattened."""
    flat = tuple(inner for part in parts for inner in _parts(part))
    return flat[0] if len(flat) == 1 else Seq(flat)


def alt(*choices: Expr) -> Expr:
    """Return a choice; nested choices are flattened and duplicates dropped."""
    if not choices:
        raise CallerError("an alternative needs at least one choice")
    flat = tuple(dict.fromkeys(inner for choice in choices for inner in _choices(choice)))
    return flat[0] if len(flat) == 1 else Alt(flat)


def repeat(body: Expr, least: int, most: int | None) -> Expr:
    """Return a repetition of `body` from `least` to `most` times, or unbounded."""
    if least < 0 or (most is not None and most < least):
        raise CallerError(f"cannot repeat {least} to {most} times; give 0 <= least <= most")
    if most == 0:
        return EMPTY
    return body if least == most == 1 else Repeat(body, least, most)


def many(body: Expr, least: int = 0) -> Expr:
    """Return an unbounded repetition of `body`, at least `least` times."""
    return repeat(body, least, None)


def opt(body: Expr) -> Expr:
    """Return an optional `body`."""
    return repeat(body, 0, 1)


def within(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its subexpressions, in the order of the text."""
    yield expr
    match expr:
        case Seq(inner) | Alt(inner):
            for part in inner:
                yield from within(part)
        case Repeat(body):
            yield from within(body)
        case _:
            pass


def _parts(expr: Expr) -> tuple[Expr, ...]:
    return expr.parts if isinstance(expr, Seq) else (expr,)


def _choices(expr: Expr) -> tuple[Expr, ...]:
    return expr.choices if isinstance(expr, Alt) else (expr,)


def _ranges(spec: str) -> tuple[tuple[str, str], ...]:
    if not spec:
        raise CallerError("a character class needs at least one character")
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(spec):
        ranged = spec[at + 1 : at + 2] == "-" and at + 2 < len(spec)
        last = spec[at + 2] if ranged else spec[at]
        if last < spec[at]:
            raise CallerError(f"the range {spec[at : at + 3]!r} runs backwards")
        found.append((spec[at], last))
        at += 3 if ranged else 1
    return tuple(found)

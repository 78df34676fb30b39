"""Expressions of grammar rules, independent of the notation in which they are printed.

    seq(lit("<"), many(chars("a-z"), least=1), opt(lit("/")), lit(">"))

A class is written as in a regular expression's brackets, without escapes: `a-z0-9_`; a
hyphen at either end stands for itself. Expressions are values: equal ones are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from callblocks.core.errors import CallerError

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
    "one_of",
    "opt",
    "repeat",
    "seq",
    "until",
    "within",
    "without",
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


# --- Automata for text up to, or without, certain markers, for use in grammars ---
#
#     without(["<call>", "<end>"])    any text that has neither in it, also none at all
#     until(["</call>"])              any text, and then the first `</call>`
#
# The automaton is that of Aho and Corasick: a state is the longest suffix of the text so far that
# is a prefix of a marker. With the marker `<end>`, the text `a<<en` is in the state `<en`; after
# `x` it is in the state ``.
#
# Each step takes a single character. A grammar with a rule per marker prefix would be shorter, but
# llguidance cuts text into terminals by the longest match, and words of several characters compete.


def without(markers: Sequence[str]) -> Machine:
    """Return an automaton for any text, also the empty one, that contains none of the markers.

    A marker behind it may have begun inside of it (one backtick, then three). If that matters, use
    `until` with that marker instead.
    """
    states = _states(markers)
    steps = tuple(_steps(state, states, markers, {}) for state in states)
    return Machine(steps, frozenset(range(len(states))))


def until(ends: Sequence[str], markers: Sequence[str] = ()) -> Machine:
    """Return an automaton for any text up to the first of `ends`, without any of `markers`."""
    words = (*ends, *markers)
    states = _states(words)
    for end in ends:
        _check_reachable(end, words)
    last = len(states)
    finals = dict.fromkeys(ends, last)
    steps = tuple(_steps(state, states, words, finals) for state in states)
    return Machine((*steps, ()), frozenset({last}))


def one_of(found: Iterable[str], negated: bool = False) -> Chars:
    """Return a class of exactly these characters, or of all others."""
    return Chars(tuple((char, char) for char in found), negated)


def _states(words: Sequence[str]) -> tuple[str, ...]:
    """Return every proper prefix of a word that contains no whole word, the empty one first."""
    if not words or not all(words):
        raise CallerError(f"markers are texts of at least one character, not {list(words)!r}")
    begun = dict.fromkeys(word[:size] for word in words for size in range(len(word)))
    return tuple(text for text in begun if not any(word in text for word in words))


def _check_reachable(end: str, words: Sequence[str]) -> None:
    early = next((word for word in words if word in end[:-1]), None)
    if early is not None:
        raise CallerError(f"the end {end!r} is never reached: {early!r} in it comes first")


def _steps(
    state: str, states: Sequence[str], words: Sequence[str], finals: dict[str, int]
) -> tuple[tuple[Chars, int], ...]:
    """Return the steps of a state; a character that completes a word leads to `finals` or nowhere.

    All characters that occur in no word lead to the start, and share one negated class.
    """
    # Only characters that occur in words need steps of their own. A step to state 0 is covered by
    # the negated class of all others, and a step to None (a forbidden word) must be left out of it.
    taken: dict[str, int | None] = {}
    for char in dict.fromkeys("".join(words)):
        text = state + char
        whole = max((word for word in words if text.endswith(word)), key=len, default=None)
        target = finals.get(whole) if whole else _longest(text, states)
        if target != 0:
            taken[char] = target
    steps = ((one_of(char), target) for char, target in taken.items() if target is not None)
    return (*steps, (one_of(taken, negated=True), 0))


def _longest(text: str, states: Sequence[str]) -> int:
    return next(states.index(text[at:]) for at in range(len(text) + 1) if text[at:] in states)

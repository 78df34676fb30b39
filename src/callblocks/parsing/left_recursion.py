"""A check for grammars that llama.cpp refuses: rules that reach themselves before any text.

a ::= a "x"          comes back to itself at once
a ::= b? a           so does this, as `b` may be nothing
("x"?)*              and this: an open repetition of what may be nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from callblocks.model.errors import CallerError
from callblocks.parsing.expressions import Alt, Chars, Expr, Lit, Ref, Repeat, Seq, within

__all__ = ("check",)


def check(rules: Mapping[str, Expr]) -> None:
    """Raise `CallerError` for the first rule that may loop without consuming a character."""
    empty = _nullable(rules)
    for name, expr in rules.items():
        if any(_loops(part, empty) for part in within(expr)):
            raise CallerError(f"rule {name} repeats without end what may be empty")
    first = {name: set(_leftmost(expr, empty)) for name, expr in rules.items()}
    for name in rules:
        if name in _reached(name, first):
            raise CallerError(f"rule {name} comes back to itself before any text")


def _nullable(rules: Mapping[str, Expr]) -> set[str]:
    """Return the nullable rules, those that match the empty text, as a least fixed point."""
    empty: set[str] = set()
    grew = True
    while grew:
        more = {name for name, expr in rules.items() if _may_be_empty(expr, empty)}
        grew = more != empty
        empty = more
    return empty


def _may_be_empty(expr: Expr, empty: set[str]) -> bool:
    match expr:
        case Lit() | Chars():
            return False
        case Seq(parts):
            return all(_may_be_empty(part, empty) for part in parts)
        case Alt(choices):
            return any(_may_be_empty(choice, empty) for choice in choices)
        case Repeat(body, least):
            return least == 0 or _may_be_empty(body, empty)
        case Ref(name):
            return name in empty
        case _:
            return 0 in expr.ends


def _loops(expr: Expr, empty: set[str]) -> bool:
    return isinstance(expr, Repeat) and expr.most is None and _may_be_empty(expr.body, empty)


def _leftmost(expr: Expr, empty: set[str]) -> Iterator[str]:
    """Yield the rules that may start at the beginning of an expression."""
    match expr:
        case Ref(name):
            yield name
        case Seq(parts):
            for part in parts:
                yield from _leftmost(part, empty)
                if not _may_be_empty(part, empty):
                    return
        case Alt(choices):
            for choice in choices:
                yield from _leftmost(choice, empty)
        case Repeat(body):
            yield from _leftmost(body, empty)
        case _:
            pass


def _reached(name: str, first: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = set(first[name])
    while waiting:
        nxt = waiting.pop()
        found.add(nxt)
        waiting |= first[nxt] - found
    return found

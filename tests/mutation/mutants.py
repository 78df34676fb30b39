"""Small changes to a module, each of which a test should notice.

A mutant is one place of the source and one change to it: a comparison turned, a condition
negated, a constant moved, a statement left out. Texts for people are left alone; codes and
keys, which are texts without blanks, are not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

__all__ = ("Mutant", "mutants", "mutate")

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CODE = re.compile(r"[a-z][a-z_]{2,30}")
_SKIPPED = ("annotation", "returns", "decorator_list", "type_params", "bases", "keywords")


class Mutant(NamedTuple):
    """The place among all places, the line, and what is changed there."""

    place: int
    line: int
    what: str


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a module."""
    return [
        Mutant(place, getattr(change.node, "lineno", 0), change.what)
        for place, change in enumerate(_changes(ast.parse(source)))
    ]


def mutate(source: str, place: int) -> ast.Module:
    """The module with one change."""
    tree = ast.parse(source)
    for at, change in enumerate(_changes(tree)):
        if at == place:
            change.apply()
            return ast.fix_missing_locations(tree)
    raise IndexError(place)


class _Change(NamedTuple):
    node: ast.AST
    what: str
    apply: Callable[[], None]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    for holder, field, index, node in _places(tree):

        def put(new: Any, holder: ast.AST = holder, field: str = field, at: int | None = index):
            if at is None:
                setattr(holder, field, new)
            else:
                getattr(holder, field)[at] = new

        yield from _of(node, put)


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every part of the code that runs: where it is held, and the part itself."""
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED and not isinstance(node, ast.Call):
            continue
        parts = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, part in parts:
            if isinstance(part, ast.AST) and not _is_spared(part, node):
                yield node, field, index, part
                yield from _places(part)


def _is_spared(part: ast.AST, holder: ast.AST) -> bool:
    """Docstrings, names of the module, and what only a type checker sees."""
    match part:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="cast" | "TypeVar")):
            return True
        case _:
            return isinstance(part, ast.JoinedStr)


def _of(node: ast.AST, put: Callable[[Any], None]) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                if type(op) in _TURNED:
                    new = _TURNED[type(op)]
                    yield _Change(node, f"{_say(op)} → {_say(new())}", _setter(ops, at, new()))
        case ast.BoolOp(op=op):
            new_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield _Change(node, f"{_say(op)} → {_say(new_op)}", _attribute(node, "op", new_op))
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            turned = _OPERATORS[type(op)]()
            yield _Change(node, f"{_say(op)} → {_say(turned)}", _attribute(node, "op", turned))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Change(node, "not removed", lambda: put(operand))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            negated = ast.UnaryOp(op=ast.Not(), operand=test)
            yield _Change(node, "condition negated", _attribute(node, "test", negated))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield _Change(node, "returns None", _attribute(node, "value", ast.Constant(value=None)))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
            yield _Change(node, "statement removed", lambda: put(ast.Pass()))
        case ast.Break() | ast.Continue():
            other = ast.Continue() if isinstance(node, ast.Break) else ast.Break()
            yield _Change(node, "break ↔ continue", lambda: put(other))
        case ast.Constant(value=value):
            yield from _of_constant(node, value)
        case _:
            return


def _of_constant(node: ast.Constant, value: object) -> Iterator[_Change]:
    if isinstance(value, bool):
        yield _Change(node, f"{value} → {not value}", _attribute(node, "value", not value))
    elif isinstance(value, int | float):
        yield _Change(node, f"{value} → {value + 1}", _attribute(node, "value", value + 1))
    elif isinstance(value, str) and _CODE.fullmatch(value):
        yield _Change(node, f"{value!r} → 'x'", _attribute(node, "value", "x"))


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _setter(items: list[Any], at: int, new: Any) -> Callable[[], None]:
    return lambda: items.__setitem__(at, new)


def _attribute(node: ast.AST, name: str, new: Any) -> Callable[[], None]:
    return lambda: setattr(node, name, new)


def _say(op: ast.AST) -> str:
    return type(op).__name__

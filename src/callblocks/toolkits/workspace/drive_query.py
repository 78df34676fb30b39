r"""Drive's search syntax as a small tree, and how it is written.

    name contains 'report' and mimeType = 'application/pdf'
    modifiedTime > '2024-05-01T12:00:00' and not (trashed = true or starred = true)
    '1AbC…' in parents and name = 'Valentine\'s Day'

`and` and `or` bind alike, from left to right; parentheses say it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

__all__ = ("And", "Not", "Or", "Query", "Term", "terms", "write_query")


class Term(msgspec.Struct, frozen=True, tag="term"):
    """One comparison; for a collection, `operator` is `in` and the value is the element."""

    field: str
    operator: str
    value: str | bool


class Not(msgspec.Struct, frozen=True, tag="not"):
    """The complement of an item."""

    item: Query


class And(msgspec.Struct, frozen=True, tag="and"):
    """The conjunction of two or more items."""

    items: tuple[Query, ...]


class Or(msgspec.Struct, frozen=True, tag="or"):
    """The disjunction of two or more items."""

    items: tuple[Query, ...]


Query: TypeAlias = Term | Not | And | Or


def write_query(query: Query) -> str:
    """Write a query in Google's spelling; parsing it gives the same tree."""
    match query:
        case Term(field, "in", value):
            return f"{_quoted(value)} in {field}"
        case Term(field, operator, value):
            return f"{field} {operator} {_quoted(value)}"
        case Not(item):
            return f"not {_grouped(item)}"
        case And(items):
            return " and ".join(map(_grouped, items))
        case Or(items):
            return " or ".join(map(_grouped, items))


def terms(query: Query) -> Iterator[Term]:
    """Yield all comparisons of a query."""
    match query:
        case Term():
            yield query
        case Not(item):
            yield from terms(item)
        case And(items) | Or(items):
            for item in items:
                yield from terms(item)


def _quoted(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _grouped(item: Query) -> str:
    return write_query(item) if isinstance(item, Term) else f"({write_query(item)})"

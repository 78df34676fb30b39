"""Matching and sorting of files by a Drive query.

`name contains` matches word prefixes, as Google does: `Wor` is in `Hello World`, not in
`HelloWorld`. Case is ignored. Fields that have no local meaning (views, shares) never match.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from typing import TypeAlias

from callblocks.toolkits.workspace.drive_query import And, Not, Or, Query, Term
from callblocks.toolkits.workspace.drive_terms import FIELDS
from callblocks.toolkits.workspace.local.drive_row import ROOT, Row
from callblocks.toolkits.workspace.local.drive_view import View

__all__ = ("Matches", "in_order", "matcher", "name_holds")

Matches: TypeAlias = Callable[[Row], bool]

_WORD = re.compile(r"[^\W_]+")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_THOUSANDTH = 1_000_000  # nanoseconds
_DIGITS = re.compile(r"(\d+)")


def matcher(query: Query, view: View, texts: Mapping[str, Set[str]]) -> Matches:
    """Compile a query to a predicate; `texts` has the ids for each `fullText` value."""
    match query:
        case Term():
            return _term(query, view, texts)
        case Not(item):
            inner = matcher(item, view, texts)
            return lambda row: not inner(row)
        case And(items):
            return _both([matcher(item, view, texts) for item in items])
        case Or(items):
            some = [matcher(item, view, texts) for item in items]
            return lambda row: any(one(row) for one in some)


def _both(every: list[Matches]) -> Matches:
    # A plain loop, because this runs for every file.
    def holds(row: Row) -> bool:
        for one in every:  # noqa: SIM110 `all` of a generator takes twice as long
            if not one(row):
                return False
        return True

    return holds


def name_holds(name: str, value: str) -> bool:
    """Tell if a name contains consecutive words that start with these."""
    return _name_holds(value)(name)


def _name_holds(value: str) -> Callable[[str], bool]:
    whole = value.casefold()
    wanted = _WORD.findall(whole)
    if not wanted:
        return lambda name: whole in name.casefold()
    *first, last = wanted

    def holds(name: str) -> bool:
        lower = name.casefold()
        if last not in lower:  # most names, and it is soon seen
            return False
        words = _WORD.findall(lower)
        return any(
            words[at : at + len(first)] == first and words[at + len(first)].startswith(last)
            for at in range(len(words) - len(first))
        )

    return holds


def in_order(rows: Iterable[Row], order: Iterable[tuple[str, bool]]) -> list[Row]:
    """Sort files by these keys, then by id."""
    ordered = sorted(rows, key=lambda row: row.id)
    for key, down in reversed([*order]):
        ordered.sort(key=_KEYS[key], reverse=down)
    return ordered


def _term(term: Term, view: View, texts: Mapping[str, Set[str]]) -> Matches:
    is_equal, value = term.operator == "=", str(term.value)
    match FIELDS[term.field].kind:
        case "time":
            return _time(term.field, term.operator, value)
        case "truth":
            held = _truth(term.field, view)
            wanted = term.value is is_equal
            return lambda row: held(row) is wanted
        case "members":
            return _member(term.field, value)
        case "text":
            found = texts.get(value, frozenset[str]())
            return _text(term, value) or (lambda row: row.id in found)


def _text(term: Term, value: str) -> Matches | None:
    """Return the comparison of a name or a type; `None` for the text of a file."""
    is_equal = term.operator == "="
    match term.field, term.operator:
        case "name", "contains":
            holds = _name_holds(value)
            return lambda row: holds(row.name)
        case "name", _:
            lower = value.casefold()
            return lambda row: (row.name.casefold() == lower) is is_equal
        case "mimeType", "contains":
            return lambda row: value in row.mime
        case "mimeType", _:
            return lambda row: (row.mime == value) is is_equal
        case _:
            return None


def _time(field: str, how: str, value: str) -> Matches:
    compare = _COMPARE[how]
    moment = round(datetime.fromisoformat(value).timestamp() * 1000)
    if field == "viewedByMeTime":
        return lambda _: False
    if field == "createdTime":
        return lambda row: compare(row.created // _THOUSANDTH, moment)
    return lambda row: compare(row.modified // _THOUSANDTH, moment)


def _truth(field: str, view: View) -> Matches:
    if field == "trashed":
        return view.is_trashed
    return (lambda row: bool(row.starred)) if field == "starred" else (lambda _: False)


def _member(field: str, value: str) -> Matches:
    if field != "parents":  # all is the owner's
        return lambda _: value == "me"
    parent = ROOT if value == "root" else value
    return lambda row: row.parent == parent


def _natural(row: Row) -> list[tuple[bool, int, str]]:
    parts = _DIGITS.split(row.name.casefold())
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _never(_: Row) -> int:
    return 0


_KEYS: dict[str, Callable[[Row], int | str | list[tuple[bool, int, str]]]] = {
    "createdTime": lambda row: row.created,
    "folder": lambda row: not row.is_folder,
    "modifiedByMeTime": lambda row: row.modified,
    "modifiedTime": lambda row: row.modified,
    "name": lambda row: row.name.casefold(),
    "name_natural": _natural,
    "quotaBytesUsed": lambda row: row.size,
    "recency": lambda row: row.modified,
    "sharedWithMeTime": _never,
    "starred": lambda row: not row.starred,
    "viewedByMeTime": _never,
}

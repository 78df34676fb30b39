"""Which files of the played drive a query finds: Drive's terms on whole resources."""

from __future__ import annotations

import operator
import re
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.drive_query import (
    And,
    Not,
    Or,
    Query,
    Term,
    read_order,
    read_query,
    terms,
)
from support.google.state import Json, Refused

__all__ = ("found_files",)

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORD = re.compile(r"[^\W_]+")


def found_files(files: dict[str, Json], texts: dict[str, str], q: str, order: str) -> list[Json]:
    """The resources that a query finds, in order; a wrong query is refused as Google does."""
    try:
        tree = read_query(q) if q else None
        keys = read_order(order)
    except ToolError as error:
        raise Refused(400, "invalid", f"Invalid Value: {error.message}") from error
    asked = [] if tree is None else list(terms(tree))
    if keys and any(term.field == "fullText" for term in asked):
        raise Refused(403, "forbidden", "Sorting is not supported for queries with fullText terms")
    for term in asked:
        if term.field == "parents" and term.value not in {*files, "root"}:
            raise Refused(404, "notFound", f"File not found: {term.value}.")
    found = [one for one in files.values() if tree is None or _holds(tree, one, texts)]
    for key, down in reversed(keys):
        found.sort(key=lambda one: _key(one, key), reverse=down)
    return found


def _holds(query: Query, file: Json, texts: dict[str, str]) -> bool:
    match query:
        case Not(item):
            return not _holds(item, file, texts)
        case And(items):
            return all(_holds(item, file, texts) for item in items)
        case Or(items):
            return any(_holds(item, file, texts) for item in items)
        case Term():
            return _fits(query, file, texts)


def _fits(term: Term, file: Json, texts: dict[str, str]) -> bool:
    match term:
        case Term("parents", _, value):
            fits = value in file["parents"]
            fits |= value == "root" and file["parents"] == ["0ARootUk9PVA"]
        case Term("owners" | "writers" | "readers", _, value):
            fits = value == "me"
        case Term("fullText", _, str(value)):
            fits = _has_words(f"{file['name']} {texts.get(file['id'], '')}", value)
        case Term("name", "contains", str(value)):
            fits = _starts_a_word(file["name"].casefold(), value.casefold())
        case Term("mimeType", "contains", str(value)):
            fits = value in file["mimeType"]
        case Term(field, how, value):
            fits = bool(_COMPARE[how](_plain(file.get(field, False)), _plain(value)))
    return fits


def _plain(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _starts_a_word(name: str, value: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(value)}", name) is not None


def _has_words(text: str, value: str) -> bool:
    words = " ".join(_WORD.findall(text.casefold()))
    for quoted, word in re.findall(r'"([^"]*)"|(\S+)', value.casefold()):
        wanted = " ".join(_WORD.findall(quoted or word))
        if f" {wanted} " not in f" {words} ":
            return False
    return True


def _key(file: Json, key: str) -> Any:
    if key == "folder":
        return file["mimeType"] != "application/vnd.google-apps.folder"
    return _plain(file.get(key, ""))

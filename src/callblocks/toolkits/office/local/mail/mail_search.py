"""Compilation of a Gmail query to an SQL condition on the mail index.

Words are looked up in the full-text index, ignoring case and accents; names, dates and sizes in the
columns of the message. Values are always bound as parameters, never put into the SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from callblocks.toolkits.office.local.mail.mail_resource import SYSTEM, slug, spaced
from callblocks.toolkits.office.mail_query import (
    KINDS,
    STARS,
    All,
    AnyOf,
    MailTerm,
    Not,
    Query,
    read_age,
    read_date,
    read_size,
)

__all__ = ("Condition", "Search", "asks_hidden", "has_label")

# An SQL condition on the message `m`, and its values.
Condition: TypeAlias = tuple[str, list[str | int | float]]

_EVERYWHERE = ("sender", "receiver", "cc", "bcc", "subject", "body", "filename")
_COLUMNS = {
    "": _EVERYWHERE,
    "from": ("sender",),
    "to": ("receiver",),
    "cc": ("cc",),
    "bcc": ("bcc",),
    "subject": ("subject",),
    "filename": ("filename",),
    "list": ("list",),
    "deliveredto": ("delivered",),
}
_PEOPLE = ("from", "to", "cc", "bcc", "deliveredto")
_FOLDERS = {"drafts": "draft", "chats": "chat", "bin": "trash", "junk": "spam"}
_HIDDEN = ("trash", "spam", "anywhere")
_TOKEN = re.compile(r"[^\W_]")
_ALWAYS: Condition = ("1", [])


def asks_hidden(query: Query) -> bool:
    """Tell if a query asks for spam or trash; `-in:trash` does not."""
    match query:
        case MailTerm(value, operator):
            return operator in ("in", "label") and _place(value) in _HIDDEN
        case Not():
            return False
        case All(parts) | AnyOf(parts):
            return any(map(asks_hidden, parts))


def has_label(name: str) -> Condition:
    """Return the condition for a label id."""
    return "m.key IN (SELECT message FROM label WHERE name = ?)", [name]


class Search:
    """A compiler of queries; `own` is the person's address, `now` the present time."""

    def __init__(self, own: str, now: float) -> None:
        self._own = own
        self._now = now

    def condition(self, query: Query) -> Condition:
        """Return the SQL condition for a query."""
        match query:
            case MailTerm():
                return self._term(query)
            case Not(part):
                sql, values = self.condition(part)
                return f"NOT ({sql})", values
            case All(parts):
                return self._joined(parts, " AND ") if parts else _ALWAYS
            case AnyOf(parts):
                return self._joined(parts, " OR ")

    def _joined(self, parts: tuple[Query, ...], word: str) -> Condition:
        made = [self.condition(part) for part in parts]
        sql = word.join(f"({one})" for one, _ in made)
        return sql, [value for _, values in made for value in values]

    def _term(self, term: MailTerm) -> Condition:
        operator, value = term.operator, term.value
        if operator in _COLUMNS:
            me = operator in _PEOPLE and value.lower() == "me"
            return _words(_COLUMNS[operator], self._own if me else value)
        if operator in _MEASURES:
            sql, reader = _MEASURES[operator]
            return sql, [reader(value, self._now) or 0]
        return _NAMED[operator](value.lower())


def _words(columns: tuple[str, ...], value: str) -> Condition:
    plain = spaced(value.replace("\0", " "))
    # One quoted phrase for FTS5, with quotes doubled: no operator of its syntax can get through.
    if _TOKEN.search(plain):
        phrase = plain.replace('"', '""')
        sought = f'{{{" ".join(columns)}}} : "{phrase}"'
        return "m.key IN (SELECT rowid FROM words WHERE words MATCH ?)", [sought]
    # A symbol such as an emoji is no token of the full-text index, so the stored text is searched.
    texts = " || ' ' || ".join(columns)
    return f"m.key IN (SELECT rowid FROM words WHERE instr({texts}, ?))", [plain.strip()]


def _place(value: str) -> str:
    plain = slug(value)
    return _FOLDERS.get(plain, plain)


def _labelled(name: str) -> Condition:
    return "m.key IN (SELECT message FROM label WHERE slug = ?)", [name]


def _in(value: str) -> Condition:
    place = _place(value)
    if place in ("anywhere", "all"):
        return _ALWAYS
    # Gmail has no label for the archive; it is mail that is in no other place.
    if place == "archive":
        away = ("inbox", "sent", "draft", "trash", "spam")
        return _without(away)
    return _labelled(place)


def _without(slugs: tuple[str, ...]) -> Condition:
    places = ", ".join("?" * len(slugs))
    sql = f"m.key NOT IN (SELECT message FROM label WHERE slug IN ({places}))"
    return sql, list(slugs)


def _is(value: str) -> Condition:
    opposite = {"read": "unread", "unstarred": "starred"}.get(value)
    return _without((opposite,)) if opposite else _labelled(value)


def _has(value: str) -> Condition:
    if value == "attachment":
        return "m.attachment", []
    if value in KINDS:
        return _words(("body",), KINDS[value])
    if value in STARS:
        return _labelled("starred")
    places = ", ".join("?" * len(SYSTEM))
    own = f"m.key IN (SELECT message FROM label WHERE name NOT IN ({places}))"
    return own if value == "userlabels" else f"NOT ({own})", list(SYSTEM)


def _category(value: str) -> Condition:
    if value == "primary":
        return _without(tuple(f"category_{one}" for one in _CATEGORIES))
    return _labelled(f"category_{value}")


def _message_id(value: str) -> Condition:
    return "m.msgid = ?", [value.strip("<>")]


def _milliseconds(value: str, _now: float) -> float | None:
    seconds = read_date(value)
    return None if seconds is None else seconds * 1000


def _age(value: str, now: float) -> float | None:
    seconds = read_age(value, now)
    return None if seconds is None else seconds * 1000


_CATEGORIES = ("social", "promotions", "updates", "forums", "reservations", "purchases")
_NAMED: dict[str, Callable[[str], Condition]] = {
    "in": _in,
    "label": lambda value: _labelled(_place(value)),
    "is": _is,
    "has": _has,
    "category": _category,
    "rfc822msgid": _message_id,
}
_MEASURES: dict[str, tuple[str, Callable[[str, float], float | None]]] = {
    **dict.fromkeys(("before", "older"), ("m.date < ?", _milliseconds)),
    **dict.fromkeys(("after", "newer"), ("m.date >= ?", _milliseconds)),
    "older_than": ("m.date < ?", _age),
    "newer_than": ("m.date >= ?", _age),
    **dict.fromkeys(("larger", "size"), ("m.size > ?", lambda value, _: read_size(value))),
    "smaller": ("m.size < ?", lambda value, _: read_size(value)),
}

"""A plain matcher of mail queries, with which the index must agree."""

from __future__ import annotations

import re
import time

import msgspec

from callblocks.toolkits.office.mail_query import (
    All,
    AnyOf,
    MailTerm,
    Not,
    Query,
    read_age,
    read_date,
    read_size,
)

__all__ = ("Facts", "asks_for_hidden", "finds")


class Facts(msgspec.Struct, kw_only=True):
    """What a query may ask of a message; `labels` are names, `date` is in milliseconds."""

    texts: dict[str, str]
    labels: list[str] = []
    date: int = 0
    size: int = 0
    message_id: str = ""
    attachment: bool = False
    owner: str = ""


_EVERYWHERE = ("from", "to", "cc", "bcc", "subject", "body", "filename")


def finds(query: Query, facts: Facts) -> bool:
    match query:
        case Not(part):
            return not finds(part, facts)
        case All(parts):
            return all(finds(part, facts) for part in parts)
        case AnyOf(parts):
            return any(finds(part, facts) for part in parts)
        case MailTerm(value, operator):
            return _finds_term(operator, value, facts)


def asks_for_hidden(query: Query) -> bool:
    match query:
        case Not():
            return False
        case All(parts) | AnyOf(parts):
            return any(map(asks_for_hidden, parts))
        case MailTerm(value, operator):
            return operator in ("in", "label") and value.lower() in ("trash", "spam", "anywhere")


def _finds_term(operator: str, value: str, facts: Facts) -> bool:
    if operator in (*_EVERYWHERE, "", "list", "deliveredto"):
        if value.lower() == "me" and operator in ("from", "to", "cc", "bcc", "deliveredto"):
            value = facts.owner
        names = (operator,) if operator else _EVERYWHERE
        return any(_has_phrase(facts.texts.get(name, ""), value) for name in names)
    if operator in ("label", "in", "is", "has", "category"):
        return _is(operator, value.lower(), facts)
    if operator == "rfc822msgid":
        return facts.message_id.strip("<>") == value.strip("<>")
    return _measures(operator, value, facts)


def _is(operator: str, value: str, facts: Facts) -> bool:
    labels = {re.sub(r"\W+", "-", label.lower()) for label in facts.labels}
    match operator, value:
        case "in", "anywhere":
            return True
        case "is", "read":
            return "unread" not in labels
        case "is", "unstarred":
            return "starred" not in labels
        case "has", "attachment":
            return facts.attachment
        case "has" | "category", _:
            raise NotImplementedError(f"{operator}:{value}")
    return {"drafts": "draft"}.get(value, re.sub(r"\W+", "-", value)) in labels


def _measures(operator: str, value: str, facts: Facts) -> bool:
    if operator in ("larger", "size"):
        return facts.size > (read_size(value) or 0)
    if operator == "smaller":
        return facts.size < (read_size(value) or 0)
    ages = operator in ("older_than", "newer_than")
    moment = read_age(value, time.time()) if ages else read_date(value)
    before = facts.date < (moment or 0) * 1000
    return before if operator in ("before", "older", "older_than") else not before


def _has_phrase(text: str, value: str) -> bool:
    words, sought = _words(text), _words(value)
    ends = range(len(words) - len(sought) + 1)
    return any(words[at : at + len(sought)] == sought for at in ends)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())

"""Local mail: a Maildir, searched through an index.

A page token holds the date and the id of the last message, and the next page continues after it, so
mail that arrives in between does not shift pages.

Compilation of a Gmail query to an SQL condition on the mail index.

Words are looked up in the full-text index, ignoring case and accents; names, dates and sizes in the
columns of the message. Values are always bound as parameters, never put into the SQL.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime, getaddresses, make_msgid
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.local.mail.mail_index import MailIndex
from callblocks.toolkits.office.local.mail.mail_resource import (
    SYSTEM,
    Damaged,
    MailBox,
    MailFile,
    attachment_bytes,
    header_values,
    id_of,
    read_mail,
    slug,
    spaced,
    whole_resource,
)
from callblocks.toolkits.office.mail_query import (
    KINDS,
    STARS,
    All,
    AnyOf,
    MailTerm,
    Not,
    Query,
    read,
    read_age,
    read_date,
    read_size,
)
from callblocks.toolkits.office.mime_message import Recipient, address_text, read_recipients

__all__ = (
    "Condition",
    "LocalMail",
    "Search",
    "asks_hidden",
    "has_label",
)

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
_QUERY_TOKEN = re.compile(r"[^\W_]")
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
    if _QUERY_TOKEN.search(plain):
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


_NOBODY = "me@localhost"
_TOKEN = re.compile(r"([0-9]{1,15})-([0-9a-f]{16})")
_BETWEEN = "\x1f"
_T = TypeVar("_T")

# The inner SELECT chooses the rows; labels and threads are then looked up only for those.
_SELECT = f"""
SELECT m.id, m.date, m.place,
    (SELECT resource FROM listed WHERE message = m.key),
    coalesce((SELECT o.id FROM message o WHERE o.msgid = m.root ORDER BY o.date, o.id LIMIT 1),
        m.root_id),
    (SELECT group_concat(name, '{_BETWEEN}') FROM label WHERE message = m.key)
FROM message m WHERE m.key IN (
    SELECT m.key FROM message m WHERE {{where}} ORDER BY {{order}} LIMIT ?
) ORDER BY {{order}}
"""


class _Row(msgspec.Struct, frozen=True):
    """A message in the index."""

    id: str
    date: int
    file: MailFile
    resource: bytes
    thread: str
    labels: list[str]


class LocalMail:
    """The mail of an office; `faults` lists the unreadable files of the last call.

    The folder need not exist: then there is no mail.
    """

    def __init__(self, folder: Path) -> None:
        self._box = MailBox(folder)
        self._index = MailIndex(folder, self._box)
        self.faults: list[str] = []

    def address(self) -> str:
        """Return the address in the file `mail/address`."""
        return self._person().address

    def _person(self) -> Recipient:
        """Return the person in `mail/address`: an address, maybe with a name before it."""
        try:
            found = read_recipients("address", self._box.address())
        except ToolError:
            found = []
        return found[0] if found else Recipient(_NOBODY)

    def labels(self) -> list[Json]:
        """Return the system labels, and those of messages here."""
        rows = self._ask(
            lambda index: index.execute("SELECT DISTINCT name FROM label").fetchall(), []
        )
        own = sorted(name for (name,) in rows if name not in SYSTEM)
        named = [(name, "system") for name in SYSTEM] + [(name, "user") for name in own]
        return [{"id": name, "name": name, "type": kind} for name, kind in named]

    def messages(
        self, *, query: str, labels: Sequence[str], spam_trash: bool, limit: int, page: str
    ) -> Page:
        """Return messages with headers and snippet, newest first."""
        tree = read(query)
        conditions = [Search(self.address(), time.time()).condition(tree), *map(has_label, labels)]
        if not spam_trash and not asks_hidden(tree) and not {"TRASH", "SPAM"} & set(labels):
            conditions.append(("NOT m.hidden", []))
        if page:
            conditions.append(_after(page))
        rows = self._rows(conditions, "m.date DESC, m.id DESC", limit + 1)
        more = f"{rows[limit - 1].date}-{rows[limit - 1].id}" if len(rows) > limit else ""
        return Page([_listed(row) for row in rows[:limit]], more)

    def message(self, message_id: str) -> Json:
        """Return one message with its parts."""
        return self._whole(self._row(message_id))

    def thread(self, thread_id: str) -> Json:
        """Return the messages of a thread, oldest first."""
        sql = "m.root IN (SELECT root FROM message WHERE id = ? OR root_id = ?)"
        rows = self._rows([(sql, [thread_id, thread_id])], "m.date, m.id", -1)
        if not rows:
            raise _unknown("thread", thread_id)
        return {"id": rows[0].thread, "messages": [self._whole(row) for row in rows]}

    def attachment(self, message_id: str, attachment_id: str) -> bytes:
        """Return the content of an attachment."""
        row = self._row(message_id)
        raw, _ = self._raw(row)
        try:
            found = attachment_bytes(read_mail(raw), attachment_id)
        except Damaged as damaged:
            raise _damaged(row.file.place, str(damaged)) from damaged
        if found is None:
            raise ToolError(
                "not_found",
                f"the message {brief(message_id)} has no attachment {brief(attachment_id)}; "
                "read the message to see what it has",
            )
        return found

    def send(self, raw: bytes, thread_id: str) -> Json:
        """Store a message as sent; one to the person's own address arrives as well."""
        person, now = self._person(), datetime.now(UTC)
        own = person.address
        mine = own.lower() in _receivers(raw)
        head = {
            "X-Gmail-Labels": "Sent,Inbox,Unread" if mine else "Sent",
            "From": address_text(person).replace("\n", "\r\n"),
            "Date": format_datetime(now),
            "Message-ID": make_msgid(domain=own.rpartition("@")[2]),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        # `compose` writes none of these headers; they are added before its own.
        unique = self._box.deliver(lines.encode("ascii") + raw, now, seen=not mine)
        sent = id_of(unique)
        try:
            row = self._row(sent)
        except ToolError:  # it is sent, whatever the index says: nobody shall send it again
            return {"id": sent, "threadId": thread_id or sent, "labelIds": ["SENT"]}
        return {"id": row.id, "threadId": row.thread, "labelIds": row.labels}

    def _ask(self, question: Callable[[sqlite3.Connection], _T], nothing: _T) -> _T:
        if self._box.state() is None:
            self.faults = []
            return nothing

        def ask(index: sqlite3.Connection) -> _T:
            rows = index.execute("SELECT place, words FROM fault ORDER BY place").fetchall()
            self.faults = [f"office/mail/{os.fsdecode(place)}: {words}" for place, words in rows]
            return question(index)

        return self._index.ask(ask)

    def _rows(self, conditions: Sequence[Condition], order: str, limit: int) -> list[_Row]:
        where = " AND ".join(f"({sql})" for sql, _ in conditions)
        values = [value for _, values in conditions for value in values]
        sql = _SELECT.format(where=where, order=order)
        found = self._ask(lambda index: index.execute(sql, (*values, limit)).fetchall(), [])
        return [_row(one) for one in found]

    def _row(self, message_id: str) -> _Row:
        rows = self._rows([("m.id = ?", [message_id])], "m.id", 1)
        if rows:
            return rows[0]
        sql = "SELECT place, words FROM fault WHERE id = ?"
        fault = self._ask(lambda index: index.execute(sql, (message_id,)).fetchone(), None)
        if fault:
            raise _damaged(os.fsdecode(fault[0]), fault[1])
        raise _unknown("message", message_id)

    def _whole(self, row: _Row) -> Json:
        raw, status = self._raw(row)
        try:
            whole = whole_resource(row.file, raw, status)
        except Damaged as damaged:
            raise _damaged(row.file.place, str(damaged)) from damaged
        return whole | {"threadId": row.thread, "labelIds": row.labels}

    def _raw(self, row: _Row) -> tuple[bytes, os.stat_result]:
        try:
            return self._box.read(row.file)
        except OSError as error:
            raise _damaged(row.file.place, error.strerror or "it cannot be read") from error


def _row(found: tuple[Any, ...]) -> _Row:
    message_id, date, place, resource, thread, labels = found
    split = str(labels).split(_BETWEEN) if labels else []
    return _Row(message_id, date, MailFile(os.fsdecode(place)), resource, thread, split)


def _listed(row: _Row) -> Json:
    kept: Json = msgspec.json.decode(row.resource)
    return kept | {"threadId": row.thread, "labelIds": row.labels}


def _after(page: str) -> Condition:
    found = _TOKEN.fullmatch(page)
    if not found:
        why = f"{brief(page)} is no page token; give the nextPageToken of the page before"
        raise ToolError("invalid_input", why, pageToken=why)
    return "(m.date, m.id) < (?, ?)", [int(found[1]), found[2]]


def _receivers(raw: bytes) -> set[str]:
    fields = ("to", "cc", "bcc")
    mail = read_mail(raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
    said = [value for name, value in header_values(mail) if name.lower() in fields]
    return {address.lower() for _, address in getaddresses(said)}


def _unknown(kind: str, wanted: str) -> ToolError:
    return ToolError(
        "not_found", f"no {kind} has the id {brief(wanted)}; gmail_list and gmail_search give ids"
    )


def _damaged(place: str, words: str) -> ToolError:
    return ToolError("workspace_damaged", f"office/mail/{place}: {words}")

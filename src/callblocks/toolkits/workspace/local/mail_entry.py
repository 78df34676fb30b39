"""The index entry of one message, read from its file."""

from __future__ import annotations

import os
import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from html import escape

import msgspec

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.mail_box import MailFile, id_of
from callblocks.toolkits.workspace.local.mail_labels import read_labels
from callblocks.toolkits.workspace.local.mail_resource import (
    Damaged,
    is_mail,
    payload_of,
    read_mail,
)
from callblocks.toolkits.workspace.mail_text import (
    HEADERS,
    header_of,
    parts_of,
    text_of_mail,
)

__all__ = ("COLUMNS", "Entry", "read_entry", "spaced", "whole_resource")

# The searchable texts of a message; the columns of the full-text table.
COLUMNS = (
    *("sender", "receiver", "cc", "bcc", "subject", "body", "filename"),
    *("list", "delivered"),
)

_WORDS_OF = ("From", "To", "Cc", "Bcc", "Subject")
_SNIPPET = 200
_LONGEST = 200_000
_KEPT = frozenset(name.lower() for name in HEADERS)
# Scripts without blanks between words: each character is indexed as a word.
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
# The time in a unique name as Maildir recommends it: seconds, then M and microseconds.
_WRITTEN = re.compile(r"([0-9]{1,12})\.M([0-9]{1,6})(?![0-9])")
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,500})>")


class Entry(msgspec.Struct, frozen=True):
    """One message: its date and size, its search texts, and its resource in a list.

    `parent` is the message id that its thread begins with, according to the message itself: the
    first of its references, or the one that it answers.
    """

    id: str
    date: int
    size: int
    said: list[str]
    message_id: str
    parent: str
    attachment: bool
    resource: Json
    words: tuple[str, ...]


def read_entry(file: MailFile, raw: bytes, status: os.stat_result) -> Entry:
    """Return the index entry of a file; `Damaged` if it is no mail."""
    whole = whole_resource(file, raw, status)
    payload = whole["payload"]
    said = [one["value"] for one in payload["headers"] if one["name"].lower() == "x-gmail-labels"]
    own = _MESSAGE_ID.findall(header_of(whole, "Message-ID"))
    before = _MESSAGE_ID.findall(header_of(whole, "References"))
    answered = _MESSAGE_ID.findall(header_of(whole, "In-Reply-To"))
    kept = [one for one in payload["headers"] if one["name"].lower() in _KEPT]
    return Entry(
        id=whole["id"],
        date=int(whole["internalDate"]),
        size=whole["sizeEstimate"],
        said=read_labels(said[0] if said else None),
        message_id=own[0] if own else whole["id"],
        parent=next(iter((*before, *answered)), ""),
        attachment=any(map(_is_attachment, parts_of(payload))),
        resource=whole | {"payload": {"mimeType": payload["mimeType"], "headers": kept}},
        words=_words(whole),
    )


def whole_resource(file: MailFile, raw: bytes, status: os.stat_result) -> Json:
    """Return the resource of a message, without its labels and its thread."""
    try:
        mail = read_mail(raw)
        if not is_mail(mail):
            raise Damaged("it is no mail")
        whole: Json = {"id": id_of(file.unique), "payload": payload_of(mail)}
        text = " ".join(text_of_mail(whole).text[: 10 * _SNIPPET].split())[:_SNIPPET]
    except Damaged:
        raise
    except Exception as error:  # the standard library's parser fails in many ways
        raise Damaged(f"it cannot be read as mail: {type(error).__name__}") from error
    return whole | {
        "snippet": escape(text),
        "internalDate": str(_moment(header_of(whole, "Date"), file, status)),
        "sizeEstimate": len(raw),
    }


def spaced(text: str) -> str:
    """Return the text with blanks around characters that are words by themselves."""
    return _UNSPACED.sub(r" \1 ", text) if not text.isascii() else text


def _moment(date: str, file: MailFile, status: os.stat_result) -> int:
    """Return milliseconds since 1970: the header's date, or the file's mtime."""
    try:
        said = parsedate_to_datetime(date)
        aware = said if said.tzinfo else said.replace(tzinfo=UTC)
        seconds = max(0, int(aware.timestamp()))
    except (TypeError, ValueError, OverflowError, IndexError):
        return status.st_mtime_ns // 1_000_000
    # A header has a resolution of seconds. The microseconds of the file's name order two messages
    # of the same second, which decides where a page ends.
    named = _WRITTEN.match(file.unique)
    exact = int(named[2]) // 1000 if named and int(named[1]) == seconds else 0
    return seconds * 1000 + exact


def _is_attachment(part: Json) -> bool:
    """Tell if a part is a file for the person and not an image within the text."""
    if not part.get("filename"):
        return False
    kind = header_of({"payload": part}, "Content-Disposition").lower()
    return not (kind.startswith("inline") and part["mimeType"].startswith("image/"))


def _words(whole: Json) -> tuple[str, ...]:
    names = "\n".join(part["filename"] for part in parts_of(whole["payload"]))
    texts = (
        *(header_of(whole, name) for name in _WORDS_OF),
        text_of_mail(whole).text[:_LONGEST],
        names,
        header_of(whole, "List-Id"),
        header_of(whole, "Delivered-To"),
    )
    return tuple(spaced(text.replace("\0", " ")) for text in texts)

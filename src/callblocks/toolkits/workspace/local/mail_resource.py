"""A mail file as Gmail's resource.

    {"id", "threadId", "labelIds", "snippet", "internalDate", "sizeEstimate",
     "payload": {"partId", "mimeType", "filename", "headers", "body", "parts"}}

Headers are decoded, bodies are base64url; an attached file is an `attachmentId` and a size. Any
bytes can be read: broken parts are given as they stand.

Mail is hostile input and the standard library's parser is quadratic in several places. So its cost
is estimated on the raw bytes first; a message that would take too long is read by its headers
alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from typing import Any, TypeAlias, cast

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.mail_text import decode_bytes

__all__ = (
    "Damaged",
    "Mail",
    "attachment_bytes",
    "header_values",
    "is_mail",
    "payload_of",
    "read_mail",
)

Mail: TypeAlias = "Message[Any, Any]"

_DEEPEST = 20
_MOST_PARTS = 500
_MOST_HEADERS = 500
_LONGEST_HEADER = 20_000
_HEAD = 1_000_000
_MOST_COMPARED = 5_000_000
_MOST_BOUNDARIES = 20_000
_MULTIPART = re.compile(rb"multipart/", re.IGNORECASE)
# The library parses header parameters in quadratic time, so long Content headers are refused.
_LONG_HEADER = re.compile(
    rb"(?:\A|[\r\n])content-[a-z-]+:(?:[^\r\n]|\r?\n[ \t]|\r[ \t]){4000}", re.IGNORECASE
)
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")
_FOLD = re.compile(r"\r?\n[ \t]*")
_KNOWN = ("from", "to", "subject", "date", "message-id", "received", "return-path", "cc", "bcc")


class Damaged(Exception):
    """A file that is no mail; the message says why."""


def read_mail(raw: bytes) -> Mail:
    """Parse a message; only its headers if the whole would take too long."""
    if _LONG_HEADER.search(raw):
        raise Damaged("a header of it is too long")
    parser = BytesParser(policy=compat32)
    if not _BLANK_LINE.search(raw, 0, _HEAD) and len(raw) > _HEAD:
        return parser.parsebytes(raw[:_HEAD], headersonly=True)
    # The parser compares each line with the boundary of every enclosing multipart, and each
    # boundary creates an object of some kilobytes. Both products are bounded before parsing.
    lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    inside = len(_MULTIPART.findall(raw))
    parts = raw.count(b"\n--") + raw.count(b"\r--") if inside else 0
    if lines * (1 + inside) <= _MOST_COMPARED and parts <= _MOST_BOUNDARIES:
        with suppress(RecursionError):
            return parser.parsebytes(raw)
    return parser.parsebytes(raw[:_HEAD], headersonly=True)


def is_mail(mail: Mail) -> bool:
    """Tell if it has any header that mail has."""
    return any(name.lower() in _KNOWN for name in mail.keys())  # noqa: SIM118 no mapping


def header_values(mail: Mail) -> list[tuple[str, str]]:
    """Return all headers, decoded, in their order."""
    found: list[tuple[str, str]] = []
    for name, value in mail.raw_items():
        if len(found) == _MOST_HEADERS:
            break
        found.append((_text(name), _decoded(_text(str(value)[:_LONGEST_HEADER]))))
    return found


def payload_of(mail: Mail) -> Json:
    """Return the message part by part."""
    return _part(mail, "", _counter(), 0)


def attachment_bytes(mail: Mail, attachment_id: str) -> bytes | None:
    """Return the content of an attachment; `None` if there is none of that id."""
    for part_id, part, depth in _walk(mail, "", 0):
        inner = depth < _DEEPEST and bool(_inner(part, part_id))
        if _attachment_id(part_id) == attachment_id and not inner:
            return _content(part)
    return None


def _walk(part: Mail, part_id: str, depth: int) -> Iterator[tuple[str, Mail, int]]:
    yield part_id, part, depth
    if depth < _DEEPEST:
        for inner_id, inner in _inner(part, part_id):
            yield from _walk(inner, inner_id, depth + 1)


def _inner(part: Mail, part_id: str) -> list[tuple[str, Mail]]:
    """Return the parts of a multipart with their ids: 0, 1, 1.0, 1.1 …"""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        return []
    prefix = f"{part_id}." if part_id else ""
    return [(f"{prefix}{at}", inner) for at, inner in enumerate(_below(part))]


def _below(part: Mail) -> list[Mail]:
    return cast("list[Mail]", part.get_payload())


def _counter() -> Iterator[int]:
    return iter(range(_MOST_PARTS))


def _part(part: Mail, part_id: str, left: Iterator[int], depth: int) -> Json:
    resource: Json = {
        "partId": part_id,
        "mimeType": part.get_content_type(),
        "filename": _filename(part),
        "headers": [{"name": name, "value": value} for name, value in header_values(part)],
    }
    inner = _inner(part, part_id) if depth < _DEEPEST else []
    if inner:
        resource["body"] = {"size": 0}
        resource["parts"] = [
            _part(below, below_id, left, depth + 1)
            for below_id, below in inner
            if next(left, None) is not None
        ]
    else:
        resource["body"] = _body(part, part_id, resource["filename"])
    return resource


def _body(part: Mail, part_id: str, filename: str) -> Json:
    content = _content(part)
    if filename or part.get_content_maintype() != "text":
        return {"attachmentId": _attachment_id(part_id), "size": len(content)}
    return {"size": len(content), "data": base64.urlsafe_b64encode(content).decode()}


def _attachment_id(part_id: str) -> str:
    return f"att-{part_id or '0'}"


def _content(part: Mail) -> bytes:
    if part.is_multipart():  # a mail in the mail, or parts that are nested too deep
        return b"".join(one.as_bytes(policy=compat32) for one in _below(part))
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _filename(part: Mail) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, TypeError, ValueError):  # a name in an encoding that is none
        name = ""
    if not name and part.get_content_type() == "message/rfc822":
        name = "message.eml"
    plain = _decoded(_text(name)).replace("\\", "/").rpartition("/")[2]
    return plain.replace("\0", "")[:255]


def _text(value: str) -> str:
    """Decode a raw header: the parser represents non-ASCII bytes as surrogates."""
    if value.isascii():
        return value
    try:
        return decode_bytes(value.encode("ascii", "surrogateescape"), "")
    except UnicodeEncodeError:  # decoded already
        return value.encode("utf-8", "replace").decode()


def _decoded(value: str) -> str:
    """Return a header as one line with its encoded words decoded."""
    plain = _FOLD.sub(" ", value).strip() if "\n" in value else value.strip()
    if "=?" not in plain:
        return plain
    try:
        pieces = decode_header(plain)
    except (HeaderParseError, ValueError):  # base64 that is none
        return plain
    return " ".join("".join(_word(piece, charset) for piece, charset in pieces).splitlines())


def _word(piece: bytes | str, charset: str | None) -> str:
    if isinstance(piece, str):
        return piece
    if charset is not None:
        return decode_bytes(piece, charset)
    try:
        # `decode_header` returns the text between encoded words in this encoding.
        return piece.decode("raw-unicode-escape")
    except UnicodeDecodeError:
        return piece.decode("latin-1")

"""The text of a message for a model: headers, body, and the list of attachments.

    {"id": …, "threadId": …, "labelIds": […], "headers": {"From": …, "Subject": …},
     "text": "…", "attachments": [{"filename": …, "mimeType": …, "size": …, "attachmentId": …}]}

The text is that of the plain part, or of the HTML if there is none. Nothing that a message says
about itself is trusted: with a wrong charset or broken base64 the readable part is returned.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator

import msgspec

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.html_text import html_text

__all__ = (
    "HEADERS",
    "SHOWN",
    "MailText",
    "attachments_of",
    "decode_bytes",
    "header_of",
    "headers_of",
    "parts_of",
    "summary_of",
    "text_of_mail",
)

# The headers that are shown to a model.
SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Subject", "Date")

# The headers that a list of messages is requested with.
HEADERS = (*SHOWN, "Message-ID", "In-Reply-To", "References")

# Nesting of multiparts. The parts come from others, and this code is recursive.
_DEEPEST = 30
# Size limit in bytes of a part that is read as text.
_MOST = 1_000_000

_CHARSET = re.compile(r"""\bcharset\s*=\s*["']?([^"';\s]+)""", re.IGNORECASE)
# Charsets whose bytes are valid ASCII or UTF-8 with another meaning, so they come before UTF-8.
_FIRST = re.compile(r"iso-?2022|utf-?7|utf-?16|utf-?32|hz", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


class MailText(msgspec.Struct, frozen=True):
    """The text of a message; with `cut` there is more of it."""

    text: str
    cut: bool = False


def header_of(resource: Json, name: str) -> str:
    """Return the first header of that name, or ""."""
    wanted = name.lower()
    for header in resource.get("payload", {}).get("headers", ()):
        if str(header.get("name", "")).lower() == wanted:
            return str(header.get("value", ""))
    return ""


def headers_of(resource: Json) -> dict[str, str]:
    """Return the shown headers that the message has."""
    found = ((name, header_of(resource, name)) for name in SHOWN)
    return {name: value for name, value in found if value}


def summary_of(resource: Json) -> Json:
    """Return a message for a list."""
    return {
        "id": resource.get("id", ""),
        "threadId": resource.get("threadId", ""),
        "labelIds": resource.get("labelIds", []),
        "headers": headers_of(resource),
        "snippet": html.unescape(resource.get("snippet", "")),
    }


def attachments_of(resource: Json) -> list[Json]:
    """Return the attachments of a message."""
    return [
        {
            "filename": part.get("filename") or f"part-{part.get('partId', '')}",
            "mimeType": part.get("mimeType", ""),
            "size": part["body"].get("size", 0),
            "attachmentId": part["body"]["attachmentId"],
        }
        for part in parts_of(resource.get("payload", {}))
        if part.get("body", {}).get("attachmentId")
    ]


def parts_of(part: Json, depth: int = 0) -> Iterator[Json]:
    """Yield a part and all parts within it, in order."""
    yield part
    if depth < _DEEPEST:
        for inner in part.get("parts", ()):
            yield from parts_of(inner, depth + 1)


def text_of_mail(resource: Json) -> MailText:
    """Return the text of a message, as a person would read it."""
    found = _text(resource.get("payload", {}), 0)
    return MailText(found.text.strip(), found.cut)


def decode_bytes(content: bytes, charset: str) -> str:
    """Decode bytes, whatever charset they claim to have.

    UTF-8 is tried first: other text is hardly ever valid UTF-8, and UTF-8 text often declares a
    wrong charset.
    """
    order = (charset, "utf-8") if _FIRST.match(charset) else ("utf-8", charset)
    for name in order:
        try:
            return _SURROGATE.sub("\ufffd", content.decode(name or "utf-8"))
        # `LookupError` for an unknown charset, `ValueError` for bytes that do not fit, and for
        # codecs that are no character sets at all.
        except (LookupError, ValueError):
            continue
    # Windows-1252 leaves few bytes undefined, so nearly all Western text can be read with it.
    return content.decode("cp1252", errors="replace")


def _text(part: Json, depth: int) -> MailText:
    kind = str(part.get("mimeType", "")).lower()
    if kind.startswith("multipart/"):
        inner: list[Json] = part.get("parts", []) if depth < _DEEPEST else []
        # multipart/alternative holds the same text several times; all other multiparts hold parts
        # that follow each other.
        if kind == "multipart/alternative":
            return _best(inner, depth + 1)
        return _joined([_text(one, depth + 1) for one in inner])
    body = part.get("body", {})
    if not kind.startswith("text/") or "data" not in body:
        return MailText("")
    content = _bytes(str(body["data"]))
    read = decode_bytes(content[:_MOST], _charset(part)).replace("\r\n", "\n")
    return MailText(html_text(read) if kind == "text/html" else read, len(content) > _MOST)


def _best(parts: list[Json], depth: int) -> MailText:
    """Return the plainest of several alternatives."""
    # The plainest form first. A form without text, such as an empty plain part beside real HTML, is
    # passed over.
    ranked = sorted(parts, key=lambda part: _rank(str(part.get("mimeType", "")).lower()))
    texts = (_text(part, depth) for part in ranked)
    return next((one for one in texts if one.text.strip()), MailText(""))


def _rank(kind: str) -> int:
    order = ("text/plain", "text/html")
    if kind in order:
        return order.index(kind)
    return 1 if kind.startswith("multipart/") else 2


def _joined(texts: list[MailText]) -> MailText:
    said = "\n\n".join(one.text.strip() for one in texts if one.text.strip())
    return MailText(said, any(one.cut for one in texts))


def _charset(part: Json) -> str:
    found = _CHARSET.search(header_of({"payload": part}, "Content-Type"))
    return found[1] if found else ""


def _bytes(data: str) -> bytes:
    try:
        # Gmail leaves the padding of base64url out.
        return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        return b""

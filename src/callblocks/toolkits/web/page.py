"""What a server answered as a page that can be read: HTML, PDF or plain text."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.net.response import Response
from callblocks.toolkits.finding.apart import Apart
from callblocks.toolkits.web.charset import decoded
from callblocks.tools.context import Context

__all__ = ("MOST_TEXT", "Page", "PageKind", "kind_of_page", "read_response")

PageKind: TypeAlias = Literal["page", "pdf", "text"]

# Characters that are kept of one page.
MOST_TEXT = 300_000

# How long reading one page may take: those that wait for it have their own time.
_SECONDS = 15.0

_HTML = ("text/html", "application/xhtml+xml")
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "application/unknown")
_TEXT = re.compile(
    r"text/.+|message/.+|application/(?:(?:.+\+)?(?:json|xml|yaml)|javascript|x-javascript|x-ndjson"
    r"|jsonl?|toml|x-yaml|rtf|sql|x-sh|x-tex|x-latex)|image/svg\+xml"
)
_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,80}")
_HTML_START = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_LOOKED_AT = 1_024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff]+")


class Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a page says: its title and date, "" where it has none, and its text.

    `type` is the MIME type that the server said, "" where it is none, `size` the bytes of the body.
    With `cut` there was more text.
    """

    title: str = ""
    date: str = ""
    text: str = ""
    type: str = ""
    size: int = 0
    cut: bool = False


def read_response(response: Response, apart: Apart, context: Context) -> Page:
    """The page in an answer; a `ToolError` says why there is none."""
    kind = kind_of_page(response)
    if kind == "text":
        title, date, text = "", "", _text(response)
    else:
        content = response.body if kind == "pdf" else _text(response).encode()
        read = apart.read(kind, content, context, _SECONDS, MOST_TEXT)
        title, date, text = read.title, read.date, _joined(kind, [part.text for part in read.parts])
    text = _CONTROL.sub(" ", text).strip()
    if not text:
        why = "the page has no text; scripts may make it, or it holds pictures only"
        raise ToolError("no_text", why)
    return Page(
        title=" ".join(_CONTROL.sub(" ", title).split()),
        date=_CONTROL.sub(" ", date).strip(),
        text=text[:MOST_TEXT],
        type=_said_type(response),
        size=len(response.body),
        cut=len(text) > MOST_TEXT,
    )


def kind_of_page(response: Response) -> PageKind:
    """How a body is read: by what it is, where that is plain, else by what the server says."""
    start = response.body[:_LOOKED_AT]
    mime = response.mime
    if start.lstrip().startswith(b"%PDF-"):
        return "pdf"
    if mime in _HTML or (mime in (*_UNSAID, "text/plain", "text/xml") and _HTML_START.match(start)):
        # A server that says plain text means that its tags are to be seen.
        return "text" if mime == "text/plain" else "page"
    if _TEXT.fullmatch(mime):
        return "text"
    if mime in _UNSAID and b"\0" not in response.body[: 64 * _LOOKED_AT]:
        return "text"
    said = _said_type(response) or "no known kind"
    raise ToolError("unsupported_type", f"it is {said}: only HTML, PDF and text can be read")


def _said_type(response: Response) -> str:
    """The MIME type that a server says, where it is one: what else it says there is no type."""
    return response.mime if _TYPE.fullmatch(response.mime) else ""


def _text(response: Response) -> str:
    named = _CHARSET.search(response.header("content-type"))
    return decoded(response.body, named[1] if named else "").replace("\0", "\ufffd")


def _joined(kind: PageKind, parts: list[str]) -> str:
    # A part of HTML may be a piece of a long one, cut anywhere; one of PDF is a page.
    return ("\n\n" if kind == "pdf" else "").join(parts)

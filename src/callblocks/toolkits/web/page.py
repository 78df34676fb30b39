"""Conversion of a server's answer to a readable page: HTML, PDF or plain text."""

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

# Time limit for parsing one page; other pages wait for the same parser process.
_SECONDS = 15.0

_HTML = ("text/html", "application/xhtml+xml")
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "application/unknown")
_TEXT = re.compile(
    r"text/.+|message/.+|application/(?:(?:.+\+)?(?:json|xml|yaml)|javascript|x-javascript|x-ndjson"
    r"|jsonl?|toml|x-yaml|rtf|sql|x-sh|x-tex|x-latex)|image/svg\+xml"
)
_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,80}")
# Bounded comment length, and only the first bytes: sniffing must be linear on hostile input.
_HTML_START = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_LOOKED_AT = 1_024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ud800-\udfff]+")


class Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page: its title and date ("" if unknown) and its text.

    `type` is the MIME type that the server declared ("" if malformed), `size` the bytes of the
    body. With `cut` the text was longer.
    """

    title: str = ""
    date: str = ""
    text: str = ""
    type: str = ""
    size: int = 0
    cut: bool = False


def read_response(response: Response, apart: Apart, context: Context) -> Page:
    """Return the page in an answer, or raise `ToolError` with the reason."""
    kind = kind_of_page(response)
    if kind == "text":
        title, date, text = "", "", _text(response)
    else:
        # HTML is decoded here and passed on as UTF-8, so the child process needs no charset logic.
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
    """Choose the parser: by the content where its signature is certain, else by the MIME type."""
    start = response.body[:_LOOKED_AT]
    mime = response.mime
    # Servers send PDF under many types; the signature decides. Some generators put blanks before
    # it.
    if start.lstrip().startswith(b"%PDF-"):
        return "pdf"
    if mime in _HTML or (mime in (*_UNSAID, "text/plain", "text/xml") and _HTML_START.match(start)):
        # A server that declares HTML as `text/plain` wants its source to be shown.
        return "text" if mime == "text/plain" else "page"
    if _TEXT.fullmatch(mime):
        return "text"
    if mime in _UNSAID and b"\0" not in response.body[: 64 * _LOOKED_AT]:
        return "text"
    said = _said_type(response) or "no known kind"
    raise ToolError("unsupported_type", f"it is {said}: only HTML, PDF and text can be read")


def _said_type(response: Response) -> str:
    """Return the declared MIME type if it is well-formed, else ""."""
    return response.mime if _TYPE.fullmatch(response.mime) else ""


def _text(response: Response) -> str:
    named = _CHARSET.search(response.header("content-type"))
    return decoded(response.body, named[1] if named else "").replace("\0", "\ufffd")


def _joined(kind: PageKind, parts: list[str]) -> str:
    # A part of HTML is an arbitrary piece of the text, to be joined as it is; a part of a PDF is a
    # page.
    return ("\n\n" if kind == "pdf" else "").join(parts)

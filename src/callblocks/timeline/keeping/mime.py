"""The MIME type of a file: by its content where that is certain, else by its name, else text or
not.

    mime_of("report.docx", …)    the type of a Word file, if it is one
    mime_of("evil.png", b"<!doctype html>…")    text/html: a name may lie
    mime_of("notes", b"hello")   text/plain
    mime_of("x", b"\\0\\1")        application/octet-stream
"""

from __future__ import annotations

import codecs
import re

import msgspec

from callblocks.timeline.keeping.magic import TOLD_BY_CONTENT, content_type
from callblocks.timeline.keeping.mime_names import named_type

__all__ = ("is_shown_binary", "is_text", "mime_of", "said_mime")

_SAID = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,100}")
_BINARY = "application/octet-stream"
_PLAIN = "text/plain"
_SVG = "image/svg+xml"
_TEXTS = frozenset(
    {
        *("application/json", "application/jsonl", "application/geo+json", "application/xml"),
        *("application/yaml", "application/toml", "application/sql", "application/javascript"),
        *("application/rtf", "application/x-sh", "application/x-yaml", "application/ld+json"),
    }
)
# Bytes that no text has: all controls but tab, line ends, form feed and escape.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_PIECE = 1 << 20
_HEAD = 4096

# Allowed before the first element: white space, an XML declaration, comments, a doctype.
_PROLOGUE = re.compile(
    r"\s+|<\?xml[^>]*>|<!--[\s\S]*?-->|<!doctype\s+svg[^>\[]*(?:\[[^\]]*\]\s*)?>"
)
_SVG_START = re.compile(r"<svg[\s>/:]")
_HTML_START = re.compile(
    r"<(?:!doctype\s+html|(?:html|head|body|script|iframe|style|title)(?=[\s>/]))"
)


def mime_of(name: str, content: bytes) -> str:
    """Return the MIME type of a file; never fails, and reads nothing but the content."""
    named = named_type(name)
    if not content:
        return named or _PLAIN
    # Content before name: a page that is served as `photo.png` must be treated as HTML.
    if told := content_type(content):
        return told
    if named == "application/pdf" and b"%PDF-" in content[:1024]:
        return named
    if _is_utf8(content):
        return _text_type(named, content)
    if named in TOLD_BY_CONTENT or (_is_text_type(named) and not _could_be_text(content)):
        return _BINARY
    return named or _BINARY


def said_mime(said: str, name: str, content: bytes) -> str:
    """Return a declared type, if it is valid and possible; otherwise `mime_of`.

    A web server declares what it likes: a type that content alone can prove is not accepted without
    that proof.
    """
    mime = said.partition(";")[0].strip().lower()
    if not _SAID.fullmatch(mime) or mime in TOLD_BY_CONTENT:
        return mime_of(name, content)
    return mime


def is_text(mime: str, content: bytes) -> bool:
    """Return whether a file of this type can stand in a block as text: UTF-8, and no image."""
    mime = mime.partition(";")[0].strip().lower()
    other = mime in TOLD_BY_CONTENT or mime.startswith(("image/", "audio/", "video/", "font/"))
    return (_is_text_type(mime) or not other) and _is_utf8(content)


def is_shown_binary(mime: str) -> bool:
    """Return whether a model is shown a file of this type as it is: a PDF, or a raster image."""
    return mime == "application/pdf" or (mime.startswith("image/") and mime != _SVG)


def _is_text_type(mime: str) -> bool:
    return mime.startswith("text/") or mime in _TEXTS or mime.endswith(("+json", "+xml"))


def _text_type(named: str, content: bytes) -> str:
    """Return the type of a text; a name may refine it, but an image must be visible in the
    content.
    """
    markup = _markup(content)
    if _is_text_type(named) and (named != _SVG or markup == _SVG):
        return named
    return markup or ("application/json" if _is_json(content) else _PLAIN)


def _markup(content: bytes) -> str:
    head = content[:_HEAD].decode(errors="ignore").removeprefix("\ufeff").lower()
    at = 0
    while skipped := _PROLOGUE.match(head, at):
        at = skipped.end()
    if _SVG_START.match(head, at):
        return _SVG
    if _HTML_START.match(head, at):
        return "text/html"
    return "application/xml" if head.lstrip().startswith("<?xml") else ""


def _is_json(content: bytes) -> bool:
    if not content[:_HEAD].lstrip().startswith((b"{", b"[")):
        return False
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _is_utf8(content: bytes) -> bool:
    """Return whether all of it is UTF-8 text without control characters."""
    if _CONTROL.search(content):
        return False
    if content.isascii():
        return True
    # Piece by piece, so that a large file is not held in memory a second time as text.
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for at in range(0, len(content), _PIECE):
            decode(content[at : at + _PIECE], at + _PIECE >= len(content))
    except UnicodeDecodeError:
        return False
    return True


def _could_be_text(content: bytes) -> bool:
    """Return whether it is text of another encoding."""
    return not _CONTROL.search(content) or content.startswith((b"\xff\xfe", b"\xfe\xff"))

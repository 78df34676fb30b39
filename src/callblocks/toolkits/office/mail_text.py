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
from typing import Literal, TypeAlias

import msgspec

from callblocks.toolkits.office.backend import Json

__all__ = (
    "HEADERS",
    "SHOWN",
    "Kind",
    "MailText",
    "attachments_of",
    "break_of",
    "decode_bytes",
    "header_of",
    "headers_of",
    "html_text",
    "name_of",
    "parts_of",
    "pieces",
    "plain",
    "summary_of",
    "text_of_mail",
    "tidy",
)

# --- The text of an HTML page or mail, as a person reads it ---
#
#     <p>Hello <b>you</b>,<br>see <a href="https://a.example/">here</a></p>
#
#     Hello you,
#     see here <https://a.example/>
#
# Any text is accepted: an element that is never closed ends with the text. Each character is
# examined a fixed number of times, however broken the page is, so the cost is linear. That is why
# this is no regular expression over whole elements, and no tree.

Kind: TypeAlias = Literal["text", "tag", "title"]

# Elements whose content is not shown. It is skipped up to the end tag as plain text, as the HTML
# standard does for scripts: a `<` inside of a script is no tag.
_UNSEEN = ("script", "style", "title", "template", "noscript")
_UNSEEN_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _UNSEEN}
_LINES = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd"),
        *("details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
        *("header", "hr", "html", "li", "main", "nav", "ol", "pre", "section", "summary", "table"),
        *("tbody", "tfoot", "thead", "tr", "ul"),
    )
)
_PARAGRAPHS = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6"))
# `<` followed by anything else is text, as in `a < b`.
_TAG = re.compile(r"<[A-Za-z/!?]")
_NAME = re.compile(r"/?([A-Za-z][A-Za-z0-9]*)")
_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f\u200b\u200c\u00ad\ufeff]+")
# Longer links are mostly tracking addresses, which cost tokens and say little.
_LONGEST_LINK = 300
_LONGEST_TAG = 5_000


def html_text(page: str) -> str:
    """Return the text of a page, a line for each block, with the addresses of links."""
    written: list[str] = []
    link = ""
    for kind, text in pieces(page):
        if kind != "tag":
            written.append(plain(text) if kind == "text" else "")
            continue
        name = name_of(text)
        if name == "a":
            # The address follows the text of the link, at its end tag.
            if text.startswith("/"):
                written.append(_shown_link(link, written))
            link = "" if text.startswith("/") else _attribute(_HREF, text)
        elif name == "img":
            written.append(_attribute(_ALT, text))
        else:
            written.append(break_of(name, text))
    return tidy("".join(written))


def pieces(page: str) -> Iterator[tuple[Kind, str]]:
    """Yield the text, the tags and the title of a page; comments, scripts and styles are
    skipped.
    """
    at = 0
    while (start := page.find("<", at)) >= 0:
        yield "text", page[at:start]
        if page.startswith("<!--", start):
            at = _after(page, "-->", start)
            continue
        if not _TAG.match(page, start):
            yield "text", "<"
            at = start + 1
            continue
        # A `>` in a quoted attribute ends the tag early. That leaves some attribute text in the
        # result, which is harmless, and keeps the search linear on unbalanced quotes.
        end = page.find(">", start)
        if end < 0:
            break
        tag = page[start + 1 : end]
        at = end + 1
        yield "tag", tag
        name = name_of(tag)
        unseen = _UNSEEN_ENDS.get(name)
        if unseen and not tag.startswith("/") and not tag.endswith("/"):
            # Without an end tag the rest of the page belongs to the element, as in a browser.
            closing = unseen.search(page, at)
            end = closing.start() if closing else len(page)
            if name == "title":
                yield "title", page[at:end]
            at = end
    yield "text", page[max(at, start) :]


def _after(page: str, mark: str, at: int) -> int:
    found = page.find(mark, at)
    return found + len(mark) if found >= 0 else len(page)


def plain(text: str) -> str:
    """Return a piece of text with blanks collapsed and character references decoded."""
    return _BLANKS.sub(" ", _unescaped(text))


def name_of(tag: str) -> str:
    """Return the name of a start or end tag."""
    found = _NAME.match(tag)
    return found[1].lower() if found else ""


def _attribute(pattern: re.Pattern[str], tag: str) -> str:
    found = pattern.search(tag, 0, _LONGEST_TAG)
    return _unescaped(next(filter(None, found.groups()), "")).strip() if found else ""


def _unescaped(text: str) -> str:
    # Python limits the digits of an integer, and a character reference is one.
    try:
        return html.unescape(text)
    except ValueError:  # a number with thousands of digits
        return text


def _shown_link(link: str, written: list[str]) -> str:
    is_web = link.partition(":")[0].lower() in ("http", "https") and len(link) <= _LONGEST_LINK
    # Only web links, and not where the text of the link is the address already.
    if not is_web or (written and written[-1].strip() == link):
        return ""
    return f" <{link}>"


def break_of(name: str, tag: str) -> str:
    """Return the separator that a tag puts between the words around it."""
    if name == "li" and not tag.startswith("/"):
        return "\n- "
    if name in _PARAGRAPHS:
        return "\n\n"
    if name in ("td", "th"):
        return " "
    return "\n" if name in _LINES else ""


def tidy(text: str) -> str:
    """Strip the ends of lines, and keep at most one empty line in a row."""
    lines = [line.strip() for line in _collapsed(text).split("\n")]
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip()


def _collapsed(text: str) -> str:
    return re.sub(r"[ \u00a0]+", " ", text)


# --- The text of a message for a model: headers, body, and the list of attachments ---

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

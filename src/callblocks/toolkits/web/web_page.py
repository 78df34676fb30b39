"""Conversion of a server's answer to a readable page: HTML, PDF or plain text."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.replace_file import replace_private
from callblocks.guard.net.client import Response
from callblocks.toolkits.search.reader_process import Apart
from callblocks.tools.tool import Context

__all__ = (
    "LONGEST",
    "MOST_TEXT",
    "Kept",
    "PageCache",
    "PageKind",
    "WebPage",
    "conditions",
    "decoded",
    "kind_of_page",
    "may_be_kept",
    "read_response",
    "seconds_fresh",
)

# --- Decoding of a page whose declared character set may be missing or wrong ---
#
#     1  a byte order mark                         EF BB BF, FE FF, FF FE
#     2  the header                                Content-Type: text/html; charset=utf-8
#     3  the page itself                           <meta charset="utf-8">, <?xml encoding="utf-8"?>
#     4  UTF-8, if it is valid, else Windows-1252
#
# The first that decodes without errors is used; if none does, the first one with replacement
# characters. Valid UTF-8 beyond ASCII is read as UTF-8 even where a single-byte set is declared,
# because text in such a set is next to never valid UTF-8 by chance.

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
# A declaration behind this many bytes is ignored; browsers look at 1,024.
_CHARSET_PREFIX = 4_096
_META = re.compile(
    # All repetitions are bounded: a page of `<meta` without `>` must not cost quadratic time.
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})"""
    rb"""|<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{1,40})""",
    re.IGNORECASE,
)
# An allow-list: `bytes.decode` also knows codecs that are no character sets (zlib, punycode, idna),
# some with quadratic cost. As browsers do, a name stands for the superset that pages really use:
# latin-1 is read as Windows-1252, gb2312 as gb18030.
_SETS = (
    (r"utf-?8|unicode-1-1-utf-8", "utf-8"),
    (r"utf-?16(?:le)?", "utf-16-le"),
    (r"utf-?16be", "utf-16-be"),
    (r"us-ascii|ascii|iso-?8859-?1|latin-?1|l1|windows-1252|cp1252|x-cp1252", "cp1252"),
    (r"iso-?8859-?9|latin-?5|windows-1254|cp1254", "cp1254"),
    (r"gb2312|gbk|x-gbk|gb_2312-80|chinese|gb18030", "gb18030"),
    (r"big5(?:-hkscs)?|cn-big5|x-x-big5", "big5hkscs"),
    (r"shift[-_]jis|sjis|x-sjis|ms_kanji|windows-31j", "cp932"),
    (r"euc-?jp|x-euc-jp", "euc_jp"),
    (r"iso-2022-jp", "iso2022_jp"),
    (r"euc-?kr|ks_c_5601-1987|korean|windows-949", "cp949"),
    (r"tis-620|windows-874|iso-8859-11", "cp874"),
    (r"koi8-?r|koi8", "koi8_r"),
    (r"koi8-u|koi8-ru", "koi8_u"),
    (r"macintosh|mac|x-mac-roman", "mac_roman"),
)
_BY_NUMBER = re.compile(r"(?:iso-?8859-?(?P<iso>1?[0-9])|(?:windows-|cp|x-cp)(?P<cp>125[0-8]|866))")
_SINGLE = re.compile(r"cp(?:125\d|866|874)|iso8859_\d+|koi8_[ru]|mac_roman")


def decoded(body: bytes, named: str = "") -> str:
    """Decode a body; `named` is the character set of its header, or ""."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace")
    own = _META.search(body[:_CHARSET_PREFIX])
    inside = _codec((own[1] or own[2]).decode("ascii")) if own else ""
    # The declaration was found by reading ASCII, so the page cannot be UTF-16.
    inside = "utf-8" if inside.startswith("utf-16") else inside
    said = [charset for charset in (_codec(named), inside) if charset]
    # UTF-8 goes first only if every declared set is a single-byte one, in which nearly all byte
    # sequences are valid. In a multi-byte set, text can be valid UTF-8 by chance.
    is_single = all(_SINGLE.fullmatch(charset) for charset in said)
    for charset in ("utf-8", *said) if is_single else (*said, "utf-8"):
        try:
            return body.decode(charset)
        except UnicodeDecodeError:
            continue
    return body.decode(said[0] if said else "cp1252", "replace")


def _codec(named: str) -> str:
    """Return Python's codec for a character set of the web, or ""."""
    name = named.strip().lower()
    for pattern, codec in _SETS:
        if re.fullmatch(pattern, name):
            return codec
    numbered = _BY_NUMBER.fullmatch(name)
    if numbered is None or numbered["iso"] == "12":
        return ""
    return f"iso8859_{numbered['iso']}" if numbered["iso"] else f"cp{numbered['cp']}"


# --- Conversion of a server's answer to a readable page: HTML, PDF or plain text ---

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


class WebPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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


def read_response(response: Response, apart: Apart, context: Context) -> WebPage:
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
    return WebPage(
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


# --- The cache of pages that were read ---
#
#     <folder>/3f9a…c1.json      named by a SHA-256 of the URL, so URLs need no escaping
#
# The cache is optional: a file that is missing, damaged or of another version counts as a miss, and
# write errors are ignored. The oldest files are deleted when the folder exceeds its limits.
#
# Concurrency: several processes may share the folder. Writers create a temporary file and rename
# it, so a reader sees an old or a new file and never a half.


# --- HTTP freshness: the time a page may be reused without a request, and revalidation ---
#
#     Cache-Control: max-age=600          ten minutes, without asking
#     ETag: "v1"                          then by If-None-Match: "v1"; 304 says it is the same
#     Last-Modified: …                    or by If-Modified-Since
#     Cache-Control: no-store             never kept
#
# This is a private cache in the sense of RFC 9111, without heuristic freshness: a page without
# `max-age` is revalidated each time.

# Upper bound in seconds for reuse without a request, whatever the server says.
LONGEST = 24 * 3_600

_MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?([0-9]{1,10})")
_AGE = re.compile(r"[0-9]{1,10}")
# These values are echoed in a request, so only one line of plain characters is accepted: a server
# must not be able to inject headers.
_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"')
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,40}")


def may_be_kept(response: Response) -> bool:
    """Tell if an answer may be kept and could be reused."""
    said = response.header("cache-control").lower()
    if response.status != 200 or response.history or "no-store" in said:
        return False
    # `Vary: *` says that no stored answer fits another request (RFC 9111, 4.1).
    if response.header("vary").strip() == "*":
        return False
    return bool(conditions(response) or seconds_fresh(response))


def seconds_fresh(response: Response) -> int:
    """Return the seconds for which an answer may be reused without a request."""
    said = response.header("cache-control").lower()
    age = _MAX_AGE.search(said)
    if age is None or "no-cache" in said:
        return 0
    old = response.header("age")
    passed = int(old) if _AGE.fullmatch(old) else 0
    return max(0, min(int(age[1]), LONGEST) - passed)


def conditions(response: Response) -> dict[str, str]:
    """Return the headers of a conditional request for this answer."""
    tag, date = response.header("etag").strip(), response.header("last-modified").strip()
    asked: dict[str, str] = {}
    if _TAG.fullmatch(tag):
        asked["If-None-Match"] = tag
    if _DATE.fullmatch(date):
        asked["If-Modified-Since"] = date
    return asked


# --- The cache of pages that were read ---

_VERSION = 1
_ROOM = 64 * 1024 * 1024
_FILES = 2_000
# Evict down to this share of the limits, so that not every later write has to evict again.
_LEFT = 0.8
_ENDING = ".json"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A page, the time until which it is fresh, and headers for a conditional request."""

    page: WebPage
    fresh_until: float = 0.0
    conditions: dict[str, str] = {}
    version: int = _VERSION


class PageCache:
    """A folder of pages, or none; `clock` returns seconds since the epoch."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        room: int = _ROOM,
        files: int = _FILES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._room = room
        self._files = files
        self.clock = clock

    def get(self, url: str) -> Kept | None:
        """Return the kept page of a URL."""
        place = self._place(url)
        if place is None:
            return None
        try:
            with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                kept = msgspec.json.decode(file.read(), type=Kept)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return kept if kept.version == _VERSION else None

    def is_fresh(self, kept: Kept) -> bool:
        """Tell if a page may be used without a request. A clock that went back makes it stale."""
        return 0 < kept.fresh_until - self.clock() <= LONGEST

    def put(self, url: str, kept: Kept) -> None:
        """Store a page and replace an earlier one of the same URL."""
        place = self._place(url)
        if place is None:
            return
        # A cache is a help and no duty: a full disk must not lose the page itself.
        with suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_private(place, msgspec.json.encode(kept), synced=False)
            self._make_room(place.parent)

    def _place(self, url: str) -> Path | None:
        if self._folder is None:
            return None
        # `surrogatepass`: a URL with a lone surrogate must miss, not raise.
        digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest}{_ENDING}"

    def _make_room(self, folder: Path) -> None:
        """Delete the oldest files above the limits, including temporary files that a crash left."""
        with os.scandir(folder) as entries:
            files = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        files.sort(key=lambda file: file[0].st_mtime, reverse=True)
        room, count = self._room, self._files
        if sum(stat.st_size for stat, _ in files) <= room and len(files) <= count:
            return
        used, left = 0, 0
        for stat, path in files:
            used, left = used + stat.st_size, left + 1
            if used > room * _LEFT or left > count * _LEFT:
                with suppress(OSError):
                    os.unlink(path)

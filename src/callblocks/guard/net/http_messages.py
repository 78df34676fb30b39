"""A request: method, headers and body, checked before a connection is opened.

A caller sets neither headers that frame a message (`Host`, `Content-Length`, `Transfer-Encoding`
…), which would allow request smuggling, nor headers that make a server take one method for another.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import NoReturn, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.core.urls import Url, read_url

__all__ = (
    "METHODS",
    "Headers",
    "Hop",
    "HttpRequest",
    "NetLimits",
    "Response",
    "read_request",
)

# --- Limits on the size and the time of responses ---


class NetLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a client. Sizes are in bytes, times in seconds.

    `body` counts the decompressed bytes. `deadline` is for a whole request with its redirects;
    `connect` and `read` are for one step of it. `connections` is the number open at one time.
    """

    body: int = 5 * 1024 * 1024
    sent: int = 10 * 1024 * 1024
    header_bytes: int = 64 * 1024
    headers: int = 200
    redirects: int = 5
    connections: int = 8
    connect: float = 10.0
    read: float = 20.0
    deadline: float = 60.0


# --- A request: method, headers and body, checked before a connection is opened ---

# Names in lower case with their values, in order.
Headers: TypeAlias = tuple[tuple[str, str], ...]

# The methods that can be sent.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\x20-\x7e\t]*")
# Headers that frame the message, belong to one connection, or address a proxy.
_OURS = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te"),
        *("trailer", "upgrade", "expect", "http2-settings", "accept-encoding"),
        # A policy may allow GET alone; these would turn a GET into another method.
        *("x-http-method", "x-http-method-override", "x-method-override"),
    )
)


class HttpRequest(msgspec.Struct, frozen=True):
    """One request, ready to be sent."""

    url: Url
    method: str = "GET"
    headers: Headers = ()
    body: bytes = b""


def read_request(
    url: str, method: str, headers: Mapping[str, str], body: bytes, limits: NetLimits
) -> HttpRequest:
    """Check a request; raise a `ToolError` that names the fault."""
    name = method.upper()
    if name not in METHODS:
        _refuse("method", f"{brief(method)} is no method; choose from: {', '.join(METHODS)}")
    if len(body) > limits.sent:
        _refuse("body", f"the body has {len(body)} bytes, and may have {limits.sent}")
    return HttpRequest(read_url(url), name, _read_headers(headers, limits), body)


def _read_headers(headers: Mapping[str, str], limits: NetLimits) -> Headers:
    read = {"user-agent": "callblocks", "accept": "*/*"}
    for name, value in headers.items():
        _check_header(name, value)
        read[name.lower()] = value.strip(" \t")
    size = sum(len(name) + len(value) for name, value in read.items())
    if len(read) > limits.headers or size > limits.header_bytes:
        _refuse(
            "headers",
            f"{len(read)} headers of {size} bytes are too many; "
            f"there may be {limits.headers} of {limits.header_bytes} bytes",
        )
    # Only encodings that can be decompressed incrementally, and so stopped at the limit.
    return (*read.items(), ("accept-encoding", "gzip, deflate"))


def _check_header(name: str, value: str) -> None:
    if not _NAME.fullmatch(name):
        _refuse("headers", f"{brief(name)} is no name of a header: letters, digits and - only")
    if name.lower() in _OURS or name.lower().startswith("proxy-"):
        _refuse("headers", f"the header {name} is set by the client itself; leave it out")
    if not _VALUE.fullmatch(value):
        _refuse(
            "headers",
            f"the value of {name} has a line break or a character that is not ASCII; "
            "leave it out, or encode it",
        )


def _refuse(field: str, why: str) -> NoReturn:
    raise ToolError("invalid_input", why, **{field: why})


# --- The answer of a server, and its text where it is one ---

_TEXT = re.compile(
    r"text/.+|application/(?:(?:.+\+)?(?:json|xml|yaml)|x-www-form-urlencoded|javascript"
    r"|x-javascript|ecmascript|x-ndjson|jsonl?|toml|x-yaml|sql|graphql|x-sh)|image/svg\+xml"
)
_CHARSET = re.compile(r";[ \t]*charset=[ \t]*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# Python also has codecs that are no character sets (zlib, rot13, idna); some take quadratic time.
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(?:[lb]e)?|us-ascii|ascii|iso-?8859-?\d{1,2}|latin-?1|windows-125\d|cp125\d"
    r"|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(?:jp|kr)|shift[-_]jis|iso-2022-jp|macintosh"
)


class Hop(msgspec.Struct, frozen=True):
    """A redirect that was followed: the URL that redirected, and its status."""

    status: int
    url: str


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer. `url` is the final URL, `body` is decompressed.

    `not_followed` is the target of a redirect that was left to the caller.
    """

    status: int
    url: str
    headers: Headers = ()
    body: bytes = b""
    history: tuple[Hop, ...] = ()
    not_followed: str = ""

    def header(self, name: str) -> str:
        """Return the value of a header, those of one name joined by commas; "" where there
        is none.
        """
        return ", ".join(value for known, value in self.headers if known == name.lower())

    @property
    def mime(self) -> str:
        """Return the declared content type without parameters; "" where there is none."""
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """Return the declared character set, where it is a known one; otherwise ""."""
        named = _CHARSET.search(self.header("content-type"))
        charset = named[1].lower() if named else ""
        return charset if _CHARSETS.fullmatch(charset) and _is_known(charset) else ""

    @property
    def text(self) -> str | None:
        """Return the body as text; `None` where it is something else."""
        if self.mime and not _TEXT.fullmatch(self.mime):
            return None
        if self.charset:
            return self.body.decode(self.charset, errors="replace").removeprefix("\ufeff")
        try:
            text = self.body.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.body.decode("cp1252", errors="replace") if self.mime else None
        # A body without a declared type is text if it decodes and has no NUL.
        return None if not self.mime and "\0" in text else text


def _is_known(charset: str) -> bool:
    try:
        codecs.lookup(charset)
    except LookupError:
        return False
    return True

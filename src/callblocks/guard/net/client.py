"""An HTTP client that trusts nobody.

    client = Client(NetLimits(deadline=20))
    response = await client.request("https://api.example.com/v1/items")

Nothing is kept from one request to the next, neither cookies nor connections, so that no answer can
influence another request. Settings of the environment (proxies, `.netrc`) are not read: a proxy
would connect where the guard does not look. Every fault is a `ToolError` with a network code.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.core.urls import Url, follow_url, read_url
from callblocks.guard.net.addresses import read_allowed

if TYPE_CHECKING:
    import asyncio
    import ssl

    import httpcore2

    from callblocks.guard.net.http_exchange import Heard
    from callblocks.guard.net.net_guard import Guard, Resolver

__all__ = (
    "METHODS",
    "CheckUrl",
    "Client",
    "EnterUrl",
    "Headers",
    "Hop",
    "HttpRequest",
    "NetLimits",
    "Redirect",
    "Response",
    "read_redirect",
    "read_request",
)

# --- A request: method, headers and body, checked before a connection is opened ---
#
# A caller sets neither headers that frame a message (`Host`, `Content-Length`, `Transfer-Encoding`
# …), which would allow request smuggling, nor headers that make a server take one method for
# another.


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


# --- Redirects: the new URL, and the parts of the request that are sent there ---
#
#     301, 302   POST becomes GET, without its body
#     303        all but HEAD become GET, without their body
#     307, 308   the same method and body
#
# Another origin gets only headers that do not identify the sender, so a redirect cannot collect an
# Authorization header or a cookie. A redirect is not followed, and is itself the response, where it
# would leave https for http, or would send a body or an unsafe method to another origin: the caller
# must then make that request explicitly.

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_HARMLESS = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "cache-control", "range", "user-agent"),
        *("if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"),
    )
)


class Redirect(msgspec.Struct, frozen=True):
    """The target of a response. `request` is `None` where following is left to the caller."""

    url: Url
    request: HttpRequest | None = None


def read_redirect(request: HttpRequest, status: int, location: str | None) -> Redirect | None:
    """Return the redirect of a response; `None` where it has none.

    A location that is no URL raises `ToolError` with the code `invalid_url`.
    """
    if status not in (301, 302, 303, 307, 308) or location is None:
        return None
    url = follow_url(request.url, location)
    method = _method(request.method, status)
    body, headers = request.body, request.headers
    if method != request.method:
        body, headers = b"", _without_content(headers)
    # Another origin did not earn the caller's trust: it gets no body, no unsafe method and no
    # credentials.
    if url.origin != request.url.origin:
        if body or method not in _SAFE_METHODS or _leaves_tls(request.url, url):
            return Redirect(url)
        headers = tuple((name, value) for name, value in headers if name in _HARMLESS)
    return Redirect(url, HttpRequest(url, method, headers, body))


def _method(method: str, status: int) -> str:
    if status == 303 and method != "HEAD":
        return "GET"
    if status in (301, 302) and method == "POST":
        return "GET"
    return method


def _without_content(headers: Headers) -> Headers:
    dropped = ("idempotency-key", "digest")
    return tuple(
        (name, value)
        for name, value in headers
        if not name.startswith("content-") and name not in dropped
    )


def _leaves_tls(url: Url, following: Url) -> bool:
    return url.scheme == "https" and following.scheme == "http"


# --- An HTTP client that trusts nobody ---

# Return why a redirect to a URL is not followed; `None` where it may be.
CheckUrl: TypeAlias = Callable[[str], str | None]

# Awaited before a URL is requested; raises `ToolError` where it must not be.
EnterUrl: TypeAlias = Callable[[str], Awaitable[None]]


class Client:
    """A sender of requests to public addresses, and to those that `allow` lists as host:port.

    `resolver`, `backend` and `tls` replace name resolution, connecting, and the trusted
    certificates.
    """

    def __init__(
        self,
        limits: NetLimits | None = None,
        allow: Iterable[str] = (),
        resolver: Resolver | None = None,
        *,
        backend: httpcore2.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.limits = limits or NetLimits()
        self._opened = tuple(allow)
        self._allow = read_allowed(self._opened)
        self._resolver = resolver
        self._backend = backend
        self._given_tls = tls
        # A semaphore belongs to one event loop; a client may be used in several.
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    async def request(
        self,
        url: str,
        method: str = "GET",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        check: CheckUrl | None = None,
        enter: EnterUrl | None = None,
        heard: Heard | None = None,
    ) -> Response:
        """Send a request, follow its redirects, and return the answer, whatever its status.

        `check` judges every URL that a redirect leads to, so that a server cannot lead a permitted
        request elsewhere. `enter` is awaited for the first URL too. `heard` is called with the
        number of body bytes received.
        """
        import asyncio

        request = read_request(url, method, headers or {}, body, self.limits)
        try:
            async with asyncio.timeout(self.limits.deadline), self._slot():
                return await self._follow(request, check, enter, heard)
        except TimeoutError as error:
            raise ToolError(
                "timeout",
                f"{request.url.origin} did not finish within {self.limits.deadline:g} seconds",
            ) from error

    def check(
        self,
        url: str,
        method: str = "GET",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        """Raise what `request` would raise before it connects; nothing is sent or resolved."""
        request = read_request(url, method, headers or {}, body, self.limits)
        self._guard.refuse_inside(request.url.host, request.url.port)

    def with_limits(self, **limits: float) -> Client:
        """Return a client for the same network with some other limits."""
        return Client(
            msgspec.structs.replace(self.limits, **limits),
            self._opened,
            self._resolver,
            backend=self._backend,
            tls=self._given_tls,
        )

    async def _follow(
        self,
        request: HttpRequest,
        check: CheckUrl | None,
        enter: EnterUrl | None,
        heard: Heard | None,
    ) -> Response:
        from callblocks.guard.net.http_exchange import exchange

        history: list[Hop] = []
        while len(history) <= self.limits.redirects:
            # Not for the first URL, which the gate has judged already.
            if check is not None and history and (why := check(str(request.url))):
                raise ToolError("policy_denied", why)
            if enter is not None:
                await enter(str(request.url))
            tls = self._tls if request.url.scheme == "https" else None
            async with exchange(request, self._guard, tls, self.limits) as answer:
                redirect = read_redirect(request, answer.status, answer.first("location"))
                following = None if redirect is None else redirect.request
                if following is None:
                    return Response(
                        status=answer.status,
                        url=str(request.url),
                        headers=answer.headers,
                        body=await answer.read(heard),
                        history=tuple(history),
                        not_followed="" if redirect is None else str(redirect.url),
                    )
            history.append(Hop(answer.status, str(request.url)))
            request = following
        raise ToolError(
            "too_many_redirects",
            f"{history[0].url} was sent on more than {self.limits.redirects} times",
        )

    @cached_property
    def _guard(self) -> Guard:
        from callblocks.guard.net.net_guard import Guard

        return Guard(self._allow, self._resolver, self._backend)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpcore2

        return self._given_tls or httpcore2.default_ssl_context()

    def _slot(self) -> asyncio.Semaphore:
        import asyncio

        loop = asyncio.get_running_loop()
        return self._slots.setdefault(loop, asyncio.Semaphore(self.limits.connections))

"""An HTTP client that trusts nobody.

    client = Client(NetLimits(deadline=20))
    response = await client.request("https://api.example.com/v1/items")

Nothing is kept from one request to the next, neither cookies nor connections, so that no answer can
influence another request. Settings of the environment (proxies, `.netrc`) are not read: a proxy
would connect where the guard does not look. Every fault is a `ToolError` with a network code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.urls import Url, follow_url
from callblocks.guard.net.addresses import read_allowed
from callblocks.guard.net.http_messages import (
    Headers,
    Hop,
    HttpRequest,
    NetLimits,
    Response,
    read_request,
)

if TYPE_CHECKING:
    import asyncio
    import ssl

    import httpcore2

    from callblocks.guard.net.exchange import Heard
    from callblocks.guard.net.net_guard import Guard, Resolver

__all__ = (
    "CheckUrl",
    "Client",
    "EnterUrl",
    "Redirect",
    "read_redirect",
)

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
        from callblocks.guard.net.exchange import exchange

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

"""Redirects: the new URL, and the parts of the request that are sent there.

    301, 302   POST becomes GET, without its body
    303        all but HEAD become GET, without their body
    307, 308   the same method and body

Another origin gets only headers that do not identify the sender, so a redirect cannot collect an
Authorization header or a cookie. A redirect is not followed, and is itself the response, where it
would leave https for http, or would send a body or an unsafe method to another origin: the caller
must then make that request explicitly.
"""

from __future__ import annotations

import msgspec

from callblocks.runtime.net.request import Headers, Request
from callblocks.runtime.net.url import Url, follow_url

__all__ = ("Redirect", "read_redirect")

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
    request: Request | None = None


def read_redirect(request: Request, status: int, location: str | None) -> Redirect | None:
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
    return Redirect(url, Request(url, method, headers, body))


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

"""Access control: a request needs the right host name, the right origin and the right token.

- A server on a loopback address answers only to loopback names, and to those of its public URLs, by
  which a proxy on this machine asks. So a page whose name was made to lead here (DNS rebinding)
  gets nothing.
- The pages of a public URL are our own, whatever `Host` the proxy sends: theirs, or the address
  that it asks. No other scheme or port of a public name is.
- A page of another origin gets nothing, unless `origins` names it. Then the answers carry what its
  browser asks for (CORS).
- With a token, every request carries it: `Authorization: Bearer …`. Only the state of health is
  told without, and the pages are sent: they are the same for all, and hold nothing. A link on a
  page of another site may lead to them, too.
- A browser exchanges the token once for a cookie (POST /api/sign-in), which scripts cannot read.
  The cookie counts only for requests of our own pages. Its value is derived from the token and is
  not the token: it is good for this server, as long as the server has that token. Browsers send a
  cookie to every port of a host, so its name has the port: two servers do not take each other's.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.protocol import welcome
from callblocks.server.pages import PAGES, is_page
from callblocks.server.service import service_of
from callblocks.server.settings import ServerSettings, host_of, is_loopback, name_of

__all__ = ("HEALTH", "LIVE", "OPEN", "READY", "Guard", "SignedIn", "knows_token", "sign_in")

HEALTH = "/api/health"
LIVE = "/healthz"
READY = "/readyz"
OPEN = (HEALTH, LIVE, READY)
_COOKIE_SECONDS = 30 * 24 * 3600
_METHODS = "GET, HEAD, POST, OPTIONS"
_SENT = "authorization, content-type, last-event-id, x-callblocks-sdk-version, range, user-agent"
_SHOWN = "x-vercel-ai-ui-message-stream, content-range, etag, retry-after"


class Guard:
    """Lets a request pass, or answers it."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._public_names = {url.name for url in settings.public}
        self._public_origins = {url.origin for url in settings.public}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # There are no web sockets here; a lifespan is not asked for a token.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        foreign = ""
        try:
            host = self._checked_host(headers)
            foreign = self._checked_origin(headers, host, scope["path"])
            if scope["method"] == "OPTIONS" and foreign:
                await _allowed(foreign)(scope, receive, send)
                return
            self._check_token(scope, foreign)
        except ApiFault as fault:
            await fault.refusal(scope)(scope, receive, _showing(send, foreign))
            return
        await self._app(scope, receive, _showing(send, foreign))

    def _checked_host(self, headers: Headers) -> str:
        given = headers.getlist("host")
        if len(given) != 1 or (name := host_of(given[0])) is None:
            raise ApiFault("bad_header", "the Host header is missing, or names no host")
        is_known = is_loopback(name) or name_of(name) in self._public_names
        if self._settings.is_loopback and not is_known:
            words = (
                f"{name} is not a name of this machine; ask for localhost or 127.0.0.1,"
                " or name the address of a proxy with --public-url"
            )
            raise ApiFault("foreign_host", words)
        return given[0]

    def _checked_origin(self, headers: Headers, host: str, path: str) -> str:
        """The foreign origin that is let in; "" for our own, and where no page asks."""
        given = headers.getlist("origin")
        if len(given) > 1:
            raise ApiFault("bad_header", "the Origin header stands twice")
        if not given:
            if headers.get("sec-fetch-site") == "cross-site" and not _is_visit(headers, path):
                raise _foreign("a page of another site")
            return ""
        if given[0] in self._settings.origins:
            return given[0]
        if given[0] in self._public_origins or self._is_own(given[0], host):
            return ""
        raise _foreign(given[0])

    def _is_own(self, origin: str, host: str) -> bool:
        """Return whether a page comes from the host that the request was sent to.

        Behind a proxy that encrypts, its scheme may differ. That of a public URL is known.
        """
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        is_same = parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
        name = host_of(host) or ""
        return is_same and (is_loopback(name) or name_of(name) not in self._public_names)

    def _check_token(self, scope: Scope, foreign: str) -> None:
        path = scope["path"]
        if knows_token(HTTPConnection(scope), self._settings.token, is_foreign=bool(foreign)):
            welcome(scope)
        elif path not in OPEN and not is_page(path):
            words = (
                "send the token of this server, `Authorization: Bearer …`; in a browser, open the"
                " address that the server printed at its start"
            )
            raise ApiFault("unauthorized", words, {"www-authenticate": "Bearer"})


def knows_token(connection: HTTPConnection, token: str, *, is_foreign: bool = False) -> bool:
    """Return whether a request carries the token or its cookie; always, where there is no token."""
    if not token:
        return True
    given = connection.headers.getlist("authorization")
    if not given:
        return not is_foreign and _has_cookie(connection, token)
    scheme, _, said = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    # The time that this takes tells nothing of how much of it is right.
    is_right = hmac.compare_digest(said.strip().encode(), token.encode())
    return is_right and scheme.lower() == "bearer"


class SignedIn(msgspec.Struct, frozen=True):
    """The browser has its cookie; without a token it needs none."""

    cookie: bool


async def sign_in(request: Request) -> Response:
    """Exchange the token for a cookie that only this server reads."""
    settings = service_of(request).settings
    if not settings.token:
        return answer_json(SignedIn(False))
    is_secure = request.headers.get("origin", "").startswith("https://")
    cookie = _cookie(request, settings.token, is_secure=is_secure)
    return answer_json(SignedIn(True), headers={"set-cookie": cookie})


def _cookie(connection: HTTPConnection, token: str, *, is_secure: bool) -> str:
    """Return the `Set-Cookie` header that lets a browser in."""
    secure = "; Secure" if is_secure else ""
    flags = f"Path=/; Max-Age={_COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"
    return f"{_cookie_name(connection)}={_cookie_value(token)}; {flags}"


def _has_cookie(connection: HTTPConnection, token: str) -> bool:
    # Another port of this machine is the same site, and not our page.
    if connection.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    given = connection.cookies.get(_cookie_name(connection), "")
    return hmac.compare_digest(given.encode(), _cookie_value(token).encode())


def _cookie_name(connection: HTTPConnection) -> str:
    server = connection.scope.get("server")
    return f"callblocks-{server[1] if server else 0}"


def _cookie_value(token: str) -> str:
    return hmac.digest(token.encode(), b"callblocks cookie", hashlib.sha256).hex()


def _is_visit(headers: Headers, path: str) -> bool:
    """Return whether a browser navigates to one of the pages."""
    return path in PAGES and headers.get("sec-fetch-mode") == "navigate"


def _foreign(who: str) -> ApiFault:
    return ApiFault("foreign_origin", f"{who} may not ask here; --origin allows a page's origin")


def _allowed(origin: str) -> Response:
    """The answer to a browser that asks whether a page may ask."""
    headers = {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": _SENT,
        "access-control-max-age": "600",
        "vary": "Origin",
    }
    return Response(status_code=204, headers=headers)


def _showing(send: Send, foreign: str) -> Send:
    """Say with each answer which page may read it."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Origin")
            if foreign:
                headers["access-control-allow-origin"] = foreign
                headers["access-control-expose-headers"] = _SHOWN
            else:
                headers["cross-origin-resource-policy"] = "same-origin"
        await send(message)

    return add

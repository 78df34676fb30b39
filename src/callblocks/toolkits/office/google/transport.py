"""One HTTP request to Google with the person's credentials, sent exactly once.

The client library's own transport repeats a request when a connection breaks, and with it a mail.
This transport never does; `service` decides on retries. It stops reading an answer that is too long
or too slow, and renews the token once on a 401.
"""

# httplib2, whose response the client library expects, has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import threading
import time
from typing import Any

import httplib2
import requests
from google.auth.credentials import Credentials
from google.auth.transport.requests import Request

__all__ = ("Overlong", "Session", "Transport")

_TIMEOUT = 60.0
_CONNECT_TIMEOUT = 15.0
_PIECE = 64 * 1024


class Overlong(Exception):
    """The answer exceeds the limit; the rest was not read."""


class Transport:
    """The `http` object of the client library, for several threads.

    `direct` ignores the proxies of the environment.
    """

    def __init__(self, credentials: Credentials, *, direct: bool) -> None:
        self._credentials = credentials
        self._session = Session()
        self._session.trust_env = not direct
        self._lock = threading.Lock()

    def limited(self, limit: int) -> _Limited:
        """Return the transport for answers of at most `limit` bytes."""
        return _Limited(self, limit)

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._session.close()

    def send(
        self, uri: str, method: str, body: Any, headers: dict[str, str], limit: int
    ) -> tuple[httplib2.Response, bytes]:
        """Send a request; once more with a new token after a 401."""
        sent = self._authorised(uri, method, headers)
        answer = self._send_once(uri, method, body, sent, limit)
        if answer[0].status != 401:
            return answer
        self._renew(sent["authorization"])
        return self._send_once(uri, method, body, self._authorised(uri, method, headers), limit)

    def _send_once(
        self, uri: str, method: str, body: Any, headers: dict[str, str], limit: int
    ) -> tuple[httplib2.Response, bytes]:
        end = time.monotonic() + _TIMEOUT
        with self._session.request(
            method,
            uri,
            data=body,
            headers=headers,
            timeout=(_CONNECT_TIMEOUT, _TIMEOUT),
            # A redirected POST would become a GET, or be sent twice; only GET follows redirects.
            allow_redirects=method == "GET",
            stream=True,
        ) as response:
            known = {name.lower(): value for name, value in response.headers.items()}
            content = _content(response, limit, end)
            return httplib2.Response({**known, "status": str(response.status_code)}), content

    def _authorised(self, uri: str, method: str, headers: dict[str, str]) -> dict[str, str]:
        given = {name.lower(): value for name, value in headers.items()}
        with self._lock:
            self._credentials.before_request(Request(self._session), method, uri, given)
        return given

    def _renew(self, refused: str) -> None:
        """Renew the token, unless another thread just did."""
        with self._lock:
            # Compare with the refused token: another thread may have renewed it while this one
            # waited.
            if refused == f"Bearer {self._credentials.token}":
                self._credentials.refresh(Request(self._session))


class Session(requests.Session):
    """A session that does not use the passwords in ~/.netrc."""

    def __init__(self) -> None:
        super().__init__()
        # With an `auth` of its own, requests does not read the file.
        self.auth = _unchanged

    def rebuild_auth(
        self, prepared_request: requests.PreparedRequest, response: requests.Response
    ) -> None:
        """Remove the token on a redirect to another host."""
        asked, next_one = response.request.url or "", prepared_request.url or ""
        if self.should_strip_auth(asked, next_one):
            prepared_request.headers.pop("Authorization", None)


class _Limited:
    def __init__(self, transport: Transport, limit: int) -> None:
        self._transport = transport
        self._limit = limit

    def request(
        self,
        uri: str,
        method: str = "GET",
        body: Any = None,
        headers: dict[str, str] | None = None,
        **_: Any,
    ) -> tuple[httplib2.Response, bytes]:
        """Send a request; called by the client library like `httplib2.Http.request`."""
        return self._transport.send(uri, method, body, headers or {}, self._limit)


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _content(response: requests.Response, limit: int, end: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    for piece in response.iter_content(_PIECE):
        size += len(piece)
        # `iter_content` unpacks gzip, so this counts unpacked bytes: a compression bomb ends here.
        if size > limit:
            raise Overlong(f"the answer has more than {limit} bytes")
        if time.monotonic() > end:
            raise requests.Timeout(f"the answer took longer than {_TIMEOUT:g} seconds")
        pieces.append(piece)
    return b"".join(pieces)

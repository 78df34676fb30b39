"""Requests to Google: sent exactly once, and their failures as codes for a model."""

# httplib2, whose response the client library expects, has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import email.utils
import threading
import time
from typing import Any, TypeAlias

import httplib2
import msgspec
import requests
import urllib3
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, RefreshError
from google.auth.transport.requests import Request
from googleapiclient.errors import HttpError

from callblocks.core.errors import ToolError

__all__ = (
    "CONNECT",
    "FAULTS",
    "GoogleFault",
    "Overlong",
    "Session",
    "Transport",
    "fault_of",
)

# --- Failures of requests to Google as codes and messages for a model ---
#
#     404, 410 -> not_found       400 -> invalid_input      409, 412 -> conflict
#     401 -> sign_in_needed       429 -> quota_exceeded     5xx -> service_unavailable
#     403 -> by its reason: quota_exceeded, sign_in_needed, disk_full, else forbidden
#
# Messages of the client library are never shown: they may contain a token.


# The command that connects an account.
CONNECT = "callblocks workspace connect CLIENT_FILE"


class Overlong(Exception):
    """The answer exceeds the limit; the rest was not read."""


# Exceptions of a request; a `ValueError` is an answer that is no JSON, or nested too deep.
FAULTS = (
    *(HttpError, GoogleAuthError, Overlong, requests.RequestException),
    *(ValueError, RecursionError),
)

Reasons: TypeAlias = frozenset[str]

# Reasons in the spelling of the older and of the newer services.
_RATE: Reasons = frozenset(("rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"))
_QUOTA: Reasons = frozenset(("dailyLimitExceeded", "quotaExceeded", "sharingRateLimitExceeded"))
_FULL: Reasons = frozenset(("storageQuotaExceeded", "teamDriveFileLimitExceeded"))
_SCOPE: Reasons = frozenset(("insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"))
_CODES = {
    400: "invalid_input",
    401: "sign_in_needed",
    404: "not_found",
    409: "conflict",
    410: "not_found",
    412: "conflict",
    413: "file_too_large",
    429: "quota_exceeded",
}
_SAID = 300


class GoogleFault(msgspec.Struct, frozen=True, kw_only=True):
    """A code, a message, and the consequences for a retry.

    `passing`: it may work in a moment, or in `wait` seconds. `undone`: Google certainly did
    nothing. `gone`: the resource does not exist, or no longer.
    """

    code: str
    message: str
    passing: bool = False
    undone: bool = True
    gone: bool = False
    wait: float | None = None

    def error(self, *, may_be_done: bool) -> ToolError:
        """Return the error for the tool; it mentions if the change may have been made."""
        details: dict[str, Any] = {}
        message = self.message
        if self.wait is not None:
            details["retry_after"] = self.wait
        if may_be_done:
            message += "; it may have been done all the same: look before you ask again"
            details["may_be_done"] = True
        return ToolError(self.code, message, **details)


def fault_of(error: Exception) -> GoogleFault:
    """Classify one of `FAULTS`."""
    match error:
        case HttpError():
            return _of_answer(error)
        case RefreshError() if not error.retryable:
            return _sign_in("Google no longer accepts the sign-in, or it was taken back")
        case GoogleAuthError():
            return _unavailable("Google's sign-in service does not answer", undone=True)
        case Overlong():
            return GoogleFault(
                code="response_too_large",
                message=f"{error}; ask for less at once",
                undone=False,
            )
        case requests.RequestException():
            return _of_network(error)
        case _:
            return _unavailable("Google answered with something that is no JSON", undone=False)


def _of_answer(error: HttpError) -> GoogleFault:
    status = int(error.resp.status)
    said, reasons = _said(error.content)
    wait = _wait(error.resp.get("retry-after", ""))
    if status == 403:
        return _forbidden(said, reasons, wait)
    if status == 429:
        return _limited(said, wait)
    if status == 401:
        return _sign_in("Google does not accept the sign-in")
    code = _CODES.get(status)
    if code is None:
        words = f"Google failed with status {status}{_colon(said)}"
        # 503 means that the request was not accepted. After any other 5xx the change may have been
        # made, so a POST must not be repeated.
        return _unavailable(words, undone=status == 503, passing=status >= 500, wait=wait)
    gone = status in (404, 410)
    return GoogleFault(code=code, message=f"Google says{_colon(said or str(status))}", gone=gone)


def _forbidden(said: str, reasons: Reasons, wait: float | None) -> GoogleFault:
    if reasons & _RATE:
        return _limited(said, wait)
    if reasons & _QUOTA:
        words = f"the account's quota is used up{_colon(said)}; try again later"
        return GoogleFault(code="quota_exceeded", message=words, wait=wait)
    if reasons & _FULL:
        return GoogleFault(code="disk_full", message=f"the account has no room left{_colon(said)}")
    if reasons & _SCOPE:
        return _sign_in("the account was connected without the right to do this")
    return GoogleFault(code="forbidden", message=f"the account may not do this{_colon(said)}")


def _limited(said: str, wait: float | None) -> GoogleFault:
    when = "in a minute" if wait is None else f"in {wait:g} seconds"
    return GoogleFault(
        code="quota_exceeded",
        message=f"too many requests{_colon(said)}; try again {when}",
        passing=True,
        wait=wait,
    )


def _sign_in(why: str) -> GoogleFault:
    return GoogleFault(code="sign_in_needed", message=f"{why}; the person must run `{CONNECT}`")


def _unavailable(
    why: str, *, undone: bool, passing: bool = True, wait: float | None = None
) -> GoogleFault:
    return GoogleFault(
        code="service_unavailable", message=why, passing=passing, undone=undone, wait=wait
    )


def _of_network(error: requests.RequestException) -> GoogleFault:
    undone = _unconnected(error)
    if isinstance(error, requests.exceptions.SSLError):
        return GoogleFault(
            code="network_error", message="no secure connection to Google can be made"
        )
    if isinstance(error, requests.Timeout):
        words = "Google did not answer in time"
    else:
        words = "Google cannot be reached" if undone else "the connection to Google broke"
    return GoogleFault(code="network_error", message=words, passing=True, undone=undone)


def _unconnected(error: requests.RequestException) -> bool:
    """Tell if no connection was made, so that nothing was sent."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", None)
    return isinstance(reason, urllib3.exceptions.NewConnectionError)


class _Item(msgspec.Struct):
    reason: str = ""


class _Error(msgspec.Struct):
    message: str = ""
    errors: list[_Item] = []
    details: list[_Item] = []


class _Body(msgspec.Struct):
    error: _Error


def _said(content: bytes) -> tuple[str, Reasons]:
    """Return Google's message and reasons, if the answer has that shape."""
    try:
        error = msgspec.json.decode(content, type=_Body).error
    except msgspec.MsgspecError:
        return "", frozenset()
    reasons = frozenset(item.reason for item in (*error.errors, *error.details))
    return " ".join(error.message.split())[:_SAID].rstrip("."), reasons


def _colon(said: str) -> str:
    return f": {said}" if said else ""


def _wait(given: str) -> float | None:
    """Parse Retry-After: seconds, or an HTTP date."""
    if not given:
        return None
    if given.isascii() and given.isdigit():
        return float(given[:9])
    try:
        when = email.utils.parsedate_to_datetime(given).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, round(when - time.time()))


# --- One HTTP request to Google with the person's credentials, sent exactly once ---
#
# The client library's own transport repeats a request when a connection breaks, and with it a
# mail. This transport never does; `service` decides on retries. It stops reading an answer that is
# too long or too slow, and renews the token once on a 401.


_TIMEOUT = 60.0
_CONNECT_TIMEOUT = 15.0
_PIECE = 64 * 1024


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

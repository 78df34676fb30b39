"""Sign-in at Google by the flow for installed programs, and sign-out.

The person creates an OAuth client of the type "Desktop app" in Google's console and gives its file.
Google redirects the browser to a port on 127.0.0.1 with a code that only this process can exchange
for a token (PKCE), so another local program that sees the code cannot use it.

    connect(client_file, token_file, ["gmail_list"], open_browser=True, say=print)
    credentials = load(token_file, ["gmail_list"])
    forget(token_file)

The address of an account, requested from the first service that may tell it.

The file of a person's sign-in: whoever has it can act as the person.

    {"token": "…", "refresh_token": "…", "token_uri": "…", "client_id": "…",
     "client_secret": "…", "scopes": ["…"], "expiry": "2030-01-01T00:00:00Z"}

It is written atomically with mode 0600, and refused once others can read it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import webbrowser
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import requests
from google.auth.credentials import Credentials as GoogleCredentials
from google.oauth2.credentials import Credentials
from google_auth_oauthlib.flow import InstalledAppFlow, WSGITimeoutError
from oauthlib.oauth2 import OAuth2Error

from callblocks.core.errors import CallerError, ToolError
from callblocks.guard.files.replace_file import replace_private
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.google.google_service import Service
from callblocks.toolkits.office.google.transport import CONNECT, Session

__all__ = (
    "SCOPES",
    "KeptCredentials",
    "Token",
    "address_of",
    "connect",
    "forget",
    "holds",
    "load",
    "read_token",
    "scopes_for",
    "signed_out",
    "write_token",
)

# The library gives few of its members a type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file; `scopes` are those that the person granted."""

    token: str
    refresh_token: str
    token_uri: str
    client_id: str
    client_secret: str
    scopes: list[str]
    expiry: datetime

    # The default repr would show the token in tracebacks and logs.
    def __repr__(self) -> str:
        return f"Token(expiry={self.expiry.isoformat()})"


class KeptCredentials(Credentials):
    """Credentials that store a renewed token in their file."""

    def __init__(self, token: Token, file: Path) -> None:
        super().__init__(
            token.token,
            refresh_token=token.refresh_token,
            token_uri=token.token_uri,
            client_id=token.client_id,
            client_secret=token.client_secret,
            scopes=token.scopes,
            # The library compares naive times in UTC.
            expiry=token.expiry.astimezone(UTC).replace(tzinfo=None),
        )
        self._kept = token
        self._file = file

    def refresh(self, request: Any) -> None:
        """Renew the token and store it, unless the file was removed or belongs to a new sign-in."""
        super().refresh(request)
        new = msgspec.structs.replace(
            self._kept,
            token=self.token,
            refresh_token=self.refresh_token,
            expiry=(self.expiry or datetime.now(UTC)).replace(tzinfo=UTC),
        )
        # A token that cannot be stored still works; the next run renews it again.
        with contextlib.suppress(OSError, ToolError):
            if read_token(self._file).refresh_token == self._kept.refresh_token:
                write_token(self._file, new)
        self._kept = new


def read_token(file: Path) -> Token:
    """Read the sign-in of a file; `sign_in_needed` if there is none that may be used."""
    try:
        content = _read_private(file)
    except FileNotFoundError:
        raise signed_out("no account is connected") from None
    except OSError as error:
        raise signed_out(f"{file} cannot be read: {error.strerror}") from error
    try:
        return msgspec.json.decode(content, type=Token)
    except msgspec.MsgspecError:
        # Not chained: the decoder's message may quote a part of the file.
        raise signed_out(f"{file} holds no sign-in") from None


def write_token(file: Path, token: Token) -> None:
    """Write the file atomically with mode 0600."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_private(file, msgspec.json.format(msgspec.json.encode(token), indent=2) + b"\n")


def signed_out(why: str) -> ToolError:
    """Return the failure for a missing sign-in, with the way out."""
    return ToolError("sign_in_needed", f"{why}; the person must run `{CONNECT}`")


def _read_private(file: Path) -> bytes:
    with file.open("rb") as stream:
        mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
        # Windows has no such modes.
        if os.name == "posix" and mode & 0o077:
            why = f"{file} holds a sign-in and can be read by others ({mode:o})"
            raise ToolError(
                "sign_in_needed",
                f"{why}; the person must run `chmod 600 {file}`, or `{CONNECT}` if others did",
            )
        return stream.read()


# --- The OAuth scopes of each tool: the least that it needs ---
#
#     scopes_for(["gmail_list", "gmail_send"])
#     -> (".../auth/gmail.readonly", ".../auth/gmail.send")

_AUTH = "https://www.googleapis.com/auth/"

_READ_MAIL = (f"{_AUTH}gmail.readonly",)
_READ_FILES = (f"{_AUTH}drive.readonly",)
# All files of the person, not only those that were created here (`drive.file`): the tools work on
# documents that the person already has.
_WRITE_FILES = (f"{_AUTH}drive",)
_READ_CALENDARS = (f"{_AUTH}calendar.calendarlist.readonly",)
_READ_EVENTS = (f"{_AUTH}calendar.events.readonly",)
_WRITE_EVENTS = (f"{_AUTH}calendar.events",)
_READ_DOCUMENTS = (f"{_AUTH}documents.readonly",)
_WRITE_DOCUMENTS = (f"{_AUTH}documents",)
_READ_SHEETS = (f"{_AUTH}spreadsheets.readonly",)
_WRITE_SHEETS = (f"{_AUTH}spreadsheets",)
_READ_TASKS = (f"{_AUTH}tasks.readonly",)
_WRITE_TASKS = (f"{_AUTH}tasks",)

# The scopes of each tool that uses Google.
SCOPES: dict[str, tuple[str, ...]] = {
    "gmail_list": _READ_MAIL,
    "gmail_read": _READ_MAIL,
    "gmail_search": _READ_MAIL,
    # A reply needs the headers of the answered message, and the person's own address.
    "gmail_send": (f"{_AUTH}gmail.send", *_READ_MAIL),
    "drive_list": _READ_FILES,
    "drive_read": _READ_FILES,
    "drive_search": _READ_FILES,
    "drive_create": _WRITE_FILES,
    "drive_update": _WRITE_FILES,
    "drive_delete": _WRITE_FILES,
    "calendar_list": _READ_CALENDARS,
    "calendar_events": _READ_EVENTS,
    "calendar_create": _WRITE_EVENTS,
    "calendar_update": _WRITE_EVENTS,
    "calendar_delete": _WRITE_EVENTS,
    "docs_read": _READ_DOCUMENTS,
    "docs_create": _WRITE_DOCUMENTS,
    "docs_append": _WRITE_DOCUMENTS,
    "docs_replace": _WRITE_DOCUMENTS,
    "sheets_read": _READ_SHEETS,
    "sheets_write": _WRITE_SHEETS,
    "sheets_append": _WRITE_SHEETS,
    "sheets_create": _WRITE_SHEETS,
    "sheets_clear": _WRITE_SHEETS,
    "tasks_list": _READ_TASKS,
    "tasks_get": _READ_TASKS,
    "tasks_create": _WRITE_TASKS,
    "tasks_update": _WRITE_TASKS,
    "tasks_complete": _WRITE_TASKS,
    "tasks_delete": _WRITE_TASKS,
}

# A write scope includes the read scope, which need not be requested then.
_COVERS = {
    _WRITE_FILES[0]: _READ_FILES[0],
    _WRITE_EVENTS[0]: _READ_EVENTS[0],
    _WRITE_DOCUMENTS[0]: _READ_DOCUMENTS[0],
    _WRITE_SHEETS[0]: _READ_SHEETS[0],
    _WRITE_TASKS[0]: _READ_TASKS[0],
}


def scopes_for(names: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes of these tools, sorted, without those that another one covers."""
    wanted: set[str] = set()
    for name in names:
        if name not in SCOPES:
            raise CallerError(f"{name} asks nothing of Google; tools that do: {', '.join(SCOPES)}")
        wanted.update(SCOPES[name])
    covered = {_COVERS[scope] for scope in wanted if scope in _COVERS}
    return tuple(sorted(wanted - covered))


def holds(granted: Collection[str], name: str) -> bool:
    """Tell if the granted scopes suffice for a tool."""
    enough = {*granted, *(_COVERS[scope] for scope in granted if scope in _COVERS)}
    return enough.issuperset(scopes_for([name]))


# --- The address of an account, requested from the first service that may tell it ---


def address_of(credentials: GoogleCredentials, scopes: Collection[str], base: str = "") -> str:
    """Return the address; "" if no granted scope can tell it."""
    # No scope is requested for the address alone: the scopes that the tools need anyway suffice.
    for (name, version), tool, ask in _WAYS:
        if not holds(scopes, tool):
            continue
        service = Service(name, version, credentials, base=base)
        try:
            return ask(service)
        finally:
            service.close()
    return ""


def _by_mail(service: Service) -> str:
    profile = service.call(lambda api: api.users().getProfile(userId="me"))
    return str(profile.get("emailAddress", ""))


def _by_drive(service: Service) -> str:
    about = service.call(lambda api: api.about().get(fields="user(emailAddress)"))
    user: Json = about.get("user", {})
    return str(user.get("emailAddress", ""))


def _by_calendar(service: Service) -> str:
    # The id of a person's primary calendar is the person's address.
    calendar = service.call(lambda api: api.calendarList().get(calendarId="primary"))
    return str(calendar.get("id", ""))


_WAYS = (
    (("gmail", "v1"), "gmail_list", _by_mail),
    (("drive", "v3"), "drive_list", _by_drive),
    (("calendar", "v3"), "calendar_list", _by_calendar),
)


# The library of the flow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false


_HOST = "127.0.0.1"
_PATIENCE = 300
_TIMEOUT = 30
_DONE = "callblocks is connected. You may close this window."
_MAKE_ONE = 'make an OAuth client of the type "Desktop app" in Google\'s console, and download it'


def connect(
    client_file: Path,
    token_file: Path,
    names: Iterable[str] = SCOPES,
    *,
    open_browser: bool,
    say: Callable[[str], None],
    base: str = "",
) -> str:
    """Let the person sign in for these tools; return the account's address, "" if unknown.

    `say` receives the URL to open in a browser. If the person grants less, the affected tools
    report it later. `base` replaces Google's server for the address request.
    """
    flow = _Flow.from_client_config(_client(client_file), list(scopes_for(names)))
    flow.show = _showing(open_browser, say)
    token = _signed_in(flow)
    write_token(token_file, token)
    return address_of(KeptCredentials(token, token_file), token.scopes, base)


def load(token_file: Path | None, names: Iterable[str] = ()) -> Credentials:
    """Return the person's credentials if they permit these tools.

    An expired token is renewed at its next use, and the new one is stored.
    """
    if token_file is None:
        raise signed_out("no account is connected")
    token = read_token(token_file)
    lacking = [name for name in names if not holds(token.scopes, name)]
    if lacking:
        raise signed_out(f"the account was connected without the right to {', '.join(lacking)}")
    return KeptCredentials(token, token_file)


def forget(token_file: Path) -> bool:
    """Revoke the sign-in at Google and remove its file; return True if there was one."""
    token = None
    with contextlib.suppress(ToolError):
        token = read_token(token_file)
    # Remove the local file first: even if Google cannot be reached, this machine must lose access.
    there = token_file.exists()
    token_file.unlink(missing_ok=True)
    if token is not None and not _revoked(token):
        raise ToolError(
            "network_error",
            "the sign-in was removed here, but Google could not be told; end it at "
            "https://myaccount.google.com/connections",
        )
    return there


class _Flow(InstalledAppFlow):
    """A flow that passes the URL to a callback instead of printing it."""

    show: Callable[[str], None]

    def authorization_url(self, **given: Any) -> tuple[str, str]:
        url, state = super().authorization_url(**given)
        self.show(url)
        return url, state


def _showing(open_browser: bool, say: Callable[[str], None]) -> Callable[[str], None]:
    def show(url: str) -> None:
        if open_browser and webbrowser.open(url):
            say(f"Sign in in the browser that opens, or open this address:\n{url}")
        else:
            say(f"Open this address in a browser on this machine, and sign in:\n{url}")

    return show


def _signed_in(flow: _Flow) -> Token:
    try:
        # `prompt=consent`: without it Google issues a refresh token only at the first sign-in, and
        # a second `connect` would get an access token for one hour.
        flow.run_local_server(
            host=_HOST,
            port=0,
            authorization_prompt_message="",
            success_message=_DONE,
            open_browser=False,
            timeout_seconds=_PATIENCE,
            prompt="consent",
        )
    except (KeyError, ValueError):
        raise signed_out("Google's answer holds no token") from None
    except Warning as less:  # raised, not warned: the person allowed less than was asked for
        flow.oauth2session.token = getattr(less, "token", {})
    except WSGITimeoutError:
        raise signed_out(f"nobody signed in within {_PATIENCE // 60} minutes") from None
    except OAuth2Error as error:
        raise signed_out(f"Google did not let callblocks in: {error.error}") from None
    except requests.RequestException:
        raise ToolError("network_error", "Google's sign-in cannot be reached") from None
    except OSError as error:
        why = f"no port on {_HOST} can be listened to: {error.strerror}"
        raise ToolError("network_error", why) from error
    return _token(flow)


def _token(flow: _Flow) -> Token:
    given: Any = flow.credentials
    if not given.refresh_token:
        raise signed_out("Google gave no lasting sign-in")
    return Token(
        token=given.token,
        refresh_token=given.refresh_token,
        token_uri=given.token_uri,
        client_id=given.client_id,
        client_secret=given.client_secret,
        scopes=sorted(given.granted_scopes or given.scopes),
        expiry=given.expiry.replace(tzinfo=UTC),
    )


class _Client(msgspec.Struct):
    client_id: str
    client_secret: str
    auth_uri: str
    token_uri: str


class _ClientFile(msgspec.Struct):
    installed: _Client


def _client(file: Path) -> dict[str, Any]:
    """Return the OAuth client of a file in the form that the flow takes."""
    try:
        return msgspec.to_builtins(msgspec.json.decode(file.read_bytes(), type=_ClientFile))
    except OSError as error:
        raise CallerError(f"{file}: {error.strerror}; {_MAKE_ONE}") from error
    except msgspec.MsgspecError:
        raise CallerError(f"{file} is no file of a desktop client; {_MAKE_ONE}") from None


def _revoked(token: Token) -> bool:
    """Tell if the token is revoked at Google; a token that Google does not know counts as
    revoked.
    """
    address = token.token_uri.rpartition("/")[0] + "/revoke"
    try:
        with Session() as session:
            answer = session.post(address, data={"token": token.refresh_token}, timeout=_TIMEOUT)
            return answer.status_code in (200, 400)
    except requests.RequestException:
        return False

"""Sign-in at Google by the flow for installed programs, and sign-out.

The person creates an OAuth client of the type "Desktop app" in Google's console and gives its file.
Google redirects the browser to a port on 127.0.0.1 with a code that only this process can exchange
for a token (PKCE), so another local program that sees the code cannot use it.

    connect(client_file, token_file, ["gmail_list"], open_browser=True, say=print)
    credentials = load(token_file, ["gmail_list"])
    forget(token_file)
"""

# The library of the flow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import contextlib
import webbrowser
from collections.abc import Callable, Iterable
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import requests
from google.oauth2.credentials import Credentials
from google_auth_oauthlib.flow import InstalledAppFlow, WSGITimeoutError
from oauthlib.oauth2 import OAuth2Error

from callblocks.core.errors import CallerError, ToolError
from callblocks.toolkits.office.google.account import SCOPES, address_of, holds, scopes_for
from callblocks.toolkits.office.google.tokens import (
    KeptCredentials,
    Token,
    read_token,
    signed_out,
    write_token,
)
from callblocks.toolkits.office.google.transport import Session

__all__ = ("connect", "forget", "load")

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

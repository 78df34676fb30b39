"""The file of a person's sign-in: whoever has it can act as the person.

    {"token": "…", "refresh_token": "…", "token_uri": "…", "client_id": "…",
     "client_secret": "…", "scopes": ["…"], "expiry": "2030-01-01T00:00:00Z"}

It is written atomically with mode 0600, and refused once others can read it.
"""

# The library gives few of its members a type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from google.oauth2.credentials import Credentials

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.google.google_faults import CONNECT

__all__ = ("KeptCredentials", "Token", "read_token", "signed_out", "write_token")


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
    # In the same folder, because a rename is atomic only within one file system. O_EXCL with mode
    # 0600: the secret is never in a file that others can read, not even for a moment.
    new = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    opened = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(opened, "wb") as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(token), indent=2) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


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

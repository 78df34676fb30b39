"""Where approvals, the journal, timelines and kept files are: outside of every workspace.

    $CALLBLOCKS_HOME, or $XDG_STATE_HOME/callblocks, or ~/.local/state/callblocks

Only the person whose they are may read them.
"""

from __future__ import annotations

import os
from pathlib import Path

from callblocks.cli.exits import Fault
from callblocks.timeline.layout import APPROVALS, ARTIFACTS, JOURNAL, PAGES, TIMELINES

__all__ = (
    "APPROVALS",
    "ARTIFACTS",
    "GOOGLE",
    "JOURNAL",
    "PAGES",
    "TIMELINES",
    "TOKEN",
    "kept_token",
    "state_folder",
)

GOOGLE = "google.json"
"""What lets callblocks in at Google."""
TOKEN = "server-token"
"""What lets clients of this user in at their server, from one start to the next."""


def state_folder() -> Path:
    """The folder, made if it is not there."""
    folder = _named()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        way_out = "set CALLBLOCKS_HOME to a folder that can be written"
        raise Fault(f"{folder}: {error.strerror}; {way_out}") from error
    return folder


def kept_token(folder: Path) -> str:
    """Return the token of the servers of a state folder; make one if there is none.

    Only its owner may read the file. A file that others could read is replaced: they may have read
    it.
    """
    from callblocks.server.settings import new_token

    file = folder / TOKEN
    try:
        if file.exists() and file.stat().st_mode & 0o077:
            file.unlink()
        try:
            made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return _read_token(file)
        token = new_token()
        with os.fdopen(made, "w") as opened:
            opened.write(f"{token}\n")
    except (OSError, UnicodeDecodeError) as error:
        way_out = "remove it, or give a token with --token or CALLBLOCKS_TOKEN"
        raise Fault(f"{file}: {error}; {way_out}") from error
    return token


def _read_token(file: Path) -> str:
    """Return the token in a file; a program that died while it made the file left none there."""
    token = file.read_text("ascii").strip()
    if not token:
        raise OSError("it holds no token")
    return token


def _named() -> Path:
    if home := os.environ.get("CALLBLOCKS_HOME"):
        return Path(home).absolute()
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state).absolute() / "callblocks"
    return Path.home() / ".local/state/callblocks"

"""The state folder: approvals, the journal, timelines and kept files, outside of any workspace.

    $CALLBLOCKS_HOME, or $XDG_STATE_HOME/callblocks, or ~/.local/state/callblocks

Only their owner may read them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import click

from callblocks.cli.exits import Fault
from callblocks.core.errors import TimelineError
from callblocks.timeline.timeline import APPROVALS, ARTIFACTS, JOURNAL, PAGES, TIMELINES

if TYPE_CHECKING:
    from callblocks.timeline.log.log import Head, Store

__all__ = (
    "APPROVALS",
    "ARTIFACTS",
    "GOOGLE",
    "JOURNAL",
    "PAGES",
    "TIMELINES",
    "TOKEN",
    "Readable",
    "artifacts_option",
    "existing",
    "kept_token",
    "name_argument",
    "open_timelines",
    "shown_store",
    "state_folder",
    "store_option",
    "without_password",
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


# --- The store of timelines that a command works on: a file, or a PostgreSQL server ---
#
#     --store, or $CALLBLOCKS_STORE, or timelines.sqlite in the state folder
#
# A password in an address is never shown.

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

# As wide as may be: a password with a slash in it makes an address that is none, and is one.
_PASSWORD = re.compile(r"(?<=:)(?!//).*(?=@)|(?<=[?&]password=)[^&#]*", re.I | re.S)
_PARTS = re.compile(r"[/?#@:]")
_HIDDEN = "…"
_TELLING = 2


def store_option(command: F) -> F:
    """Add `--store`."""
    return click.option(
        "--store",
        metavar="FILE|URL",
        envvar="CALLBLOCKS_STORE",
        help="Where timelines are: a file, or postgresql://…  [default: timelines.sqlite in the"
        " state folder; environment: CALLBLOCKS_STORE]",
    )(command)


def artifacts_option(command: F) -> F:
    """Add `--artifacts`."""
    return click.option(
        "--artifacts",
        metavar="FOLDER|URL",
        envvar="CALLBLOCKS_ARTIFACTS",
        help="Where kept files are: a folder, or s3://bucket/prefix.  [default: artifacts in the"
        " state folder; environment: CALLBLOCKS_ARTIFACTS]",
    )(command)


name_argument = click.argument("name")
"""The timeline that is meant."""


class Readable(Iterable[T]):
    """All that can be read; what went wrong then is told by `check`, after it was shown."""

    def __init__(self, given: Iterable[T]) -> None:
        self._given = given
        self._fault: TimelineError | None = None

    def __iter__(self) -> Iterator[T]:
        try:
            yield from self._given
        except TimelineError as error:
            self._fault = error

    def check(self) -> None:
        """Raise what went wrong."""
        if self._fault is not None:
            raise self._fault


@contextmanager
def open_timelines(target: str | None, *, make: bool = False) -> Generator[Store]:
    """The store; with `make`, a file that is not there is made."""
    from callblocks.timeline.log.open_store import open_store

    if target and not (make or _is_server(target) or os.path.exists(target)):
        words = f"no store is at {target}; --store names a file or postgresql://…"
        raise TimelineError("store_unavailable", words)
    address = target or str(state_folder() / TIMELINES)
    with without_password(address), open_store(address) as store:
        yield store


@contextmanager
def without_password(address: str | None) -> Generator[None]:
    """An address stands in messages without its password, whoever wrote them."""
    try:
        yield
    except TimelineError as error:
        words = _without_password(error.message, address or "")
        raise TimelineError(error.code, words, **error.details) from error


def existing(store: Store, name: str) -> Head:
    """The end of a timeline that must be there."""
    head = store.head(name)
    if head.count:
        return head
    from callblocks.core.text import close_to

    near = close_to(name, (known.name for known in store.names()))
    hint = f"; did you mean {near}?" if near else "; callblocks timeline list names them"
    raise TimelineError("unknown_timeline", f"no timeline has the name {name}{hint}")


def shown_store(target: str | None) -> str:
    """Return the name of a store for messages, without a password."""
    if target is None:
        return str(state_folder() / TIMELINES)
    return _without_password(target, target)


def _is_server(target: str) -> bool:
    from callblocks.timeline.log.open_store import server_address

    return server_address(target) is not None


def _without_password(text: str, address: str) -> str:
    try:
        if not _is_server(address):
            return text
    except TimelineError:
        # What is refused is not told from a password.
        return text.replace(address, _HIDDEN)
    for secret in filter(None, _PASSWORD.findall(address)):
        parts = [part for part in _PARTS.split(secret) if len(part) > _TELLING]
        for form in (secret, unquote(secret), *parts):
            text = text.replace(form, _HIDDEN)
    return text

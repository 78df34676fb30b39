"""Opening of the store that a text names.

state/timeline.sqlite             a SQLite file
postgresql://user@host/database   a PostgreSQL server, with `callblocks[postgres]`
"""

from __future__ import annotations

import os
import re

from callblocks.core.errors import TimelineError
from callblocks.core.extras import MissingExtra, needing
from callblocks.timeline.log.log import Store

__all__ = (
    "open_store",
    "server_address",
)

# --- The address of a store: a server or a file ---
#
#     postgresql://user@host/database      also postgres://, postgresql+psycopg://, in any case
#     state/timeline.sqlite                a file
#
# A text that is nearly an address may hold a password, so it is refused without being shown, and no
# folder is made of it. A file with such a name can be written as `./NAME`.

_SERVER = re.compile(r"\s*postgres(?:ql)?(?:\+\w+)?://", re.I)
# Refused wherever they occur: `://` and a password.
_SECRET = re.compile(r"://|password\s*=", re.I)
# Refused where the text does not begin like a path: a slash too few, or name=value pairs.
_ODD = re.compile(
    r"\W*postgres.*[:@]|\W*[a-z][a-z0-9+.-]+:/|\s*\w+\s*=\s*\S+\s+\w+\s*=", re.I | re.S
)


def server_address(target: str) -> str | None:
    """Return the address of a server, as the driver takes it; `None` for a path.

    Any other text is a `TimelineError` (`store_unavailable`) that does not show it.
    """
    if found := _SERVER.match(target):
        address = f"postgresql://{target[found.end() :].strip()}"
        _check(address)
        return address
    # A mistyped address taken for a path would create a folder whose name holds the password.
    if _SECRET.search(target) or (not target.startswith(("/", ".")) and _ODD.match(target)):
        raise _unreadable()
    return None


def _check(address: str) -> None:
    from urllib.parse import urlsplit

    try:
        urlsplit(address)
    except ValueError:
        # The error's message may contain the address itself.
        raise _unreadable() from None


def _unreadable() -> TimelineError:
    return TimelineError(
        "store_unavailable",
        "the store is neither the path of a file nor an address of the form"
        " postgresql://user@host/database; it is not shown, as a password may be in it",
    )


# --- Opening of the store that a text names ---


def open_store(target: str | os.PathLike[str]) -> Store:
    """Return the store at a path or an address; raise `TimelineError` if it cannot be opened."""
    path = os.fspath(target)
    if (address := server_address(path)) is not None:
        return _open_postgres(address)
    from callblocks.timeline.log.sqlite_store import SqliteStore

    return SqliteStore(path)


def _open_postgres(address: str) -> Store:
    try:
        with needing("postgres", "a store on PostgreSQL"):
            from callblocks.timeline.log.postgres_store import PostgresStore
    except MissingExtra as error:
        raise TimelineError("store_unavailable", str(error), extra=error.extra) from error
    return PostgresStore(address)

"""The address of a store: a server or a file.

    postgresql://user@host/database      also postgres://, postgresql+psycopg://, in any case
    state/timeline.sqlite                a file

A text that is nearly an address may hold a password, so it is refused without being shown, and no
folder is made of it. A file with such a name can be written as `./NAME`.
"""

from __future__ import annotations

import re

from callblocks.model.errors import TimelineError

__all__ = ("server_address",)

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

"""Whether a text names a server or a file.

    postgresql://user@host/database      also postgres://, postgresql+psycopg://, in any case
    state/timeline.sqlite                a file

What is nearly an address is neither: it may hold a password, and so it is refused without being
shown, and no folder is made of it. A file with such a name can be written as `./NAME`.
"""

from __future__ import annotations

import re

from callblocks.model.errors import TimelineError

__all__ = ("server_address",)

_SERVER = re.compile(r"\s*postgres(?:ql)?(?:\+\w+)?://", re.I)
# With :// or a password it is refused wherever that stands.
_SECRET = re.compile(r"://|password\s*=", re.I)
# And where it does not begin like a path: a slash too few, or name=value pairs.
_ODD = re.compile(
    r"\W*postgres.*[:@]|\W*[a-z][a-z0-9+.-]+:/|\s*\w+\s*=\s*\S+\s+\w+\s*=", re.I | re.S
)


def server_address(target: str) -> str | None:
    """The address of a server, as the driver takes it; None for a path.

    What is neither is a `TimelineError` (`store_unavailable`) that does not show it.
    """
    if found := _SERVER.match(target):
        address = f"postgresql://{target[found.end() :].strip()}"
        _check(address)
        return address
    if _SECRET.search(target) or (not target.startswith(("/", ".")) and _ODD.match(target)):
        raise _unreadable()
    return None


def _check(address: str) -> None:
    from urllib.parse import urlsplit

    try:
        urlsplit(address)
    except ValueError:
        # Its words may be the address's own.
        raise _unreadable() from None


def _unreadable() -> TimelineError:
    return TimelineError(
        "store_unavailable",
        "the store is neither the path of a file nor an address of the form"
        " postgresql://user@host/database; it is not shown, as a password may be in it",
    )

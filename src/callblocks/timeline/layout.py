"""The layout of a state folder.

    timelines.sqlite         the store, unless another one is named
    timelines/NAME           the files of the turns of a timeline of that store
    timelines/NAME+0f1e2d…   those of a timeline of another store, with a hash of its place
    artifacts                kept files, by their digest, for all of them
    approvals.sqlite         questions to a person, and the answers
    journal.sqlite           changes that calls were about to make, and their outcomes
    pages                    cached web pages; may be deleted at any time

Two timelines never share a folder of turns. No name has a `+`, and a password is not part of the
place, so that a new password changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ("APPROVALS", "ARTIFACTS", "JOURNAL", "PAGES", "TIMELINES", "TURNS", "turns_folder")

APPROVALS = "approvals.sqlite"
ARTIFACTS = "artifacts"
JOURNAL = "journal.sqlite"
PAGES = "pages"
TIMELINES = "timelines.sqlite"
TURNS = "timelines"

_DIGITS = 16


def turns_folder(
    folder: str | os.PathLike[str], name: str, store: str | os.PathLike[str] | None = None
) -> Path:
    """Return the folder of the files of a timeline's turns; `store` is a path or an address."""
    top = Path(folder) / TURNS
    place = None if store is None else _place(os.fspath(store))
    # Real paths are compared, so that a link to the own store does not look like another store.
    if place is None or place == os.path.realpath(Path(folder) / TIMELINES):
        return top / name
    return top / f"{name}+{_hash(place)}"


def _place(store: str) -> str:
    from callblocks.timeline.stores.address import server_address

    address = server_address(store)
    return os.path.realpath(store) if address is None else _without_password(address)


def _without_password(address: str) -> str:
    from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    query = [pair for pair in parse_qsl(parts.query) if "password" not in pair[0].lower()]
    netloc = f"{user.partition(':')[0]}{at}{host}"
    return urlunsplit(("postgresql", netloc, parts.path, urlencode(query), ""))


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]

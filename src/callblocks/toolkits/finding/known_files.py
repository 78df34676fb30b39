"""The entry of a file in the index, and a passage as a search result.

read      its passages are those that it has now
stale     read once, and changed since: it waits for `file_ingest`
unread    it waits for `file_ingest`
skipped   it has no words, or cannot be read: nobody is told to try
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from callblocks.toolkits.finding.kinds import Kind

__all__ = ("File", "Found", "State", "name_of")

State: TypeAlias = Literal["read", "stale", "unread", "skipped"]


class File(msgspec.Struct, frozen=True, kw_only=True):
    """An indexed file. `title` is its own, `given` the one that somebody assigned."""

    path: str
    size: int
    mtime: int
    kind: Kind
    state: State
    digest: str = ""
    title: str = ""
    given: str = ""
    tags: tuple[str, ...] = ()
    id: int = 0


class Found(msgspec.Struct, frozen=True):
    """A passage that was found, with its file."""

    path: str
    kind: Kind
    title: str
    heading: str
    page: int
    line: int
    text: str


def name_of(path: str) -> str:
    """Return the resource name of the title and the tags that somebody assigned to a file."""
    return f"index:{path}"

"""One file of the workspace into the index, if it changed: by size and time, then by content."""

from __future__ import annotations

import hashlib
import time

from callblocks.runtime.files.names import unsafe
from callblocks.runtime.files.root import Root
from callblocks.toolkits.finding.index import Index
from callblocks.toolkits.finding.kinds import kind_of
from callblocks.toolkits.finding.known_files import File
from callblocks.toolkits.finding.readers import MAX_BYTES, Content
from callblocks.toolkits.finding.walking import Seen

__all__ = ("UNSETTLED", "file_of", "is_same", "load", "put", "settled")

_SETTLED = 2_000_000_000
# No time at all: what has it is looked at again.
UNSETTLED = -1


def settled(mtime: int) -> int:
    """The time to remember.

    What changed just now may change again without a later time: it is looked at once more.
    """
    return mtime if time.time_ns() - mtime > _SETTLED else UNSETTLED


def is_same(known: File | None, seen: Seen) -> bool:
    """Whether a file is as the index knows it, as far as that can be told without reading it."""
    return known is not None and (known.size, known.mtime) == (seen.size, seen.mtime)


def load(root: Root, path: str, limit: int = MAX_BYTES) -> tuple[bytes, str]:
    """What a file holds, and the digest of that; `path` is a real one."""
    if root.resolve(path) != path:
        raise unsafe(path, "it, or a folder above it, was swapped for a link")
    content = root.read(path, limit)
    return content, hashlib.sha256(content).hexdigest()


def file_of(seen: Seen) -> File:
    """A file that nobody has read."""
    return File(
        path=seen.path,
        size=seen.size,
        mtime=settled(seen.mtime),
        kind=kind_of(seen.path),
        state="unread",
    )


def put(
    index: Index,
    seen: Seen,
    digest: str,
    content: Content,
    *,
    given: str = "",
    tags: tuple[str, ...] = (),
) -> None:
    """Note a file that was read, with what it says."""
    file = File(
        path=seen.path,
        size=seen.size,
        mtime=settled(seen.mtime),
        kind=kind_of(seen.path),
        state="read",
        digest=digest,
        title=content.title,
        given=given,
        tags=tags,
    )
    index.put(file, content.passages)

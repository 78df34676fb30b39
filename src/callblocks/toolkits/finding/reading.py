"""Change detection for one file of the workspace: by size and mtime, then by digest."""

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

# Nanoseconds. File systems store mtimes in steps of up to two seconds (FAT), and a write within the
# same step leaves the mtime as it is. This is git's "racy" problem; the answer is the same: a
# recent mtime is not trusted.
_SETTLED = 2_000_000_000
# An mtime that no file has; the file is then checked again.
UNSETTLED = -1


def settled(mtime: int) -> int:
    """Return the mtime to store, or `UNSETTLED` for a recent one."""
    return mtime if time.time_ns() - mtime > _SETTLED else UNSETTLED


def is_same(known: File | None, seen: Seen) -> bool:
    """Tell if size and mtime are those of the index."""
    return known is not None and (known.size, known.mtime) == (seen.size, seen.mtime)


def load(root: Root, path: str, limit: int = MAX_BYTES) -> tuple[bytes, str]:
    """Read a file and its digest; `path` must already be resolved."""
    # Between the scan and this read, a folder could have been replaced by a link to a file that the
    # policy denies. Resolving again closes the gap.
    if root.resolve(path) != path:
        raise unsafe(path, "it, or a folder above it, was swapped for a link")
    content = root.read(path, limit)
    return content, hashlib.sha256(content).hexdigest()


def file_of(seen: Seen) -> File:
    """Return the entry of a file that was not read yet."""
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
    """Store a file that was read, with its content."""
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

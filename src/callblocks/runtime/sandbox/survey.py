"""The input of a sandbox: a folder's files by size and mode, and links that stay inside.

The folder is somebody's real one, and may change while it is read: it is walked by file
descriptors, no link is followed, and only regular files are opened later.
"""

from __future__ import annotations

import math
import os
import posixpath
import stat
from collections.abc import Iterator

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.sandbox.names import fault_of_path
from callblocks.runtime.sandbox.sandbox import Job, LeftOut
from callblocks.runtime.sandbox.walking import Found, walk

__all__ = ("Entry", "Survey", "survey")


_SPECIAL = "it is a device, a socket or a pipe"


class Entry(msgspec.Struct, frozen=True):
    """A file, a folder or a link that goes in. `size` is the file's size when it was seen.

    A `watched` file gets an older time than it has, so that any later write is visible in its time,
    however soon it happens.
    """

    path: str
    mode: int
    size: int = 0
    modified: float = 0.0
    target: str = ""
    read_only: bool = False
    watched: bool = False

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def executable(self) -> bool:
        return bool(self.mode & 0o100)

    @property
    def permissions(self) -> int:
        """Return the permissions inside."""
        allowed = 0o755 if self.executable or not self.is_file else 0o644
        return allowed & ~0o222 if self.read_only else allowed


class Survey(msgspec.Struct, frozen=True):
    """The entries that go in, those that do not, and whether all of it is small enough to copy."""

    entries: tuple[Entry, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    fits: bool = True

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)


def survey(job: Job) -> Survey:
    """Survey a job's folder; if it is too large to copy, only look for entries that lead out of it.

    Raise `ToolError("sandbox_failed")` when the folder itself cannot be read.
    """
    if job.folder is None:
        return Survey()
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    size = 0
    for found in _walk(job.folder, frozenset(job.without)):
        if isinstance(found, LeftOut):
            left_out.append(found)
            continue
        entries.append(_as_asked(found, job))
        size += found.size
        if size > job.limits.copy_bytes or len(entries) > job.limits.copy_files:
            _refuse_ways_out(job)
            return Survey(fits=False)
    return Survey(tuple(entries), tuple(left_out))


def _as_asked(entry: Entry, job: Job) -> Entry:
    """Return an entry with the job's settings for its path."""
    if entry.is_file and entry.path in job.watched:
        older = float(math.floor(entry.modified) - 1)
        return msgspec.structs.replace(entry, modified=older, watched=True)
    below = any(f"{entry.path}/".startswith(f"{path}/") for path in job.read_only)
    return msgspec.structs.replace(entry, read_only=True) if below else entry


def _refuse_ways_out(job: Job) -> None:
    """Raise if a folder that is bound, not copied, has a pipe or socket: read-only does not stop
    writing to those.
    """
    assert job.folder is not None
    for found in _walk(job.folder, frozenset(job.without)):
        if isinstance(found, LeftOut) and found.reason == _SPECIAL:
            message = f"the folder is too large to copy, and {found.path!r} in it leads out"
            raise ToolError("sandbox_failed", message)


def _walk(folder: str, without: frozenset[str]) -> Iterator[Entry | LeftOut]:
    try:
        for found in walk(folder, without.__contains__):
            yield _look(found)
    except OSError as error:
        message = f"the folder {folder!r} cannot be read: {error.strerror}"
        raise ToolError("sandbox_failed", message) from error


def _look(found: Found) -> Entry | LeftOut:
    path, seen = found.path, found.seen
    if fault := fault_of_path(path):
        return LeftOut(ascii(path), fault)
    if stat.S_ISLNK(seen.st_mode):
        return _look_at_link(found)
    if stat.S_ISREG(seen.st_mode):
        return Entry(path, seen.st_mode, seen.st_size, seen.st_mtime)
    if stat.S_ISDIR(seen.st_mode):
        return Entry(path, seen.st_mode, modified=seen.st_mtime)
    return LeftOut(path, _SPECIAL)


def _look_at_link(found: Found) -> Entry | LeftOut:
    try:
        target = os.readlink(found.name, dir_fd=found.folder)
    except OSError:
        return LeftOut(found.path, "it changed while it was read")
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(found.path), target))
    if target.startswith("/") or inside.partition("/")[0] == "..":
        return LeftOut(found.path, "it is a link that leaves the folder")
    if inside != "." and fault_of_path(inside):
        return LeftOut(found.path, "it is a link to no plain path")
    return Entry(found.path, found.seen.st_mode, target=target)

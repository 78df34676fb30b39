"""The input of a sandbox: a folder's files by size and mode, and links that stay inside.

The folder is somebody's real one, and may change while it is read: it is walked by file
descriptors, no link is followed, and only regular files are opened later.
"""

from __future__ import annotations

import math
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox.sandbox import Job, LeftOut

__all__ = (
    "DEPTH",
    "InputEntry",
    "Survey",
    "WalkEntry",
    "fault_of_path",
    "survey",
    "walk",
)

# --- Paths that may cross the border of a sandbox, in either direction ---
#
#     src/main.py   🛠/x y.txt   a..b      plain: relative, no `..`, UTF-8, no control characters
#     /etc/passwd   ../x   a//b   a\nb     not

# A lone surrogate stands for a byte that is not UTF-8.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_NAME_BYTES = 255
_PATH_BYTES = 4096
# The most segments of a path.
DEPTH = 128


def fault_of_path(path: str) -> str:
    """Return why a path may not cross, or "" when it may."""
    if _UNSHOWN.search(path):
        return "its name has control characters, or is not UTF-8"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "its path is not plain"
    if len(path.encode()) > _PATH_BYTES or len(parts) > DEPTH:
        return "its path is too long"
    if any(len(part.encode()) > _NAME_BYTES for part in parts):
        return "its name is too long"
    return ""


# --- A walk over everything below a folder by file descriptors: no link is followed ---
#
# A job can nest folders as deep as it likes, so the walk keeps an explicit stack instead of
# recursing, and does not enter folders deeper than a path may be.

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WalkEntry(NamedTuple):
    """An entry: its path below the top, and how to reach it: `name` in the open `folder`."""

    path: str
    name: str
    folder: int
    seen: os.stat_result


class _Open(NamedTuple):
    fd: int
    base: str
    names: Iterator[os.DirEntry[str]]


def walk(top: str, skip: Callable[[str], bool] = lambda path: False) -> Iterator[WalkEntry]:
    """Yield every entry, a folder before its content; do not enter a skipped path.

    Entries that vanish meanwhile or cannot be read are skipped. Raise `OSError` for the top.
    """
    # The stack holds one open descriptor per level, so its depth is bounded by DEPTH, and with it
    # the number of open files.
    opened = [_open(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), "")]
    try:
        while opened:
            here = opened[-1]
            entry = next(here.names, None)
            if entry is None:
                os.close(opened.pop().fd)
                continue
            path = here.base + entry.name
            seen = None if skip(path) else _look_below(entry.name, here.fd)
            if seen is None:
                continue
            yield WalkEntry(path, entry.name, here.fd, seen)
            if stat.S_ISDIR(seen.st_mode) and len(opened) < DEPTH:
                opened += _enter(entry.name, here.fd, path)
    finally:
        for here in opened:
            os.close(here.fd)


def _look_below(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _enter(name: str, folder: int, path: str) -> list[_Open]:
    try:
        return [_open(os.open(name, _FOLDER, dir_fd=folder), f"{path}/")]
    except OSError:
        return []


def _open(fd: int, base: str) -> _Open:
    with os.scandir(fd) as entries:
        return _Open(fd, base, iter(sorted(entries, key=lambda entry: entry.name)))


# --- The input of a sandbox: a folder's files by size and mode, and links that stay inside ---

_SPECIAL = "it is a device, a socket or a pipe"


class InputEntry(msgspec.Struct, frozen=True):
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

    entries: tuple[InputEntry, ...] = ()
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
    entries: list[InputEntry] = []
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


def _as_asked(entry: InputEntry, job: Job) -> InputEntry:
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


def _walk(folder: str, without: frozenset[str]) -> Iterator[InputEntry | LeftOut]:
    try:
        for found in walk(folder, without.__contains__):
            yield _look(found)
    except OSError as error:
        message = f"the folder {folder!r} cannot be read: {error.strerror}"
        raise ToolError("sandbox_failed", message) from error


def _look(found: WalkEntry) -> InputEntry | LeftOut:
    path, seen = found.path, found.seen
    if fault := fault_of_path(path):
        return LeftOut(ascii(path), fault)
    if stat.S_ISLNK(seen.st_mode):
        return _look_at_link(found)
    if stat.S_ISREG(seen.st_mode):
        return InputEntry(path, seen.st_mode, seen.st_size, seen.st_mtime)
    if stat.S_ISDIR(seen.st_mode):
        return InputEntry(path, seen.st_mode, modified=seen.st_mtime)
    return LeftOut(path, _SPECIAL)


def _look_at_link(found: WalkEntry) -> InputEntry | LeftOut:
    try:
        target = os.readlink(found.name, dir_fd=found.folder)
    except OSError:
        return LeftOut(found.path, "it changed while it was read")
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(found.path), target))
    if target.startswith("/") or inside.partition("/")[0] == "..":
        return LeftOut(found.path, "it is a link that leaves the folder")
    if inside != "." and fault_of_path(inside):
        return LeftOut(found.path, "it is a link to no plain path")
    return InputEntry(found.path, found.seen.st_mode, target=target)

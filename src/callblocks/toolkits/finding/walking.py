"""Scanning of the folders of a workspace; links are never followed.

Skipped: dot names, package folders, files of callblocks itself, and the office except its drive,
because the office has tools of its own.

All access is relative to the root's descriptor with O_NOFOLLOW, so a folder that is swapped for a
link during the scan is not entered.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.files.names import HERE, relative
from callblocks.runtime.files.openat import best_opener, open_folder
from callblocks.runtime.files.replace import is_temporary
from callblocks.runtime.files.root import Root

__all__ = ("Folder", "Seen", "look_at", "look_through", "mtime_of", "walk")

_PASSED = frozenset(("node_modules", "__pycache__", "venv"))
_OFFICE = "office"
_DRIVE = "drive"


class Seen(msgspec.Struct, frozen=True):
    """A file in a folder; `mtime` is in nanoseconds."""

    path: str
    size: int
    mtime: int


class Folder(msgspec.Struct, frozen=True):
    """A folder: its files and subfolders. Not `complete` if it is too large."""

    path: str
    files: list[Seen]
    folders: list[str]
    complete: bool = True


def walk(root: Root, start: str, *, below: bool = True) -> Iterator[Folder]:
    """Yield a folder and, with `below`, all folders below it; unreadable ones are skipped."""
    waiting = [start]
    while waiting:
        folder = look_through(root, waiting.pop())
        if folder is not None:
            yield folder
            waiting += reversed(folder.folders) if below else ()


def look_through(root: Root, path: str) -> Folder | None:
    """List a folder; `None` if it cannot be read."""
    try:
        opened = open_folder(root.fileno(), path, opener=best_opener())
    except OSError:
        return None
    files: list[Seen] = []
    folders: list[str] = []
    prefix = "" if path == HERE else f"{path}/"
    try:
        with os.scandir(opened) as names:
            for entry in islice(names, root.limits.scan):
                _take(entry, prefix, root, files, folders)
            # One more entry than the limit tells a full folder from one that was cut off. A cut
            # folder must not make its other files look deleted.
            complete = next(names, None) is None
    finally:
        os.close(opened)
    return Folder(path, sorted(files, key=lambda one: one.path), sorted(folders), complete)


def mtime_of(root: Root, path: str) -> int | None:
    """Return the mtime of a folder, or `None`."""
    try:
        status = os.stat(path, dir_fd=root.fileno(), follow_symlinks=False)
    except OSError:
        return None
    return status.st_mtime_ns if stat.S_ISDIR(status.st_mode) else None


def look_at(root: Root, path: str) -> Seen | None:
    """Return one file, or `None`."""
    try:
        status = os.stat(path, dir_fd=root.fileno(), follow_symlinks=False)
    except OSError:
        return None
    return Seen(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _take(
    entry: os.DirEntry[str], prefix: str, root: Root, files: list[Seen], folders: list[str]
) -> None:
    path = prefix + entry.name
    if entry.name.startswith(".") or path in root.hidden or not _is_path(path):
        return
    try:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _PASSED and (prefix != f"{_OFFICE}/" or entry.name == _DRIVE):
                folders.append(path)
        elif entry.is_file(follow_symlinks=False) and prefix != f"{_OFFICE}/":
            status = entry.stat(follow_symlinks=False)
            if not is_temporary(entry.name):
                files.append(Seen(path, status.st_size, status.st_mtime_ns))
    except OSError:
        return


def _is_path(path: str) -> bool:
    try:
        return relative(path) == path
    except ToolError:
        return False

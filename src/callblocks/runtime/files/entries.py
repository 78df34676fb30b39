"""Entries of folders, sorted; links are listed as links and never followed.

notes        folder
notes/a.md   file     120
shortcut     link
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.files.names import HERE, STATE, relative
from callblocks.runtime.files.openat import Opener, open_folder
from callblocks.runtime.files.replace import is_temporary

__all__ = ("Entry", "EntryKind", "Listing", "Walk", "entry_of")

# "other" is a pipe, a socket or a device.
EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]
Check: TypeAlias = Callable[[os.stat_result], None]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the workspace, by its real path; `size` is the bytes of a file."""

    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False


class Listing(msgspec.Struct, frozen=True):
    """The entries of a folder; not `complete` if there were too many or some could not be read."""

    entries: tuple[Entry, ...]
    complete: bool


class Walk:
    """A walk over everything below a folder, sorted, each folder before its entries.

    Entries whose names a call could not write as a path are left out. `complete` is false from then
    on, and also after a folder that has too many names or cannot be read.
    """

    def __init__(self, root: int, opener: Opener, *, depth: int | None, scan: int) -> None:
        self.complete = True
        self._root = root
        self._opener = opener
        self._depth = depth
        self._scan = scan

    def below(self, folder: str, check: Check | None = None) -> Iterator[Entry]:
        """Yield the entries below `folder`; `check` raises if the folder is not the
        expected one.
        """
        # An explicit stack instead of recursion: an attacker can nest folders deeper than Python's
        # recursion limit. Reversed, so that `pop` gives the entries in order.
        waiting = [(entry, 1) for entry in reversed(self._read(folder, check))]
        while waiting:
            entry, level = waiting.pop()
            yield entry
            if entry.kind == "folder" and level != self._depth:
                inner = self._read_if_possible(entry.path)
                waiting.extend((below, level + 1) for below in reversed(inner))

    def _read_if_possible(self, folder: str) -> list[Entry]:
        try:
            return self._read(folder)
        except OSError:
            self.complete = False
            return []

    def _read(self, folder: str, check: Check | None = None) -> list[Entry]:
        opened = open_folder(self._root, folder, opener=self._opener)
        try:
            if check is not None:
                # The check is made on the opened descriptor, not on the name, so a swapped folder
                # is noticed.
                check(os.fstat(opened))
            with os.scandir(opened) as names:
                found = [(entry.name, _status(entry)) for entry in self._cap(names)]
        finally:
            os.close(opened)
        prefix = "" if folder == HERE else f"{folder}/"
        return [
            entry_of(prefix + name, status)
            for name, status in sorted(found)
            if status and not _is_ours(prefix, name) and self._is_path(prefix + name)
        ]

    # At most `scan` names are read, so a folder with millions of names costs bounded memory.
    def _cap(self, names: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        yield from islice(names, self._scan)
        if next(names, None) is not None:
            self.complete = False

    def _is_path(self, path: str) -> bool:
        try:
            relative(path)
        except ToolError:
            self.complete = False
            return False
        return True


def entry_of(path: str, status: os.stat_result) -> Entry:
    """Return the entry at a path that has this status."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        executable = bool(mode & stat.S_IXUSR)
        return Entry(path=path, kind="file", size=status.st_size, executable=executable)
    if stat.S_ISDIR(mode):
        return Entry(path=path, kind="folder")
    return Entry(path=path, kind="link" if stat.S_ISLNK(mode) else "other")


def _is_ours(prefix: str, name: str) -> bool:
    """Return whether callblocks keeps something under a name, or is still writing it."""
    return is_temporary(name) or (name == STATE and not prefix)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted just now
        return None

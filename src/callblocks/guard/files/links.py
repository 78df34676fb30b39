"""The real path behind a path: links inside the workspace are followed, links that leave it
refused.

    notes -> archive/2024      notes/a.md      archive/2024/a.md
    up    -> ../..             up/x            EXDEV: it leaves
    abs   -> /any/where        abs/x           EXDEV, wherever it leads

The rules are the kernel's own rules under RESOLVE_BENEATH, applied to names instead of files: `..`
may stand in a link as long as it stays below the root, at most 40 links are followed, and a missing
tail is where a file would be created. One rule is added: a path may go up and down again only so
often, which bounds the work.

Why not `os.path.realpath`: it works on absolute paths and follows links through folders that may be
renamed meanwhile. Here each name is opened or read relative to the descriptor of the folder before
it. Only links are read; nothing is opened but folders, each by one name. The result is advice, not
proof: `openat` then opens it and refuses every link on the way.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.atomic_write import is_temporary
from callblocks.guard.files.open_below import STEP, Opener, open_folder
from callblocks.guard.files.workspace_path import HERE, STATE, relative

__all__ = (
    "MAX_LINKS",
    "MAX_TURNS",
    "EntryKind",
    "FolderEntry",
    "Listing",
    "Walk",
    "entry_of",
    "real_path",
)

# The number of links that the kernel follows in one path.
MAX_LINKS = 40

# The number of times that a path may go up and down again; each time it is opened from the top.
MAX_TURNS = 100


def real_path(root: int, path: str, opener: Opener, *, follow_last: bool = True) -> str:
    """Return the real path below `root` of a normal relative path; `OSError` where there is none.

    Without `follow_last`, a link at the very end is named, not followed.
    """
    walk = _Walk(root, path, opener)
    try:
        while walk.todo:
            walk.step(follow=follow_last or len(walk.todo) > 1)
    finally:
        os.close(walk.folder)
    return "/".join(walk.names) or HERE


class _Walk:
    """The state of a resolution: names passed so far, the folder they lead to, and names still to
    go.
    """

    def __init__(self, root: int, path: str, opener: Opener) -> None:
        self.todo = path.split("/")[::-1]
        self.names: list[str] = []
        self.folder = os.dup(root)
        self._root = root
        self._opener = opener
        self._links = 0
        self._turns = 0
        self._went_up = False

    def step(self, *, follow: bool) -> None:
        name = self.todo.pop()
        if name in ("", HERE):
            return
        if name == "..":
            self._go_up()
            return
        try:
            self._turn()
            target = _read_link(name, self.folder) if follow else None
            if target is None:
                self._go_down(name)
            else:
                self._go_along(target)
        # Nothing after a missing name can be a link, so the rest is appended as it stands.
        except FileNotFoundError:
            self._go_missing(name)

    def _go_down(self, name: str) -> None:
        if self.todo:
            self._enter(os.open(name, STEP | os.O_DIRECTORY, dir_fd=self.folder))
        self.names.append(name)

    def _go_up(self) -> None:
        # EXDEV is the kernel's answer to a path that leaves the root under RESOLVE_BENEATH.
        if not self.names:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.names.pop()
        self._went_up = True

    def _turn(self) -> None:
        if not self._went_up:
            return
        self._went_up = False
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        # `..` is never opened: the folder may have been moved, and its parent could then lie
        # outside of the root. The names passed so far are opened again from the root instead.
        here = "/".join(self.names) or HERE
        self._enter(self._opener(self._root, here, STEP))

    def _go_along(self, target: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        # Refused even where it would lead back inside: the kernel does the same under
        # RESOLVE_BENEATH, and the root may be mounted elsewhere.
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.todo.extend(target.split("/")[::-1])

    def _go_missing(self, name: str) -> None:
        # `..` behind a missing name has no meaning: the kernel says ENOENT as well.
        rest = [name, *(later for later in self.todo[::-1] if later not in ("", HERE))]
        if ".." in rest:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self.names.extend(rest)
        self.todo.clear()

    def _enter(self, folder: int) -> None:
        os.close(self.folder)
        self.folder = folder


def _read_link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.EINVAL:  # it is there, and no link
            return None
        raise


# --- Entries of folders, sorted; links are listed as links and never followed ---
#
#     notes        folder
#     notes/a.md   file     120
#     shortcut     link

# "other" is a pipe, a socket or a device.
EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]
Check: TypeAlias = Callable[[os.stat_result], None]


class FolderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the workspace, by its real path; `size` is the bytes of a file."""

    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False


class Listing(msgspec.Struct, frozen=True):
    """The entries of a folder; not `complete` if there were too many or some could not be read."""

    entries: tuple[FolderEntry, ...]
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

    def below(self, folder: str, check: Check | None = None) -> Iterator[FolderEntry]:
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

    def _read_if_possible(self, folder: str) -> list[FolderEntry]:
        try:
            return self._read(folder)
        except OSError:
            self.complete = False
            return []

    def _read(self, folder: str, check: Check | None = None) -> list[FolderEntry]:
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


def entry_of(path: str, status: os.stat_result) -> FolderEntry:
    """Return the entry at a path that has this status."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        executable = bool(mode & stat.S_IXUSR)
        return FolderEntry(path=path, kind="file", size=status.st_size, executable=executable)
    if stat.S_ISDIR(mode):
        return FolderEntry(path=path, kind="folder")
    return FolderEntry(path=path, kind="link" if stat.S_ISLNK(mode) else "other")


def _is_ours(prefix: str, name: str) -> bool:
    """Return whether callblocks keeps something under a name, or is still writing it."""
    return is_temporary(name) or (name == STATE and not prefix)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted just now
        return None

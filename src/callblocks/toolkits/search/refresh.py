"""The automatic refresh of the index, within a time budget, before each search.

Text, Markdown and CSV files up to 256 KiB are read; all others are recorded and wait for
`file_ingest`.

Two scans find changes. A folder whose mtime is unchanged has the same names in it, so only changed
folders are listed. Files that were written in place do not change their folder's mtime; they are
found by their own size and mtime, at most a thousand files per search in path order, so a larger
workspace is covered in several searches.

Invariant: a folder is recorded with its mtime only if all its files were processed; otherwise it
gets `UNSETTLED` and is listed again next time.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from itertools import islice

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import HERE, best_opener, open_folder, relative, unsafe
from callblocks.guard.files.replace_file import is_temporary
from callblocks.guard.files.root import Root
from callblocks.toolkits.search.chunks import APART, kind_of
from callblocks.toolkits.search.index import File, Index
from callblocks.toolkits.search.text_readers import MAX_BYTES, Content, read_content
from callblocks.tools.tool import Context

__all__ = (
    "SMALL",
    "UNSETTLED",
    "Folder",
    "Refresher",
    "Seen",
    "file_of",
    "is_same",
    "load",
    "look_at",
    "look_through",
    "mtime_of",
    "put",
    "settled",
    "walk",
)

# --- Scanning of the folders of a workspace; links are never followed ---
#
# Skipped: dot names, package folders, files of callblocks itself, and the office except its drive,
# because the office has tools of its own.
#
# All access is relative to the root's descriptor with O_NOFOLLOW, so a folder that is swapped for a
# link during the scan is not entered.

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


# --- Change detection for one file of the workspace: by size and mtime, then by digest ---

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


# --- The automatic refresh of the index, within a time budget, before each search ---

# Size limit in bytes for files that are read without a request.
SMALL = 256 * 1024

# Files in unchanged folders that are checked per search.
_LOOKED_AT = 1_000
_READ = 2_000
_SECONDS = 2.0
_WAIT = 0.25
_PATIENCE = 5.0


class _Changes(msgspec.Struct):
    """The differences between the workspace and the index."""

    seen: dict[str, Seen] = {}
    gone: set[str] = set()
    folders: dict[str, int] = {}
    lost: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.seen or self.gone or self.folders or self.lost)


class Refresher:
    """The refresh of one workspace's index; it remembers the position of the file scan."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._last = ""

    def refresh(self, index: Index) -> int:
        """Read new files and drop missing ones; return how many files are left for the next time.

        While another program writes the index, nothing is changed.
        """
        changes = _Changes()
        self._look_at_folders(index, changes)
        self._look_at_files(index, changes)
        if not changes:
            return 0
        # A short wait for the lock, because a search should not stall; the usual patience is
        # restored afterwards.
        index.wait_at_most(_WAIT)
        try:
            with index.changing():
                return self._apply(index, changes)
        # The index is locked by another process, which is refreshing it as well. A search with a
        # slightly old index is better than one that waits.
        except sqlite3.OperationalError:
            return len(changes.seen)
        finally:
            index.wait_at_most(_PATIENCE)

    def _look_at_folders(self, index: Index, changes: _Changes) -> None:
        known = index.folders()
        inner: dict[str, list[str]] = {}
        for path in known.keys() - {HERE}:
            inner.setdefault(path.rpartition("/")[0] or HERE, []).append(path)
        waiting, met = [HERE], set[str]()
        while waiting and len(met) < self._root.limits.files:
            path = waiting.pop()
            mtime = mtime_of(self._root, path)
            if mtime is None:
                continue
            met.add(path)
            if known.get(path) == mtime:
                waiting += inner.get(path, ())
            elif folder := look_through(self._root, path):
                changes.folders[path] = mtime
                _compare(folder, index.files_in(path), changes)
                waiting += folder.folders
        # Only a complete scan can tell that a folder is lost.
        if not waiting:
            changes.lost += known.keys() - met

    def _look_at_files(self, index: Index, changes: _Changes) -> None:
        """Check the next files in path order, wrapping around after the last."""
        files = index.some(self._last, _LOOKED_AT)
        self._last = files[-1][0] if len(files) == _LOOKED_AT else ""
        for path, size, mtime in files:
            seen = look_at(self._root, path)
            if seen is None:
                changes.gone.add(path)
            elif (seen.size, seen.mtime) != (size, mtime):
                changes.seen[path] = seen

    def _apply(self, index: Index, changes: _Changes) -> int:
        for path in changes.lost:
            index.drop_folder(path)
        for path in changes.gone:
            index.drop(path)
        latest, left = time.monotonic() + _SECONDS, set[str]()
        for number, seen in enumerate(changes.seen.values()):
            if number < _READ and time.monotonic() < latest:
                self._take(index, seen)
            else:
                left.add(seen.path)
        undone = {path.rpartition("/")[0] or HERE for path in left}
        for path, mtime in changes.folders.items():
            # Record an unfinished folder as well, so that the next scan meets it.
            index.set_folder(path, UNSETTLED if path in undone else settled(mtime))
        return len(left)

    def _take(self, index: Index, seen: Seen) -> None:
        known = index.file(seen.path)
        try:
            if kind_of(seen.path) in APART or seen.size > SMALL:
                self._note(index, seen, known)
            else:
                self._read(index, seen, known)
        except ToolError:
            index.put(msgspec.structs.replace(file_of(seen), state="skipped"), ())

    def _read(self, index: Index, seen: Seen, known: File | None) -> None:
        content, digest = load(self._root, seen.path, SMALL)
        if known is not None and known.digest == digest:
            index.note(_touched(known, seen))
            return
        read = read_content(kind_of(seen.path), content, Context())
        given, tags = (known.given, known.tags) if known else ("", ())
        put(index, seen, digest, read, given=given, tags=tags)

    def _note(self, index: Index, seen: Seen, known: File | None) -> None:
        """Record a file that only `file_ingest` reads; its old passages stay until then."""
        if known is None or not known.digest:
            index.put(file_of(seen), ())
            return
        same = load(self._root, seen.path)[1] == known.digest
        # A file that could not be read is not suggested again until its content changes.
        failed = known.state == "skipped"
        state = ("skipped" if failed else "read") if same else "unread" if failed else "stale"
        index.note(msgspec.structs.replace(_touched(known, seen), state=state))


def _compare(folder: Folder, known: dict[str, File], changes: _Changes) -> None:
    for seen in folder.files:
        if not is_same(known.pop(seen.path, None), seen):
            changes.seen[seen.path] = seen
    if folder.complete:
        # Only a complete listing can tell which files are gone. That includes files which were
        # ingested by name from places that scans skip.
        changes.gone.update(known)


def _touched(known: File, seen: Seen) -> File:
    return msgspec.structs.replace(known, size=seen.size, mtime=settled(seen.mtime))

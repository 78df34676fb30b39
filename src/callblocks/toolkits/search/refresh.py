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
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import (
    HERE,
    best_opener,
    open_folder,
    relative,
    unsafe,
    wrong_type,
)
from callblocks.guard.files.replace_file import is_temporary
from callblocks.guard.files.root import Root, is_hidden
from callblocks.toolkits.search.chunks import APART, kind_of
from callblocks.toolkits.search.index import File, Index, name_of, use_store
from callblocks.toolkits.search.text_readers import MAX_BYTES, Content, read_content
from callblocks.tools.tool import Context, running_as

__all__ = (
    "SMALL",
    "UNSETTLED",
    "Folder",
    "IngestRequest",
    "Refresher",
    "Seen",
    "file_of",
    "ingest",
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


# --- Ingestion on request: one file, or a folder with all files in it ---
#
# Unchanged files are not read again, missing ones are dropped from the index, and one that cannot
# be
# read is skipped with a reason without stopping the others. Changes are collected and committed in
# batches, so that parsing (seconds) does not happen inside of a transaction.

_MOST = 10_000
_TOLD = 50
_OF_CONTENT = ("file_invalid", "not_text")
_AT_ONCE = 50
_INGEST_SECONDS = 0.5


class IngestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request: a path, and the title and tags that somebody chose."""

    path: str
    recursive: bool = True
    title: str = ""
    tags: tuple[str, ...] = ()


def ingest(root: Root, asked: IngestRequest, context: Context) -> dict[str, Any]:
    """Read a file or a folder into the index and return a report."""
    entry = root.stat(asked.path)
    if entry.kind == "other":
        raise wrong_type(asked.path, "it is a pipe, a socket or a device, not a file")
    if asked.title and entry.kind == "folder":
        words = f"{brief(asked.path)} is a folder; a title is for one file, give tags instead"
        raise ToolError("invalid_input", words, title=words)
    real = msgspec.structs.replace(asked, path=entry.path)

    def work(store: sqlite3.Connection) -> dict[str, Any]:
        run = _Ingest(Index(store), root, real, context)
        return run.folder() if entry.kind == "folder" else run.one()

    return use_store(root, work)


class _Ingest:
    """One run: the files that were read, skipped and dropped so far."""

    def __init__(self, index: Index, root: Root, asked: IngestRequest, context: Context) -> None:
        self._index = index
        self._root = root
        self._ready: list[Callable[[], None]] = []
        self._began = time.monotonic()
        self._asked = asked
        self._context = context
        self._read: list[str] = []
        self._skipped: list[dict[str, str]] = []
        self._passages = 0
        self._unchanged = 0
        self._dropped = 0

    def one(self) -> dict[str, Any]:
        """Read one file; raise its problem."""
        seen = look_at(self._root, self._asked.path)
        if seen is None:
            raise ToolError("path_not_found", "it was removed just now; list the folder again")
        try:
            self._take(seen)
        except ToolError as error:
            if error.code not in _OF_CONTENT:
                raise
            self._flush()
            raise ToolError(error.code, f"{brief(seen.path)}: {error.message}") from error
        return self._report()

    def folder(self) -> dict[str, Any]:
        """Read the files of a folder; report problems and continue."""
        files = self._files()
        for number, seen in enumerate(files, 1):
            if self._context.cancelled:
                break
            self._context.report(f"file {number} of {len(files)}: {seen.path}\n")
            try:
                self._take(seen)
            except ToolError as error:
                told = {"path": seen.path, "code": error.code, "reason": error.message}
                self._skipped.append(told)
        self._drop({seen.path for seen in files})
        return self._report()

    def _files(self) -> list[Seen]:
        asked = self._asked
        folders = walk(self._root, asked.path, below=asked.recursive)
        files: list[Seen] = []
        for folder in folders:
            # Hidden files are not even listed as skipped.
            files += [seen for seen in folder.files if not is_hidden(seen.path)]
            if len(files) > _MOST or not folder.complete:
                self._context.notice(
                    "files_left_out",
                    f"there are more than {_MOST:,} files; ingest the folders in it one by one",
                )
                break
        return files[:_MOST]

    def _take(self, seen: Seen) -> None:
        refusal = self._context.path_refusal(seen.path)
        if refusal is not None:
            raise ToolError("policy_denied", refusal)
        known = self._index.file(seen.path)
        # Two tests for "unchanged", the cheap one first: size and mtime without reading, then the
        # digest. A file that was only touched gets its new mtime and is not parsed again.
        was_read = known is not None and known.state == "read"
        if was_read and is_same(known, seen) and self._same_names(known):
            self._unchanged += 1
            return
        with running_as(None):
            # Reading a file into the index does not show it to the model, so it does not taint the
            # turn. The search that returns its passages does.
            content, digest = load(self._root, seen.path)
        # Title and tags come from the model, possibly under the influence of foreign text. Mark
        # them, so that showing them again taints that turn too.
        if self._asked.title or self._asked.tags:
            self._root.origins.mark(name_of(seen.path))
        if known is not None and was_read and known.digest == digest and self._same_names(known):
            self._unchanged += 1
            touched = msgspec.structs.replace(known, size=seen.size, mtime=settled(seen.mtime))
            self._later(lambda: self._index.note(touched))
            return
        try:
            self._put(seen, content, digest, known)
        except ToolError as error:
            if error.code in _OF_CONTENT:
                self._remember(seen, digest, known)
            raise

    def _remember(self, seen: Seen, digest: str, known: File | None) -> None:
        """Record that a file cannot be read, so that no notice suggests to ingest it again."""
        given, tags = (known.given, known.tags) if known else ("", ())
        failed = msgspec.structs.replace(
            file_of(seen), digest=digest, state="skipped", given=given, tags=tags
        )
        self._later(lambda: self._index.put(failed, ()))

    def _put(self, seen: Seen, content: bytes, digest: str, known: File | None) -> None:
        read = read_content(kind_of(seen.path), content, self._context)
        given = self._asked.title or (known.given if known else "")
        tags = self._asked.tags or (known.tags if known else ())
        self._later(lambda: put(self._index, seen, digest, read, given=given, tags=tags))
        self._read.append(seen.path)
        self._passages += len(read.passages)
        if not read.passages:
            self._context.notice("no_text", f"{seen.path} has no text; it may hold pictures only")

    def _later(self, change: Callable[[], None]) -> None:
        """Queue a change; batches cost little more than a single one."""
        self._ready.append(change)
        if len(self._ready) >= _AT_ONCE or time.monotonic() - self._began > _INGEST_SECONDS:
            self._flush()

    def _flush(self) -> None:
        with self._index.changing():
            for change in self._ready:
                change()
        self._ready.clear()
        self._began = time.monotonic()

    def _same_names(self, known: File | None) -> bool:
        """Tell if the requested title and tags are those of the index."""
        asked = self._asked
        return known is None or (
            (not asked.title or asked.title == known.given)
            and (not asked.tags or asked.tags == known.tags)
        )

    def _drop(self, met: set[str]) -> None:
        """Remove files from the index that have vanished from the folder."""
        for path in self._index.paths_below(self._asked.path):
            if path not in met and look_at(self._root, path) is None:
                self._later(lambda path=path: self._index.drop(path))
                self._dropped += 1

    def _report(self) -> dict[str, Any]:
        self._flush()
        # File names can carry foreign text as well.
        named = (*self._read[:_TOLD], *(one["path"] for one in self._skipped[:_TOLD]))
        self._root.origins.saw_files(named)
        told: dict[str, Any] = {"files": len(self._read), "passages": self._passages}
        counts = {"unchanged": self._unchanged, "dropped": self._dropped}
        told |= {key: count for key, count in counts.items() if count}
        told["paths"] = self._read[:_TOLD]
        if self._skipped:
            told["skipped"] = self._skipped[:_TOLD]
            more = len(self._skipped) - _TOLD
            if more > 0:
                told["more_skipped"] = more
        return told

"""Comparison of the drive's folders with the database: files added, removed, moved or changed.

Identity: a file at its known place is the same file, whatever it holds now. A file that vanished
and a new one elsewhere are the same if device, inode, size and mtime agree. Links, pipes and
devices are not listed, nor are unfinished files of other programs.

Cost: `stat` of each file takes most of the time. A quick scan reads only names and inodes, which
`scandir` provides for free; content changes in place then go unnoticed.

Order: known names first, then new names, then new files, which are matched to vanished ones at the
very end. Only then is it certain which files are gone from their places.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

import msgspec

from callblocks.runtime.files.openat import FOLDER as OPEN_FOLDER
from callblocks.runtime.files.replace import is_temporary
from callblocks.toolkits.workspace.drive_types import FOLDER
from callblocks.toolkits.workspace.local.drive_files import Known
from callblocks.toolkits.workspace.local.drive_row import ROOT, TRASH, Row
from callblocks.toolkits.workspace.local.drive_seen import is_folder, moved_row, new_row, stamped

__all__ = ("DEEPEST", "REMOVING", "Found", "is_unfinished", "scan")

# Prefix of files that are being deleted.
REMOVING = ".removing-"

# Maximum depth of folders.
DEEPEST = 128

_UNFINISHED = re.compile(r".*\.sheet-(?:journal|wal|shm)", re.DOTALL)


def is_unfinished(name: str) -> bool:
    """Tell if a file of that name is being written or deleted, and so is not listed."""
    started = is_temporary(name) or name.startswith(REMOVING)
    return started or _UNFINISHED.fullmatch(name) is not None


class Found(msgspec.Struct):
    """The differences: new or changed rows, and ids that are gone."""

    rows: list[Row]
    gone: list[str]
    faults: list[str]

    def __bool__(self) -> bool:
        return bool(self.rows or self.gone)


def scan(known: Known, drive: int | None, trash: int | None, *, quick: bool) -> Found:
    """Compare open folders with the known files; `None` is a missing folder."""
    walk = _Walk(known, quick)
    for folder, opened in ((ROOT, drive), (TRASH, trash)):
        if opened is not None:
            walk.go(folder, opened, 0)
    return walk.found()


class _Walk:
    def __init__(self, known: Known, quick: bool) -> None:
        self._known = known
        self._quick = quick
        self._seen: set[str] = set()
        self._changed: list[Row] = []
        self._unknown: list[tuple[str, str, os.stat_result]] = []
        self._faults: list[str] = []
        self._inodes: dict[tuple[int, int], Row] | None = None

    def go(self, folder: str, opened: int, depth: int) -> None:
        """Compare one folder and its subfolders."""
        rows = self._known.folders.get(folder, {})
        below: list[tuple[str, str]] = []
        others: list[os.DirEntry[str]] = []
        seen, quick = self._seen, self._quick
        with os.scandir(opened) as entries:
            for entry in entries:
                row = rows.get(entry.name)
                if row is None or row.id in seen or not _looks_same(row, entry):
                    others.append(entry)
                    continue
                if not quick:
                    row = self._refresh(row, entry)
                seen.add(row.id)
                if row.mime == FOLDER:
                    below.append((row.id, entry.name))
        # New names come first: after a swap of two names, one entry may be what the other's row
        # names.
        for entry in sorted(others, key=lambda entry: entry.name in rows):
            row = self._look(folder, entry, rows.get(entry.name), opened)
            if row is not None:
                seen.add(row.id)
                if row.mime == FOLDER:
                    below.append((row.id, entry.name))
        if depth < DEEPEST:
            for inner, name in below:
                self._enter(inner, name, opened, depth + 1)
        elif below:
            self._faults.append(f"folders more than {DEEPEST} deep are not looked into")

    def _enter(self, folder: str, name: str, above: int, depth: int) -> None:
        try:
            opened = os.open(name, OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=above)
        except OSError as error:
            self._faults.append(f"the folder {name!r} cannot be read: {error.strerror}")
            # An unreadable folder keeps its known files: a permission problem must not look like a
            # deletion, which would drop their ids.
            self._seen.update(_below(self._known, folder))
            return
        try:
            self.go(folder, opened, depth)
        finally:
            os.close(opened)

    def _look(
        self, folder: str, entry: os.DirEntry[str], row: Row | None, opened: int
    ) -> Row | None:
        """Classify an entry that is not as it was; a new file waits for the end of the scan."""
        status = _status(entry)
        if status is None or not self._is_listed(entry.name, status):
            return None
        if row is not None and row.id not in self._seen and is_folder(status) == row.is_folder:
            return self._stamp(row, status)
        if not is_folder(status):
            self._unknown.append((folder, entry.name, status))
            return None
        return self._add(self._moved_folder(status, entry.name, opened), folder, entry.name, status)

    def _add(self, moved: Row | None, folder: str, name: str, status: os.stat_result) -> Row:
        row = moved_row(moved, folder, name, status) if moved else new_row(folder, name, status)
        self._changed.append(row)
        return row

    def _refresh(self, row: Row, entry: os.DirEntry[str]) -> Row:
        status = _status(entry)
        return self._stamp(row, status) if status else row

    def _stamp(self, row: Row, status: os.stat_result) -> Row:
        new = stamped(row, status)
        if new != row:
            self._changed.append(new)
        return new

    def _is_listed(self, name: str, status: os.stat_result) -> bool:
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            return False
        if is_unfinished(name):
            return False
        if not _is_text(name):
            self._faults.append(f"the name {os.fsencode(name)!r} is not UTF-8; rename that file")
            return False
        return True

    def _at(self, status: os.stat_result) -> Row | None:
        """Return the row with this inode if its file was not found at its place."""
        if self._inodes is None:
            self._inodes = {(row.device, row.inode): row for row in self._known.rows.values()}
        row = self._inodes.get((status.st_dev, status.st_ino))
        fits = row and row.id not in self._seen and row.is_folder == is_folder(status)
        return row if fits else None

    def _moved_file(self, status: os.stat_result) -> Row | None:
        row = self._at(status)
        # File systems reuse inodes soon, so size and mtime must agree as well.
        return row if row and stamped(row, status) == row else None

    def _moved_folder(self, status: os.stat_result, name: str, above: int) -> Row | None:
        row = self._at(status)
        # The mtime of a folder changes with each entry, so it cannot identify it. One known entry
        # with its known inode is enough.
        if row is None or stamped(row, status) == row:
            return row
        known = self._known.folders.get(row.id, {})
        try:
            opened = os.open(name, OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=above)
        except OSError:
            return None
        try:
            with os.scandir(opened) as entries:
                same = any(
                    entry.name in known and known[entry.name].inode == entry.inode()
                    for entry in entries
                )
        finally:
            os.close(opened)
        return row if same else None

    def found(self) -> Found:
        """Return all differences after every folder was compared."""
        for folder, name, status in self._unknown:
            self._seen.add(self._add(self._moved_file(status), folder, name, status).id)
        gone = [one for one in self._known.rows if one not in self._seen]
        return Found(self._changed, gone, self._faults)


def _below(known: Known, folder: str) -> Iterator[str]:
    for row in known.folders.get(folder, {}).values():
        yield row.id
        if row.is_folder:
            yield from _below(known, row.id)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted just now
        return None


def _looks_same(row: Row, entry: os.DirEntry[str]) -> bool:
    is_kind = entry.is_dir if row.mime == FOLDER else entry.is_file
    return row.inode == entry.inode() and is_kind(follow_symlinks=False)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True

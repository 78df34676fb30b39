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

from callblocks.guard.files.real_path import FOLDER as OPEN_FOLDER
from callblocks.guard.files.replace_file import is_temporary
from callblocks.toolkits.office.backend import FOLDER, is_native
from callblocks.toolkits.office.local.drive.drive_row import (
    ROOT,
    SUFFIXES,
    TRASH,
    DriveRow,
    Known,
    guessed_type,
    new_id,
    shown_name,
)

__all__ = (
    "DEEPEST",
    "REMOVING",
    "DriveDifference",
    "is_folder",
    "is_unfinished",
    "moved_row",
    "new_row",
    "scan",
    "stamped",
)

# --- Rows for entries that a scan found: new, moved by hand, or changed ---


def is_folder(status: os.stat_result) -> bool:
    """Tell if a status is that of a folder."""
    return stat.S_ISDIR(status.st_mode)


def stamped(row: DriveRow, status: os.stat_result) -> DriveRow:
    """Return a row with the file system's current data."""
    size = 0 if row.is_folder else status.st_size
    mark = (status.st_dev, status.st_ino, size, status.st_mtime_ns)
    if mark == _mark(row):
        return row
    same = mark[2:] == (row.size, row.modified)
    device, inode, size, modified = mark
    return msgspec.structs.replace(
        row,
        device=device,
        inode=inode,
        size=size,
        modified=modified,
        md5=row.md5 if same else "",
    )


def _mark(row: DriveRow) -> tuple[int, int, int, int]:
    return (row.device, row.inode, row.size, row.modified)


def moved_row(row: DriveRow, folder: str, stored: str, status: os.stat_result) -> DriveRow:
    """Return the row of a file that was moved or renamed by hand."""
    new = msgspec.structs.replace(
        row,
        folder=folder,
        stored=stored,
        origin=(row.folder if row.folder != TRASH else row.origin) if folder == TRASH else "",
    )
    if stored == row.stored:
        return stamped(new, status)
    mime = row.mime
    if not is_native(mime) or not stored.endswith(SUFFIXES.get(mime, "")):
        mime = mime if row.is_folder else guessed_type(stored)
    return stamped(msgspec.structs.replace(new, name=shown_name(stored, mime), mime=mime), status)


def new_row(folder: str, stored: str, status: os.stat_result) -> DriveRow:
    """Return the row of a file that was added by hand."""
    mime = FOLDER if is_folder(status) else guessed_type(stored)
    return stamped(
        DriveRow(
            id=new_id(),
            folder=folder,
            stored=stored,
            name=shown_name(stored, mime),
            mime=mime,
            device=0,
            inode=0,
            size=0,
            modified=0,
            created=status.st_mtime_ns,
            origin=ROOT if folder == TRASH else "",
        ),
        status,
    )


# --- Comparison of the drive's folders with the database, to detect changes ---

# Prefix of files that are being deleted.
REMOVING = ".removing-"

# Maximum depth of folders.
DEEPEST = 128

_UNFINISHED = re.compile(r".*\.sheet-(?:journal|wal|shm)", re.DOTALL)


def is_unfinished(name: str) -> bool:
    """Tell if a file of that name is being written or deleted, and so is not listed."""
    started = is_temporary(name) or name.startswith(REMOVING)
    return started or _UNFINISHED.fullmatch(name) is not None


class DriveDifference(msgspec.Struct):
    """The differences: new or changed rows, and ids that are gone."""

    rows: list[DriveRow]
    gone: list[str]
    faults: list[str]

    def __bool__(self) -> bool:
        return bool(self.rows or self.gone)


def scan(known: Known, drive: int | None, trash: int | None, *, quick: bool) -> DriveDifference:
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
        self._changed: list[DriveRow] = []
        self._unknown: list[tuple[str, str, os.stat_result]] = []
        self._faults: list[str] = []
        self._inodes: dict[tuple[int, int], DriveRow] | None = None

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
        self, folder: str, entry: os.DirEntry[str], row: DriveRow | None, opened: int
    ) -> DriveRow | None:
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

    def _add(
        self, moved: DriveRow | None, folder: str, name: str, status: os.stat_result
    ) -> DriveRow:
        row = moved_row(moved, folder, name, status) if moved else new_row(folder, name, status)
        self._changed.append(row)
        return row

    def _refresh(self, row: DriveRow, entry: os.DirEntry[str]) -> DriveRow:
        status = _status(entry)
        return self._stamp(row, status) if status else row

    def _stamp(self, row: DriveRow, status: os.stat_result) -> DriveRow:
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

    def _at(self, status: os.stat_result) -> DriveRow | None:
        """Return the row with this inode if its file was not found at its place."""
        if self._inodes is None:
            self._inodes = {(row.device, row.inode): row for row in self._known.rows.values()}
        row = self._inodes.get((status.st_dev, status.st_ino))
        fits = row and row.id not in self._seen and row.is_folder == is_folder(status)
        return row if fits else None

    def _moved_file(self, status: os.stat_result) -> DriveRow | None:
        row = self._at(status)
        # File systems reuse inodes soon, so size and mtime must agree as well.
        return row if row and stamped(row, status) == row else None

    def _moved_folder(self, status: os.stat_result, name: str, above: int) -> DriveRow | None:
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

    def found(self) -> DriveDifference:
        """Return all differences after every folder was compared."""
        for folder, name, status in self._unknown:
            self._seen.add(self._add(self._moved_file(status), folder, name, status).id)
        gone = [one for one in self._known.rows if one not in self._seen]
        return DriveDifference(self._changed, gone, self._faults)


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


def _looks_same(row: DriveRow, entry: os.DirEntry[str]) -> bool:
    is_kind = entry.is_dir if row.mime == FOLDER else entry.is_file
    return row.inode == entry.inode() and is_kind(follow_symlinks=False)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True

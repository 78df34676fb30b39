"""The drive's folder: a view of all files, or one change at a time.

A view compares names with the database, and sizes and times on request. With very many files the
latter is repeated at most every two seconds, because `stat` of each file takes most of the time.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import FOLDER as FOLDER_FLAGS
from callblocks.guard.files.real_path import HERE, best_opener, look, naming, open_folder, read_file
from callblocks.guard.files.replace_file import flush_folder, replace
from callblocks.toolkits.office.backend import FOLDER, SPREADSHEET, Json, is_native
from callblocks.toolkits.office.local.drive.drive_row import (
    ROOT,
    TRASH,
    Decision,
    DriveFiles,
    DriveRow,
    Known,
    View,
    new_id,
    stored_names,
)
from callblocks.toolkits.office.local.drive.drive_scan import (
    DEEPEST,
    REMOVING,
    DriveDifference,
    scan,
    stamped,
)

__all__ = (
    "Change",
    "DriveFolder",
    "FolderSlot",
    "Tops",
    "Unfinished",
    "aside",
    "opened_place",
    "opened_tops",
    "remove_aside",
    "unfinished",
)

# --- The folders of the drive, opened without following links ---
#
# office/drive/…      the files
# office/trash/…      what was thrown away
# office/.index/…     what is not finished, and caches


# A stat result whose mode and owner a new file gets: readable by its owner only.
_PRIVATE = os.stat_result((0o100600, 0, 0, 1, os.geteuid(), os.getegid(), 0, 0, 0, 0))


class Tops(msgspec.Struct, frozen=True):
    """The open folders of files and trash; `None` for a missing one."""

    drive: int | None
    trash: int | None


class FolderSlot(msgspec.Struct, frozen=True):
    """A name in an open folder."""

    folder: int
    name: str

    def read(self, length: int) -> bytes:
        """Return the first bytes of the file."""
        return read_file(self.name, self.folder, self.name, length)

    def look(self) -> os.stat_result:
        """Return the status without following links."""
        return look(self.folder, self.name)

    def write(self, content: bytes) -> os.stat_result:
        """Replace the content of the file."""
        replace(self.folder, self.name, content, old=self.look(), executable=False, overwrite=True)
        return self.look()

    def make(self, content: bytes | None) -> os.stat_result:
        """Create a file, or a folder if `content` is `None`; `FileExistsError` if the name is
        taken.
        """
        if content is None:
            os.mkdir(self.name, 0o700, dir_fd=self.folder)
            flush_folder(self.folder)
        else:
            replace(
                self.folder, self.name, content, old=_PRIVATE, executable=False, overwrite=False
            )
        return self.look()

    def move(self, to: FolderSlot) -> os.stat_result:
        """Move to a free place."""
        # `rename` replaces an existing file silently. All writers hold the database's lock, so the
        # check cannot race with another writer of ours.
        with suppress(FileNotFoundError):
            to.look()
            raise FileExistsError
        os.rename(self.name, to.name, src_dir_fd=self.folder, dst_dir_fd=to.folder)
        flush_folder(to.folder)
        flush_folder(self.folder)
        return to.look()

    def touch(self) -> os.stat_result:
        """Set the modification time to now."""
        os.utime(self.name, dir_fd=self.folder, follow_symlinks=False)
        return self.look()


class Unfinished(msgspec.Struct, frozen=True):
    """A private temporary folder, open."""

    path: Path
    opened: int


@contextmanager
def opened_tops(office: Path, *, make: bool = False) -> Generator[Tops, None, None]:
    """Open the folders of files and trash; with `make`, create them."""
    with ExitStack() as stack:

        def opened(name: str | Path, above: int | None) -> int | None:
            found = _open(name, above, make)
            if found is not None:
                stack.callback(os.close, found)
            return found

        top = opened(office, None)
        yield Tops(None, None) if top is None else Tops(opened("drive", top), opened("trash", top))


@contextmanager
def opened_place(top: int, path: str) -> Generator[FolderSlot, None, None]:
    """Open the folder of a path below an open folder."""
    above, _, name = path.rpartition("/")
    folder = open_folder(top, above or HERE, opener=best_opener())
    try:
        yield FolderSlot(folder, name)
    finally:
        os.close(folder)


@contextmanager
def unfinished(office: Path) -> Generator[Unfinished, None, None]:
    """Create a temporary folder for a file in the making; remove it afterwards."""
    with ExitStack() as stack:

        def made(place: Path) -> int:
            opened = _open(place, None, make=True)
            if opened is None:
                raise FileNotFoundError
            stack.callback(os.close, opened)
            return opened

        made(office)
        made(office / ".index")
        path = office / ".index" / f"new-{secrets.token_hex(8)}"
        folder = Unfinished(path, made(path))
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        yield folder


def remove_aside(trash: int) -> None:
    """Delete what was set aside for deletion, also by earlier runs."""
    for name in os.listdir(trash):
        if name.startswith(REMOVING):
            with suppress(NotADirectoryError):
                shutil.rmtree(name, ignore_errors=True, dir_fd=trash)
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=trash)


def aside(trash: int) -> FolderSlot:
    """Return a place in the trash for files that are to be deleted."""
    return FolderSlot(trash, f"{REMOVING}{secrets.token_hex(8)}")


def _open(name: str | Path, above: int | None, make: bool) -> int | None:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
    try:
        return os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        return None


# --- One change of the drive under the lock: files first, then the rows to store ---
#
# The order makes crashes harmless: if the process dies between the two, the next scan finds the
# moved or new file and adopts it, as if a person had moved it.

_PLAIN = ("description", "starred")


class Change:
    """The changes of one call; `rows` and `gone` are for the database."""

    def __init__(self, view: View, tops: Tops) -> None:
        self.view = view
        self.rows: list[DriveRow] = []
        self.gone: list[str] = []
        self._tops = tops

    def create(
        self, metadata: Json, make: Callable[[FolderSlot], object], md5: str = ""
    ) -> DriveRow:
        """Add a file or folder; `make` puts it at a place, `FileExistsError` if that is taken."""
        folder = self.view.folder((metadata.get("parents") or ["root"])[0])
        name, mime = (
            metadata.get("name") or "Untitled",
            metadata.get("mimeType") or "application/octet-stream",
        )
        if mime == FOLDER:
            self._refuse_deep(folder.id, 1)
        stored = self._put(folder.id, name, mime, make)
        row = DriveRow(new_id(), folder.id, stored, name, mime, 0, 0, 0, 0, 0)
        row = self._stamped(self._told(row, metadata))
        md5 = "" if is_native(mime) else md5
        return self._keep(msgspec.structs.replace(row, created=row.modified, md5=md5))

    def update(self, row: DriveRow, changes: Json, add: str) -> DriveRow:
        """Change the metadata of a file and its folder."""
        self._require_own(row)
        if "mimeType" in changes:
            row = self._retyped(row, changes["mimeType"])
        row = self._told(row, changes)
        if changes.get("trashed"):
            row = self._move(row, TRASH, row.name)
        elif "trashed" in changes:
            row = self._restored(row)
        folder = self.view.folder(add).id if add else row.folder
        name = changes.get("name") or row.name
        if (folder, name) != (row.folder, row.name):
            self._refuse_circle(row, folder)
            row = self._move(row, folder, name)
        return self._keep(row)

    def write(self, row: DriveRow, edit: Callable[[bytes], bytes], largest: int) -> DriveRow:
        """Replace the content of a file; `edit` computes it from the old one."""
        self._require_own(row)
        if row.mime in (FOLDER, SPREADSHEET):
            what = "is a folder" if row.is_folder else "is a spreadsheet; write its cells instead"
            why = f"{brief(row.name)} {what}"
            raise ToolError("invalid_input", why, content=why)
        with self._place(row) as place:
            old = place.read(largest + 1)
            new = edit(old)
            status = place.look() if new == old else place.write(new)
        row = stamped(row, status)
        return self._keep(msgspec.structs.replace(row, md5=_md5(row, new)))

    def touch(self, row: DriveRow) -> DriveRow:
        """Set the modification time to now."""
        with self._place(row) as place:
            return self._keep(stamped(row, place.touch()))

    def delete(self, row: DriveRow) -> DriveRow:
        """Move a file with all that is in it to a name from which it is deleted later."""
        self._require_own(row)
        with self._place(row) as place:
            place.move(aside(self._top(TRASH)))
        self.gone += [row.id, *(inner.id for inner in self.view.below(row))]
        return row

    def _keep(self, row: DriveRow) -> DriveRow:
        self.rows.append(row)
        return row

    def _told(self, row: DriveRow, metadata: Json) -> DriveRow:
        plain = {name: metadata[name] for name in _PLAIN if name in metadata}
        return msgspec.structs.replace(row, **plain)

    def _require_own(self, row: DriveRow) -> None:
        if row.id == ROOT:
            raise ToolError("forbidden", "the topmost folder cannot be changed or deleted")

    def _retyped(self, row: DriveRow, mime: str) -> DriveRow:
        if mime == row.mime or not mime:
            return row
        if is_native(mime) or is_native(row.mime):
            why = f"{brief(row.name)} is {row.mime} and cannot become {brief(mime)}"
            raise ToolError("invalid_input", f"{why}; create a new file", mimeType=why)
        return msgspec.structs.replace(row, mime=mime)

    def _restored(self, row: DriveRow) -> DriveRow:
        if row.folder != TRASH:
            if self.view.is_trashed(row):
                above = self.view.row(row.folder)
                why = f"the folder {brief(above.name)} is in the trash; restore that one"
                raise ToolError("invalid_input", why, trashed=why)
            return row
        above = self.view.known.rows.get(row.origin)
        # The former folder may be gone, trashed, or replaced by a file. The topmost folder always
        # exists.
        lost = above is None or not above.is_folder or self.view.is_trashed(above)
        return self._move(row, ROOT if lost else row.origin, row.name)

    def _refuse_circle(self, row: DriveRow, folder: str) -> None:
        while folder not in (ROOT, TRASH):
            if folder == row.id:
                why = f"the folder {brief(row.name)} cannot be moved into itself"
                raise ToolError("invalid_input", why, folderId=why)
            folder = self.view.row(folder).folder

    def _refuse_deep(self, folder: str, height: int) -> None:
        """Refuse folders that are too deep for scans, which would never show them."""
        above = self.view.place(self.view.row(folder))[1]
        if len(above.split("/")) + height > DEEPEST:
            why = f"folders are at most {DEEPEST} deep; choose a folder nearer to the top"
            raise ToolError("invalid_input", why, folderId=why)

    def _height(self, row: DriveRow) -> int:
        inner = self.view.known.folders.get(row.id, {}).values()
        return 1 + max((self._height(one) for one in inner if one.is_folder), default=0)

    def _move(self, row: DriveRow, folder: str, name: str) -> DriveRow:
        # An item that is trashed twice keeps its first origin: the second move is within the trash.
        origin = "" if folder != TRASH else row.origin or row.folder
        if row.folder == folder and (folder == TRASH or self._lies_so(row, name)):
            return msgspec.structs.replace(row, name=name)
        if row.is_folder and folder != TRASH:
            self._refuse_deep(folder, self._height(row))
        with self._place(row) as place:
            _refuse_in_use(row, place)
            stored = self._put(folder, name, row.mime, place.move)
        moved = msgspec.structs.replace(row, folder=folder, stored=stored, name=name, origin=origin)
        return self._stamped(moved)

    def _lies_so(self, row: DriveRow, name: str) -> bool:
        """Tell if the stored name is already the one that a new name would get."""
        path = self.view.place(self.view.row(row.folder))[1]
        return next(stored_names(name, row.mime, path)) == row.stored

    def _put(self, folder: str, name: str, mime: str, put: Callable[[FolderSlot], object]) -> str:
        """Try names in a folder until `put` succeeds; return the stored name."""
        top, path = (TRASH, "") if folder == TRASH else self.view.place(self.view.row(folder))
        taken = self.view.known.folders.get(folder, {})
        with opened_place(self._top(top), f"{path}/x".lstrip("/")) as any_name:
            for stored in stored_names(name, mime, path):
                if stored not in taken:
                    try:
                        put(FolderSlot(any_name.folder, stored))
                    except FileExistsError:
                        continue
                    return stored
        raise AssertionError("names never end")

    def _stamped(self, row: DriveRow) -> DriveRow:
        with self._place(row) as place:
            return stamped(row, place.look())

    def _place(self, row: DriveRow) -> AbstractContextManager[FolderSlot]:
        top, path = self.view.place(row)
        return opened_place(self._top(top), path)

    def _top(self, folder: str) -> int:
        top = self._tops.trash if folder == TRASH else self._tops.drive
        if top is None:
            raise FileNotFoundError
        return top


def _md5(row: DriveRow, content: bytes) -> str:
    return "" if is_native(row.mime) else hashlib.md5(content, usedforsecurity=False).hexdigest()


def _refuse_in_use(row: DriveRow, place: FolderSlot) -> None:
    """Refuse to move a spreadsheet that is being written: its journal must stay beside it."""
    if row.mime != SPREADSHEET:
        return
    try:
        FolderSlot(place.folder, f"{place.name}-journal").look()
    except FileNotFoundError:
        return
    raise ToolError("busy", f"the spreadsheet {brief(row.name)} is being written; try again")


# --- The drive's folder: a view of all files, or one change at a time ---

_MANY = 2_000
_RECENT = 2.0
_UNWRITABLE = ("access_denied", "disk_full", "file_error")


class DriveFolder:
    """The files of one office; `faults` collects damage until it is reported."""

    def __init__(self, office: Path) -> None:
        self.office = office
        self.faults: list[str] = []
        self._files = DriveFiles(office / "drive.sqlite", self.faults)
        self._compared = -_RECENT
        nothing = Known({}, {})
        self._unwritten = (nothing, nothing)

    def view(self, *, content: bool = False) -> View:
        """Return all files; with `content`, their sizes and times are current too."""
        with naming("drive"), opened_tops(self.office) as tops:
            known = self._remembered(self._files.known())
            quick = not content or self._is_compared(known)
            found = scan(known, tops.drive, tops.trash, quick=quick)
            self._tell(found)
            if found:
                known = self._kept(known, found, tops, quick)
            if not quick:
                self._compared = time.monotonic()
        return View(known, self.office)

    def change(self, make: Callable[[Change], DriveRow]) -> Json:
        """Run one change under the lock; return the file afterwards."""

        def decide(known: Known) -> Decision[Json]:
            # Scan again under the lock: the view of the caller may be older than another process's
            # change.
            known, rows, gone = _settle(known, tops)
            change = Change(View(known, self.office), tops)
            row = make(change)
            after = View(known.changed(change.rows, change.gone), self.office)
            return after.shown(row), (*rows, *change.rows), (*gone, *change.gone)

        with naming("drive"), opened_tops(self.office, make=True) as tops:
            return self._files.change(decide)

    def adopt(self, metadata: Json, suffix: str, write: Callable[[Path], None]) -> Json:
        """Create a file that `write` first writes at a temporary path."""
        with naming("drive"), unfinished(self.office) as folder:
            new = FolderSlot(folder.opened, f"new{suffix}")
            write(folder.path / new.name)
            return self.change(lambda change: change.create(metadata, new.move))

    def keep(self, rows: list[DriveRow]) -> None:
        """Store what was learned about files (checksums) if they are still at the same place."""

        def decide(known: Known) -> Decision[None]:
            same = [row for row in rows if _is_same(row, known.rows.get(row.id))]
            return None, same, ()

        # It is only a cache; it is computed again another time.
        with suppress(ToolError):
            self._files.change(decide)

    def read(self, view: View, row: DriveRow, length: int) -> bytes:
        """Return the first bytes of a file."""
        top, path = view.place(row)
        with naming(row.name), opened_tops(self.office) as tops:
            opened = tops.trash if top == TRASH else tops.drive
            if opened is None:
                raise FileNotFoundError
            with opened_place(opened, path) as place:
                return place.read(length)

    def fresh(self, view: View, row: DriveRow) -> DriveRow:
        """Return a row with the current size and time of its file."""
        try:
            return stamped(row, view.path(row).lstat())
        except OSError:
            return row

    def sweep(self) -> None:
        """Remove permanently deleted files from the disk."""
        with naming(TRASH), opened_tops(self.office) as tops:
            if tops.trash is not None:
                remove_aside(tops.trash)

    def _kept(self, known: Known, found: DriveDifference, tops: Tops, quick: bool) -> Known:
        """Store scan results in the database, or in memory if it cannot be written."""
        try:
            return self._files.change(lambda known: _settle(known, tops, quick=quick))
        except ToolError as error:
            if error.code not in _UNWRITABLE:
                raise
        # A read-only office must still give a file the same id in each call, so the rows are
        # remembered as long as the stored ones are unchanged.
        seen = known.changed(found.rows, found.gone)
        self._unwritten = (self._files.known(), seen)
        return seen

    def _remembered(self, known: Known) -> Known:
        before, seen = self._unwritten
        return seen if before is known or not (before.rows or known.rows) else known

    def _is_compared(self, known: Known) -> bool:
        return len(known.rows) > _MANY and time.monotonic() - self._compared < _RECENT

    def _tell(self, found: DriveDifference) -> None:
        self.faults.extend(one for one in found.faults if one not in self.faults)


def _settle(known: Known, tops: Tops, *, quick: bool = True) -> Decision[Known]:
    """Scan, and return the known files with the database changes."""
    found = scan(known, tops.drive, tops.trash, quick=quick)
    if not found:
        return known, (), ()
    return known.changed(found.rows, found.gone), found.rows, found.gone


def _is_same(row: DriveRow, known: DriveRow | None) -> bool:
    return known is not None and (row.folder, row.stored) == (known.folder, known.stored)

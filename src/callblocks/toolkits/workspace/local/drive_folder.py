"""The drive's folder: a view of all files, or one change at a time.

A view compares names with the database, and sizes and times on request. With very many files the
latter is repeated at most every two seconds, because `stat` of each file takes most of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from callblocks.model.errors import ToolError
from callblocks.runtime.files.faults import naming
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.local.drive_change import Change
from callblocks.toolkits.workspace.local.drive_files import Decision, DriveFiles, Known
from callblocks.toolkits.workspace.local.drive_places import (
    Place,
    Tops,
    opened_place,
    opened_tops,
    remove_aside,
    unfinished,
)
from callblocks.toolkits.workspace.local.drive_row import TRASH, Row
from callblocks.toolkits.workspace.local.drive_scan import Found, scan
from callblocks.toolkits.workspace.local.drive_seen import stamped
from callblocks.toolkits.workspace.local.drive_view import View

__all__ = ("DriveFolder",)

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

    def change(self, make: Callable[[Change], Row]) -> Json:
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
            new = Place(folder.opened, f"new{suffix}")
            write(folder.path / new.name)
            return self.change(lambda change: change.create(metadata, new.move))

    def keep(self, rows: list[Row]) -> None:
        """Store what was learned about files (checksums) if they are still at the same place."""

        def decide(known: Known) -> Decision[None]:
            same = [row for row in rows if _is_same(row, known.rows.get(row.id))]
            return None, same, ()

        # It is only a cache; it is computed again another time.
        with suppress(ToolError):
            self._files.change(decide)

    def read(self, view: View, row: Row, length: int) -> bytes:
        """Return the first bytes of a file."""
        top, path = view.place(row)
        with naming(row.name), opened_tops(self.office) as tops:
            opened = tops.trash if top == TRASH else tops.drive
            if opened is None:
                raise FileNotFoundError
            with opened_place(opened, path) as place:
                return place.read(length)

    def fresh(self, view: View, row: Row) -> Row:
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

    def _kept(self, known: Known, found: Found, tops: Tops, quick: bool) -> Known:
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

    def _tell(self, found: Found) -> None:
        self.faults.extend(one for one in found.faults if one not in self.faults)


def _settle(known: Known, tops: Tops, *, quick: bool = True) -> Decision[Known]:
    """Scan, and return the known files with the database changes."""
    found = scan(known, tops.drive, tops.trash, quick=quick)
    if not found:
        return known, (), ()
    return known.changed(found.rows, found.gone), found.rows, found.gone


def _is_same(row: Row, known: Row | None) -> bool:
    return known is not None and (row.folder, row.stored) == (known.folder, known.stored)

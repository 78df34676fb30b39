"""The drive's folder as it is now: looked at as a whole, or changed by one caller at a time.

Looking compares names with the database. What each file holds is compared too where a caller asks
for it; with very many files not again within two seconds, for that takes most of the time.
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
    """The files of one office; `faults` says what was damaged, until somebody tells it."""

    def __init__(self, office: Path) -> None:
        self.office = office
        self.faults: list[str] = []
        self._files = DriveFiles(office / "drive.sqlite", self.faults)
        self._compared = -_RECENT
        nothing = Known({}, {})
        self._unwritten = (nothing, nothing)

    def view(self, *, content: bool = False) -> View:
        """All files as they are; with `content`, their sizes and times too."""
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
        """Do one thing while nobody else changes the drive; the file as it is then."""

        def decide(known: Known) -> Decision[Json]:
            known, rows, gone = _settle(known, tops)
            change = Change(View(known, self.office), tops)
            row = make(change)
            after = View(known.changed(change.rows, change.gone), self.office)
            return after.shown(row), (*rows, *change.rows), (*gone, *change.gone)

        with naming("drive"), opened_tops(self.office, make=True) as tops:
            return self._files.change(decide)

    def adopt(self, metadata: Json, suffix: str, write: Callable[[Path], None]) -> Json:
        """Make a file that `write` writes at a place of its own first."""
        with naming("drive"), unfinished(self.office) as folder:
            new = Place(folder.opened, f"new{suffix}")
            write(folder.path / new.name)
            return self.change(lambda change: change.create(metadata, new.move))

    def keep(self, rows: list[Row]) -> None:
        """Keep what was found out about files, if they are still as they were."""

        def decide(known: Known) -> Decision[None]:
            same = [row for row in rows if _is_same(row, known.rows.get(row.id))]
            return None, same, ()

        # It is found out again another time.
        with suppress(ToolError):
            self._files.change(decide)

    def read(self, view: View, row: Row, length: int) -> bytes:
        """The first bytes of a file."""
        top, path = view.place(row)
        with naming(row.name), opened_tops(self.office) as tops:
            opened = tops.trash if top == TRASH else tops.drive
            if opened is None:
                raise FileNotFoundError
            with opened_place(opened, path) as place:
                return place.read(length)

    def fresh(self, view: View, row: Row) -> Row:
        """A row with the size and time that its file has now."""
        try:
            return stamped(row, view.path(row).lstat())
        except OSError:
            return row

    def sweep(self) -> None:
        """Remove from the disk what was deleted for ever."""
        with naming(TRASH), opened_tops(self.office) as tops:
            if tops.trash is not None:
                remove_aside(tops.trash)

    def _kept(self, known: Known, found: Found, tops: Tops, quick: bool) -> Known:
        """What was found, in the database; or only remembered where nothing can be written."""
        try:
            return self._files.change(lambda known: _settle(known, tops, quick=quick))
        except ToolError as error:
            if error.code not in _UNWRITABLE:
                raise
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
    """What is known once the folders were compared, and what that changes in the database."""
    found = scan(known, tops.drive, tops.trash, quick=quick)
    if not found:
        return known, (), ()
    return known.changed(found.rows, found.gone), found.rows, found.gone


def _is_same(row: Row, known: Row | None) -> bool:
    return known is not None and (row.folder, row.stored) == (known.folder, known.stored)

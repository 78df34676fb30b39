"""All files of the drive at one moment: lookup, paths and resources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.drive_types import FOLDER, SPREADSHEET
from callblocks.toolkits.workspace.local.drive_files import Known
from callblocks.toolkits.workspace.local.drive_row import ROOT, TRASH, Row, resource

__all__ = ("View",)

_DEEPEST = 256
_TOPS = {ROOT: "drive", TRASH: "trash"}


class View:
    """Rows by id, including the root folder."""

    def __init__(self, known: Known, office: Path) -> None:
        self.known = known
        self._office = office
        self._in_trash: dict[str, bool] = {ROOT: False, TRASH: True}

    def row(self, file_id: str) -> Row:
        """Return the file of an id; `root` is the topmost folder. `not_found` if there is none."""
        if file_id in ("root", ROOT):
            return Row(ROOT, "", "", "My Drive", FOLDER, 0, 0, 0, 0, 0)
        row = self.known.rows.get(file_id)
        if row is None:
            raise ToolError(
                "not_found",
                f"no file has the id {brief(file_id)}; drive_list and drive_search show ids",
            )
        return row

    def folder(self, file_id: str) -> Row:
        """Return the folder of an id, as a target."""
        row = self.row(file_id)
        if not row.is_folder:
            why = f"{brief(row.name)} is a file, not a folder; give the id of a folder"
            raise ToolError("invalid_input", why, folderId=why)
        if self.is_trashed(row):
            why = f"the folder {brief(row.name)} is in the trash; restore it first"
            raise ToolError("invalid_input", why, folderId=why)
        return row

    def place(self, row: Row) -> tuple[str, str]:
        """Return the top folder of a file, `drive` or `trash`, and its path below that."""
        names: list[str] = []
        at = row
        while at.id != ROOT and len(names) < _DEEPEST:
            names.append(at.stored)
            if at.folder == TRASH:
                return TRASH, "/".join(reversed(names))
            at = self.row(at.folder)
        return "drive", "/".join(reversed(names))

    def path(self, row: Row) -> Path:
        """Return the path of a file."""
        top, below = self.place(row)
        return self._office / top / below

    def local_path(self, row: Row) -> str:
        """Return the path of a file below the workspace."""
        return "/".join(filter(None, (self._office.name, *self.place(row))))

    def judged(self, file_id: str, *, below: bool) -> Iterator[str]:
        """Yield the paths that a file has, and had before it was trashed; none if it is missing."""
        try:
            row = self.row(file_id)
        except ToolError:
            return
        for one in (row, *(self.below(row) if below else ())):
            yield self.local_path(one)
            if self.is_trashed(one):
                yield from self._former(one)

    def _former(self, row: Row) -> Iterator[str]:
        """Yield the former path of a trashed file, if its folder is known."""
        names: list[str] = []
        at = row
        while at.id != ROOT and len(names) < _DEEPEST:
            names.append(at.stored)
            above = at.parent
            if above != ROOT and above not in self.known.rows:
                return
            at = self.row(above)
        yield "/".join((self._office.name, _TOPS[ROOT], *reversed(names)))

    def is_trashed(self, row: Row) -> bool:
        """Tell if a file, or a folder above it, is in the trash."""
        if row.id == ROOT:
            return False
        # Memoized by folder: a list asks this for every file, and most files share their folder.
        held = self._in_trash.get(row.folder)
        if held is None:
            above = self.known.rows.get(row.folder)
            held = self._in_trash[row.folder] = above is None or self.is_trashed(above)
        return held

    def below(self, row: Row) -> Iterator[Row]:
        """Yield everything in a folder at any depth."""
        for inner in self.known.folders.get(row.id, {}).values():
            yield inner
            yield from self.below(inner)

    def shown(self, row: Row) -> Json:
        """Return a file as Google's resource."""
        link = self.path(row).absolute().as_uri()
        shown = resource(row, link=link, trashed=self.is_trashed(row))
        if row.mime not in (FOLDER, SPREADSHEET):
            # `localPath` is for the file tools; a `.sheet` is binary and is read by drive_read.
            shown["localPath"] = self.local_path(row)
        if row.id == ROOT:
            # The root folder has no times of its own.
            for name in ("parents", "createdTime", "modifiedTime"):
                del shown[name]
        return shown

"""One change of the drive under the lock: files first, then the rows to store.

The order makes crashes harmless: if the process dies between the two, the next scan finds the moved
or new file and adopts it, as if a person had moved it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.drive_types import FOLDER, SPREADSHEET, is_native
from callblocks.toolkits.workspace.local.drive_names import stored_names
from callblocks.toolkits.workspace.local.drive_places import Place, Tops, aside, opened_place
from callblocks.toolkits.workspace.local.drive_row import ROOT, TRASH, Row, new_id
from callblocks.toolkits.workspace.local.drive_scan import DEEPEST
from callblocks.toolkits.workspace.local.drive_seen import stamped
from callblocks.toolkits.workspace.local.drive_view import View

__all__ = ("Change",)

_PLAIN = ("description", "starred")


class Change:
    """The changes of one call; `rows` and `gone` are for the database."""

    def __init__(self, view: View, tops: Tops) -> None:
        self.view = view
        self.rows: list[Row] = []
        self.gone: list[str] = []
        self._tops = tops

    def create(self, metadata: Json, make: Callable[[Place], object], md5: str = "") -> Row:
        """Add a file or folder; `make` puts it at a place, `FileExistsError` if that is taken."""
        folder = self.view.folder((metadata.get("parents") or ["root"])[0])
        name, mime = (
            metadata.get("name") or "Untitled",
            metadata.get("mimeType") or "application/octet-stream",
        )
        if mime == FOLDER:
            self._refuse_deep(folder.id, 1)
        stored = self._put(folder.id, name, mime, make)
        row = Row(new_id(), folder.id, stored, name, mime, 0, 0, 0, 0, 0)
        row = self._stamped(self._told(row, metadata))
        md5 = "" if is_native(mime) else md5
        return self._keep(msgspec.structs.replace(row, created=row.modified, md5=md5))

    def update(self, row: Row, changes: Json, add: str) -> Row:
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

    def write(self, row: Row, edit: Callable[[bytes], bytes], largest: int) -> Row:
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

    def touch(self, row: Row) -> Row:
        """Set the modification time to now."""
        with self._place(row) as place:
            return self._keep(stamped(row, place.touch()))

    def delete(self, row: Row) -> Row:
        """Move a file with all that is in it to a name from which it is deleted later."""
        self._require_own(row)
        with self._place(row) as place:
            place.move(aside(self._top(TRASH)))
        self.gone += [row.id, *(inner.id for inner in self.view.below(row))]
        return row

    def _keep(self, row: Row) -> Row:
        self.rows.append(row)
        return row

    def _told(self, row: Row, metadata: Json) -> Row:
        plain = {name: metadata[name] for name in _PLAIN if name in metadata}
        return msgspec.structs.replace(row, **plain)

    def _require_own(self, row: Row) -> None:
        if row.id == ROOT:
            raise ToolError("forbidden", "the topmost folder cannot be changed or deleted")

    def _retyped(self, row: Row, mime: str) -> Row:
        if mime == row.mime or not mime:
            return row
        if is_native(mime) or is_native(row.mime):
            why = f"{brief(row.name)} is {row.mime} and cannot become {brief(mime)}"
            raise ToolError("invalid_input", f"{why}; create a new file", mimeType=why)
        return msgspec.structs.replace(row, mime=mime)

    def _restored(self, row: Row) -> Row:
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

    def _refuse_circle(self, row: Row, folder: str) -> None:
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

    def _height(self, row: Row) -> int:
        inner = self.view.known.folders.get(row.id, {}).values()
        return 1 + max((self._height(one) for one in inner if one.is_folder), default=0)

    def _move(self, row: Row, folder: str, name: str) -> Row:
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

    def _lies_so(self, row: Row, name: str) -> bool:
        """Tell if the stored name is already the one that a new name would get."""
        path = self.view.place(self.view.row(row.folder))[1]
        return next(stored_names(name, row.mime, path)) == row.stored

    def _put(self, folder: str, name: str, mime: str, put: Callable[[Place], object]) -> str:
        """Try names in a folder until `put` succeeds; return the stored name."""
        top, path = (TRASH, "") if folder == TRASH else self.view.place(self.view.row(folder))
        taken = self.view.known.folders.get(folder, {})
        with opened_place(self._top(top), f"{path}/x".lstrip("/")) as any_name:
            for stored in stored_names(name, mime, path):
                if stored not in taken:
                    try:
                        put(Place(any_name.folder, stored))
                    except FileExistsError:
                        continue
                    return stored
        raise AssertionError("names never end")

    def _stamped(self, row: Row) -> Row:
        with self._place(row) as place:
            return stamped(row, place.look())

    def _place(self, row: Row) -> AbstractContextManager[Place]:
        top, path = self.view.place(row)
        return opened_place(self._top(top), path)

    def _top(self, folder: str) -> int:
        top = self._tops.trash if folder == TRASH else self._tops.drive
        if top is None:
            raise FileNotFoundError
        return top


def _md5(row: Row, content: bytes) -> str:
    return "" if is_native(row.mime) else hashlib.md5(content, usedforsecurity=False).hexdigest()


def _refuse_in_use(row: Row, place: Place) -> None:
    """Refuse to move a spreadsheet that is being written: its journal must stay beside it."""
    if row.mime != SPREADSHEET:
        return
    try:
        Place(place.folder, f"{place.name}-journal").look()
    except FileNotFoundError:
        return
    raise ToolError("busy", f"the spreadsheet {brief(row.name)} is being written; try again")

"""The local drive: plain files and folders, with ids in a database beside them.

    office/drive/…         what was put there, by a tool or by hand
    office/trash/…         what was thrown away; it can be brought back
    office/drive.sqlite    ids, given names and types

Every call first compares the folders with the database (drive_scan.py), so files that were added,
moved or removed by hand are known. A writer holds the database's lock from its first look to its
last change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.drive_order import read_order
from callblocks.toolkits.workspace.drive_query import Query, terms
from callblocks.toolkits.workspace.drive_query_text import read_query
from callblocks.toolkits.workspace.drive_types import (
    DOCUMENT,
    FOLDER,
    LARGEST,
    SPREADSHEET,
    is_native,
)
from callblocks.toolkits.workspace.local.drive_change import Change
from callblocks.toolkits.workspace.local.drive_folder import DriveFolder
from callblocks.toolkits.workspace.local.drive_match import in_order, matcher
from callblocks.toolkits.workspace.local.drive_names import stored_names
from callblocks.toolkits.workspace.local.drive_pages import read_token, write_token
from callblocks.toolkits.workspace.local.drive_row import Row
from callblocks.toolkits.workspace.local.drive_texts import DriveTexts
from callblocks.toolkits.workspace.local.drive_view import View

__all__ = ("LocalDrive",)

_DOCUMENT_EXPORTS = ("text/markdown", "text/plain")
# Fields and sort keys that need sizes and times, which a scan of names does not read.
_CONTENT_FIELDS = ("modifiedTime", "fullText")
_CONTENT_KEYS = ("modifiedTime", "modifiedByMeTime", "recency", "quotaBytesUsed")


class LocalDrive:
    """The files of an office; `folder` is the office, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = DriveFolder(folder)
        self._texts = DriveTexts(folder / ".index" / "drive-texts.sqlite", self._folder.faults)

    def files(self, *, query: str, order: str, limit: int, page: str) -> Page:
        """Return files that match a query in Drive's syntax; "" matches all, including the
        trash.
        """
        tree = read_query(query) if query.strip() else None
        keys = read_order(order)
        start = read_token(page, query, order)
        view = self._folder.view(content=_asks_for_content(tree, keys))
        found = self._found(tree, keys, view)
        rows = found[start : start + limit]
        shown = self._shown(view, rows)
        next = "" if start + limit >= len(found) else write_token(start + limit, query, order)
        faults = tuple(self._folder.faults)
        del self._folder.faults[: len(faults)]
        paths = tuple(tuple(view.judged(row.id, below=False)) for row in rows)
        return Page(shown, next, faults, paths)

    def file(self, file_id: str) -> Json:
        """Return the metadata of one file; `root` is the topmost folder."""
        view = self._folder.view()
        return self._shown(view, [view.row(file_id)])[0]

    def content(self, file_id: str, mime: str) -> tuple[bytes, str]:
        """Return a file's content and type; documents and sheets are exported as `mime`."""
        view = self._folder.view()
        row = view.row(file_id)
        if row.is_folder:
            why = f"{brief(row.name)} is a folder; list it instead"
            raise ToolError("invalid_input", why, fileId=why)
        if row.mime == SPREADSHEET:
            from callblocks.toolkits.workspace.local.sheet_export import export_sheet

            return export_sheet(view.path(row), mime), mime
        content = self._folder.read(view, row, LARGEST + 1)
        _refuse_large(content)
        return content, _document_type(mime) if row.mime == DOCUMENT else row.mime

    def create(self, metadata: Json, content: bytes | None) -> Json:
        """Create a file, or a folder if the type says so."""
        _refuse_large(content)
        kept = None if metadata.get("mimeType") == FOLDER else content or b""
        return self._folder.change(
            lambda change: change.create(metadata, lambda place: place.make(kept), _md5(kept))
        )

    def update(
        self, file_id: str, changes: Json, content: bytes | None, *, add: str = "", remove: str = ""
    ) -> Json:
        """Change a file's metadata (`trashed` too), its content, and its folder."""
        _refuse_large(content)

        def make(change: Change) -> Row:
            row = change.update(change.view.row(file_id), changes, add)
            return (
                row if content is None else change.write(row, partial(_instead, content), LARGEST)
            )

        return self._folder.change(make)

    def delete(self, file_id: str) -> None:
        """Delete a file permanently, bypassing the trash."""
        self._folder.change(lambda change: change.delete(change.view.row(file_id)))
        self._folder.sweep()

    def edit(self, file_id: str, edit: Callable[[bytes], bytes]) -> Json:
        """Compute a file's new content from the old one, under the lock."""

        def whole(old: bytes) -> bytes:
            _refuse_large(old)  # only its start was read
            new = edit(old)
            _refuse_large(new)
            return new

        return self._folder.change(
            lambda change: change.write(change.view.row(file_id), whole, LARGEST)
        )

    def place(self, file_id: str, mime_prefixes: Sequence[str]) -> Path:
        """Return the path of a file that has one of these types; no link is on the way to it."""
        view = self._folder.view()
        row = view.row(file_id)
        if not row.mime.startswith(tuple(mime_prefixes)):
            why = f"{brief(row.name)} is {row.mime}, not {' or '.join(mime_prefixes)}"
            raise ToolError("invalid_input", why, fileId=why)
        return view.path(row)

    def paths(self, file_ids: Iterable[str], *, below: bool = False) -> list[list[str]]:
        """Return the workspace paths of each file, for a policy to judge.

        A trashed file counts as both its path in the trash and its former path. With `below`,
        everything in a folder is included. A missing file has no path.
        """
        view = self._folder.view()
        return [list(view.judged(one, below=below)) for one in file_ids]

    def new_path(self, folder_id: str, name: str, mime: str) -> str:
        """Return the workspace path that a new file of that name would get."""
        view = self._folder.view()
        folder = view.row(folder_id)
        stored = next(stored_names(name, mime, view.place(folder)[1]))
        return f"{view.local_path(folder)}/{stored}"

    def adopt(self, name: str, suffix: str, mime: str, write: Callable[[Path], None]) -> Json:
        """Create a file in the topmost folder that `write` first writes at a temporary path."""
        return self._folder.adopt({"name": name, "mimeType": mime}, suffix, write)

    def touch(self, file_id: str) -> None:
        """Set a file's modification time to now."""
        self._folder.change(lambda change: change.touch(change.view.row(file_id)))

    def _found(self, tree: Query | None, keys: Sequence[tuple[str, bool]], view: View) -> list[Row]:
        """Return the matching files in order; full-text matches best first."""
        rows = view.known.rows.values()
        if tree is None:
            return in_order(rows, keys)
        _require_folders(tree, view)
        texts = self._find_texts(tree, view)
        sets = {value: frozenset(ids) for value, ids in texts.items()}
        return _best_first(in_order(filter(matcher(tree, view, sets), rows), keys), texts)

    def _find_texts(self, tree: Query, view: View) -> dict[str, list[str]]:
        values = {str(term.value) for term in terms(tree) if term.field == "fullText"}
        if not values or not view.known.rows:
            return {}
        return self._texts.find(values, view.known, self._read_words(view))

    def _read_words(self, view: View) -> Callable[[Row, int], bytes]:
        def read(row: Row, length: int) -> bytes:
            try:
                return self._folder.read(view, row, length)
            except ToolError:  # gone just now, or not ours to read
                return b""

        return read

    def _shown(self, view: View, rows: Iterable[Row]) -> list[Json]:
        """Return files as they are now, with checksums."""
        fresh = [self._folder.fresh(view, row) for row in rows]
        summed = [self._summed(view, row) for row in fresh]
        new = [row for row, old in zip(summed, fresh, strict=True) if row is not old]
        if new:
            self._folder.keep(new)
        return [view.shown(row) for row in summed]

    def _summed(self, view: View, row: Row) -> Row:
        if row.md5 or is_native(row.mime) or row.size > LARGEST:
            return row
        try:
            content = self._folder.read(view, row, LARGEST)
        except ToolError:
            return row
        return msgspec.structs.replace(row, md5=_md5(content))


def _instead(new: bytes, old: bytes) -> bytes:
    return new


def _asks_for_content(tree: Query | None, keys: Sequence[tuple[str, bool]]) -> bool:
    fields = () if tree is None else (term.field for term in terms(tree))
    return any(key in _CONTENT_KEYS for key, _ in keys) or any(
        field in _CONTENT_FIELDS for field in fields
    )


def _require_folders(tree: Query, view: View) -> None:
    """Raise `not_found` for a folder that does not exist, which is not the same as an empty one."""
    for term in terms(tree):
        if term.field == "parents":
            view.row(str(term.value))


def _best_first(rows: list[Row], texts: Mapping[str, Sequence[str]]) -> list[Row]:
    ranks = {one: at for ids in texts.values() for at, one in enumerate(ids)}
    return sorted(rows, key=lambda row: ranks.get(row.id, len(ranks))) if ranks else rows


def _document_type(mime: str) -> str:
    if mime not in _DOCUMENT_EXPORTS:
        why = f"a document is exported as {' or '.join(_DOCUMENT_EXPORTS)}, not {brief(mime)}"
        raise ToolError("invalid_input", why, mimeType=why)
    return mime


def _refuse_large(content: bytes | None) -> None:
    if content is not None and len(content) > LARGEST:
        raise ToolError(
            "file_too_large", f"a file of more than {LARGEST} bytes is not read or written here"
        )


def _md5(content: bytes | None) -> str:
    return "" if content is None else hashlib.md5(content, usedforsecurity=False).hexdigest()

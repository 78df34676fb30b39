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
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import (
    DOCUMENT,
    FOLDER,
    LARGEST,
    SPREADSHEET,
    Json,
    Page,
    is_native,
)
from callblocks.toolkits.office.drive_query import Query, read_order, read_query, terms
from callblocks.toolkits.office.local.drive.drive_folder import Change, DriveFolder
from callblocks.toolkits.office.local.drive.drive_match import DriveTexts, in_order, matcher
from callblocks.toolkits.office.local.drive.drive_row import DriveRow, View, stored_names
from callblocks.toolkits.office.tools.docs_tools import replaced

__all__ = (
    "LocalDocuments",
    "LocalDrive",
    "read_token",
    "write_token",
)

# --- Page tokens: an offset, and a checksum of the query that it belongs to ---

_TOKEN = re.compile(r"([0-9]{1,9})-([0-9a-f]{8})")


def write_token(start: int, *question: str) -> str:
    """Return the token of the page that starts at an offset."""
    return f"{start}-{_sign(question)}"


def read_token(token: str, *question: str) -> int:
    """Return the offset of a page; 0 without a token, `invalid_input` for another query's token."""
    if not token:
        return 0
    found = _TOKEN.fullmatch(token)
    if found is None or found[2] != _sign(question):
        why = f"{brief(token)} is no page of this list; ask again without pageToken"
        raise ToolError("invalid_input", why, pageToken=why)
    return int(found[1])


def _sign(question: tuple[str, ...]) -> str:
    return f"{zlib.crc32(repr(question).encode()):08x}"


# --- The local drive: plain files and folders, with ids in a database beside them ---

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
            from callblocks.toolkits.office.local.sheet_file import export_sheet

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

        def make(change: Change) -> DriveRow:
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

    def _found(
        self, tree: Query | None, keys: Sequence[tuple[str, bool]], view: View
    ) -> list[DriveRow]:
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

    def _read_words(self, view: View) -> Callable[[DriveRow, int], bytes]:
        def read(row: DriveRow, length: int) -> bytes:
            try:
                return self._folder.read(view, row, length)
            except ToolError:  # gone just now, or not ours to read
                return b""

        return read

    def _shown(self, view: View, rows: Iterable[DriveRow]) -> list[Json]:
        """Return files as they are now, with checksums."""
        fresh = [self._folder.fresh(view, row) for row in rows]
        summed = [self._summed(view, row) for row in fresh]
        new = [row for row, old in zip(summed, fresh, strict=True) if row is not old]
        if new:
            self._folder.keep(new)
        return [view.shown(row) for row in summed]

    def _summed(self, view: View, row: DriveRow) -> DriveRow:
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


def _best_first(rows: list[DriveRow], texts: Mapping[str, Sequence[str]]) -> list[DriveRow]:
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


# --- Documents of a local office: text files of the drive, `<Title>.md` ---
#
# A document is shown in the shape of Google Docs: one paragraph per line, with Google's indexes,
# which count UTF-16 units from 1.

_MOST_LINES = 100_000
_TEXTS = ("text/", "application/json", "application/yaml", "application/xml", DOCUMENT)


class LocalDocuments:
    """The texts of a drive."""

    def __init__(self, drive: LocalDrive) -> None:
        self._drive = drive

    def document(self, document_id: str) -> Json:
        """Return a document with its paragraphs."""
        file = self._file(document_id)
        content, _ = self._drive.content(document_id, "text/markdown")
        text = _decode(content, file["name"])
        _require_lines(text, file["name"])
        return {
            "documentId": file["id"],
            "title": file["name"],
            "revisionId": file["modifiedTime"],
            "body": {"content": list(_paragraphs(text))},
        }

    def create(self, title: str, text: str) -> Json:
        """Make a document."""
        metadata = {"name": title, "mimeType": DOCUMENT}
        file = self._drive.create(metadata, _ended(text).encode())
        return self.document(file["id"])

    def append(self, document_id: str, text: str) -> None:
        """Append text before the end of the last line, as Google does."""
        self._edit(document_id, lambda old: _ended(old.removesuffix("\n") + text))

    def replace(self, document_id: str, find: str, new: str, *, match_case: bool) -> int:
        """Replace each match; return their number."""
        count = 0

        def edit(old: str) -> str:
            nonlocal count
            body = old.removesuffix("\n")
            changed, count = replaced(body, find, new, match_case=match_case)
            return changed + old[len(body) :]

        self._edit(document_id, edit)
        return count

    def _file(self, document_id: str) -> Json:
        file = self._drive.file(document_id)
        if not file["mimeType"].startswith(_TEXTS):
            why = f"{brief(file['name'])} is {file['mimeType']}, not a document"
            raise ToolError("invalid_input", f"{why}; read it with drive_read", documentId=why)
        return file

    def _edit(self, document_id: str, edit: Callable[[str], str]) -> None:
        name = self._file(document_id)["name"]
        self._drive.edit(document_id, lambda old: edit(_decode(old, name)).encode())


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"the document {brief(name)} is damaged: it is not UTF-8 text"
        raise ToolError("workspace_damaged", message) from error


def _require_lines(text: str, name: str) -> None:
    """Refuse documents with too many lines: a paragraph takes a thousand times its memory."""
    lines = text.count("\n")
    if lines > _MOST_LINES:
        raise ToolError(
            "file_too_large",
            f"{brief(name)} has {lines} lines; a document is read up to {_MOST_LINES}; read it "
            "with drive_read",
        )


def _ended(text: str) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text


def _paragraphs(text: str) -> Iterator[Json]:
    start = 1
    for line in text.removesuffix("\n").split("\n"):
        end = start + len(f"{line}\n".encode("utf-16-le")) // 2
        run: Json = {"content": f"{line}\n", "textStyle": {}}
        element: Json = {"startIndex": start, "endIndex": end, "textRun": run}
        yield {"startIndex": start, "endIndex": end, "paragraph": {"elements": [element]}}
        start = end

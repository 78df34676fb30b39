"""Google Drive, played: files in folders, uploads and downloads, a trash, exported documents."""

from __future__ import annotations

import csv
import hashlib
import io
from datetime import UTC, datetime

from callblocks.toolkits.office.tools.cells import Cell, shown
from support.google.drive_found import found_files
from support.google.state import Answer, Asked, Json, Method, Refused, State

__all__ = ("ROOT", "drive_methods")

ROOT = "0ARootUk9PVA"
_NATIVE = "application/vnd.google-apps."
_FOLDER, _DOCUMENT, _SHEET = (_NATIVE + name for name in ("folder", "document", "spreadsheet"))
_EXPORTS = {
    _DOCUMENT: ("text/markdown", "text/plain", "application/pdf"),
    _SHEET: ("text/csv", "application/pdf"),
}


def drive_methods(state: State) -> dict[str, Method]:
    """The methods that the tools use."""
    fake = _Fake(state)
    names = ("list", "get", "create", "update", "delete", "export")
    return {f"drive.files.{name}": getattr(fake, name) for name in names}


class _Fake:
    def __init__(self, state: State) -> None:
        self.state = state
        self.contents: dict[str, bytes] = state.more.setdefault("contents", {})

    def list(self, asked: Asked) -> Json:
        query = asked.query
        shown = {one: self._shown(file) for one, file in self._files().items()}
        texts = {one: self._text(one) for one in shown}
        found = found_files(shown, texts, query.get("q", ""), query.get("orderBy", ""))
        start = _start(query.get("pageToken", ""))
        end = start + query.get("pageSize", 100)
        more = {"nextPageToken": f"~!{end}"} if end < len(found) else {}
        return {"kind": "drive#fileList", "files": found[start:end], **more}

    def get(self, asked: Asked) -> Json | Answer:
        if asked.path["fileId"] in ("root", ROOT):
            return {"kind": "drive#file", "id": ROOT, "name": "My Drive", "mimeType": _FOLDER}
        file = self._file(asked)
        if not asked.download:
            return self._shown(file)
        if file["mimeType"].startswith(_NATIVE):
            raise Refused(403, "fileNotDownloadable", "Only files with binary content")
        return Answer(media=self.contents[file["id"]], media_type=file["mimeType"])

    def create(self, asked: Asked) -> Json:
        body = asked.body
        mime = body.get("mimeType") or asked.media_type or "application/octet-stream"
        made = self.state.new_id("1")
        now = _now()
        file = {
            **{name: body[name] for name in ("description", "starred") if name in body},
            "id": made,
            "name": body.get("name", "Untitled"),
            "mimeType": mime,
            "parents": [self._folder(one) for one in body.get("parents", ["root"])],
            "createdTime": now,
            "modifiedTime": now,
            "trashed": False,
        }
        if len(file["parents"]) != 1:
            raise Refused(400, "invalid", "A file has one parent")
        self._put(file, asked)
        self.state.files[made] = file
        return self._shown(file)

    def update(self, asked: Asked) -> Json:
        file = self._file(asked)
        added, left = (
            [self._folder(one) for one in asked.query.get(name, "").split(",") if one]
            for name in ("addParents", "removeParents")
        )
        parents = [one for one in file["parents"] if one not in left] + added
        if len(parents) != 1:
            raise Refused(403, "cannotAddParent", "A file has one parent")
        if asked.media is not None:
            if file["mimeType"] in (_FOLDER, _SHEET):
                raise Refused(403, "fileNotDownloadable", "this file takes no content")
            self._put(file, asked)
        file.update(asked.body, parents=parents, modifiedTime=_now())
        if file["id"] in self.state.documents and "name" in asked.body:
            self.state.documents[file["id"]]["title"] = file["name"]
        return self._shown(file)

    def delete(self, asked: Asked) -> None:
        file = self._file(asked)
        for one in [one for one, held in self._files().items() if self._is_in(held, file["id"])]:
            for table in (self.state.files, self.state.documents, self.state.spreadsheets):
                table.pop(one, None)

    def export(self, asked: Asked) -> Answer:
        file = self._file(asked)
        mime = asked.query["mimeType"]
        if mime not in _EXPORTS.get(file["mimeType"], ()):
            raise Refused(400, "badRequest", "The requested conversion is not supported.")
        text = self._text(file["id"])
        held = b"%PDF-1.7\0" if mime == "application/pdf" else b"\xef\xbb\xbf" + text.encode()
        return Answer(media=held, media_type=mime)

    def _files(self) -> dict[str, Json]:
        """All files; documents and spreadsheets that were made elsewhere are files, too."""
        made = {_DOCUMENT: self.state.documents, _SHEET: self.state.spreadsheets}
        for mime, table in made.items():
            for one, held in table.items():
                self.state.files.setdefault(one, _native(one, held["title"], mime))
        return self.state.files

    def _file(self, asked: Asked) -> Json:
        wanted = asked.path["fileId"]
        if wanted in ("root", ROOT):
            raise Refused(403, "forbidden", "The root folder cannot be changed")
        if wanted not in self._files():
            raise Refused(404, "notFound", f"File not found: {wanted}.")
        return self.state.files[wanted]

    def _folder(self, one: str) -> str:
        if one in ("root", ROOT):
            return ROOT
        file = self._files().get(one)
        if file is None:
            raise Refused(404, "notFound", f"File not found: {one}.")
        if file["mimeType"] != _FOLDER:
            raise Refused(400, "invalid", "The specified parent is not a folder.")
        return one

    def _put(self, file: Json, asked: Asked) -> None:
        if file["mimeType"] == _DOCUMENT:
            if asked.media is not None and asked.media_type not in ("text/markdown", "text/plain"):
                raise Refused(400, "badRequest", f"no document comes of {asked.media_type}")
            text = (asked.media or b"").decode()
            self.state.documents[file["id"]] = {"title": file["name"], "text": text}
        elif file["mimeType"] != _FOLDER:
            self.contents[file["id"]] = asked.media or b""

    def _text(self, one: str) -> str:
        if one in self.state.documents:
            return self.state.documents[one]["text"]
        if one in self.state.spreadsheets:
            return _csv(self.state.spreadsheets[one]["sheets"][0].cells)
        return self.contents.get(one, b"").decode(errors="replace")

    def _shown(self, file: Json) -> Json:
        shown = {
            "kind": "drive#file",
            **file,
            "trashed": self._is_trashed(file),
            "explicitlyTrashed": file["trashed"],
            "starred": file.get("starred", False),
            "ownedByMe": True,
            "shared": False,
            "webViewLink": f"https://drive.google.com/file/d/{file['id']}/view",
        }
        if not file["mimeType"].startswith(_NATIVE):
            held = self.contents[file["id"]]
            shown["size"] = str(len(held))
            shown["md5Checksum"] = hashlib.md5(held, usedforsecurity=False).hexdigest()
        return shown

    def _is_trashed(self, file: Json) -> bool:
        above = self.state.files.get(file["parents"][0])
        return file["trashed"] or (above is not None and self._is_trashed(above))

    def _is_in(self, file: Json, folder: str) -> bool:
        above = self.state.files.get(file["parents"][0])
        return file["id"] == folder or (above is not None and self._is_in(above, folder))


def _native(one: str, title: str, mime: str) -> Json:
    now = _now()
    named = {"id": one, "name": title, "mimeType": mime, "parents": [ROOT], "trashed": False}
    return {**named, "createdTime": now, "modifiedTime": now}


def _csv(cells: dict[tuple[int, int], Cell]) -> str:
    rows = max((row for row, _ in cells), default=0)
    columns = max((column for _, column in cells), default=0)
    written = io.StringIO()
    for row in range(1, rows + 1):
        line = [cells.get((row, column)) for column in range(1, columns + 1)]
        csv.writer(written).writerow([shown(cell) if cell else "" for cell in line])
    return written.getvalue().removesuffix("\r\n")


def _start(token: str) -> int:
    if token and not token.startswith("~!"):
        raise Refused(400, "invalid", "Invalid Value: pageToken")
    return int(token[2:] or 0)


def _now() -> str:
    return f"{datetime.now(UTC).isoformat(timespec='milliseconds')[:-6]}Z"

"""Google Drive."""

from __future__ import annotations

from typing import Any

from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.drive_types import DOCUMENT
from callblocks.toolkits.workspace.google.service import Service

__all__ = ("GoogleDrive",)

_FILE = (
    "kind,id,name,mimeType,description,starred,trashed,explicitlyTrashed,parents,createdTime,"
    "modifiedTime,size,md5Checksum,webViewLink,originalFilename,fileExtension,ownedByMe,shared,"
    "owners(displayName,emailAddress),shortcutDetails"
)
_PAGE = f"nextPageToken,files({_FILE})"
# Include shared drives.
_ALL: dict[str, Any] = {"supportsAllDrives": True}


class GoogleDrive:
    """The files of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def files(self, *, query: str, order: str, limit: int, page: str) -> Page:
        """Return files that match a query; "" matches all, including the trash."""
        asked = {"q": query, "orderBy": order, "pageToken": page}
        given = {name: value for name, value in asked.items() if value}
        answer = self._service.call(
            lambda api: api.files().list(
                pageSize=limit, fields=_PAGE, includeItemsFromAllDrives=True, **_ALL, **given
            )
        )
        return Page(answer.get("files", []), answer.get("nextPageToken", ""))

    def file(self, file_id: str) -> Json:
        """Return the metadata of one file; `root` is the topmost folder."""
        return self._service.call(lambda api: api.files().get(fileId=file_id, fields=_FILE, **_ALL))

    def content(self, file_id: str, mime: str) -> tuple[bytes, str]:
        """Return a file's content and type; documents and sheets are exported as `mime`."""
        if mime:
            exported = self._service.media(
                lambda api: api.files().export_media(fileId=file_id, mimeType=mime)
            )
            return exported, mime
        held = self._service.media(lambda api: api.files().get_media(fileId=file_id, **_ALL))
        return held, self._type(file_id)

    def create(self, metadata: Json, content: bytes | None) -> Json:
        """Create a file, or a folder if the type says so."""
        media = self._media(content, metadata["mimeType"])
        return self._service.call(
            lambda api: api.files().create(body=metadata, fields=_FILE, **media, **_ALL)
        )

    def update(
        self, file_id: str, changes: Json, content: bytes | None, *, add: str = "", remove: str = ""
    ) -> Json:
        """Change a file's metadata (`trashed` too), its content, and its folders."""
        kind = "" if content is None else changes.get("mimeType") or self._type(file_id)
        media = self._media(content, kind)
        moved = {"addParents": add, "removeParents": remove} if add else {}
        return self._service.call(
            lambda api: api.files().update(
                fileId=file_id, body=changes, fields=_FILE, **media, **moved, **_ALL
            ),
            repeatable=True,
        )

    def delete(self, file_id: str) -> None:
        """Delete a file permanently, bypassing the trash."""
        self._service.call(lambda api: api.files().delete(fileId=file_id, **_ALL))

    def _type(self, file_id: str) -> str:
        known = self._service.call(
            lambda api: api.files().get(fileId=file_id, fields="mimeType", **_ALL)
        )
        return known["mimeType"]

    def _media(self, content: bytes | None, kind: str) -> dict[str, Any]:
        if content is None:
            return {}
        # Google converts Markdown to a document on upload.
        mime = "text/markdown" if kind == DOCUMENT else kind
        return {"media_body": self._service.upload(content, mime)}

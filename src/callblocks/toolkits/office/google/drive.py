"""Google Drive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.a1 import read_range
from callblocks.toolkits.office.backend import DOCUMENT, Json, Page
from callblocks.toolkits.office.google.google_service import Service

__all__ = (
    "GoogleDocuments",
    "GoogleDrive",
    "GoogleSheets",
)

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


# --- Google Docs ---


class GoogleDocuments:
    """The documents of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def document(self, document_id: str) -> Json:
        """Return a document with its paragraphs."""
        return self._service.call(lambda api: api.documents().get(documentId=document_id))

    def create(self, title: str, text: str) -> Json:
        """Create a document; Google creates it empty, and the text is inserted afterwards."""
        made = self._service.call(lambda api: api.documents().create(body={"title": title}))
        if not text:
            return made
        document_id: str = made["documentId"]
        try:
            # Google has no request that creates a document with text.
            self.append(document_id, text)
        except ToolError as error:
            # Two requests are not atomic. The failure names the id, so that the model completes
            # that document instead of creating a second one.
            message = f"the document {document_id} was made, but is empty: {error.message}"
            raise ToolError(
                error.code, message, **error.details | {"documentId": document_id}
            ) from error
        return self.document(document_id)

    def append(self, document_id: str, text: str) -> None:
        """Append text before the end of the last paragraph."""
        self._change(document_id, {"insertText": {"text": text, "endOfSegmentLocation": {}}})

    def replace(self, document_id: str, find: str, new: str, *, match_case: bool) -> int:
        """Replace each match; return their number."""
        wanted = {"text": find, "matchCase": match_case}
        answer = self._change(
            document_id, {"replaceAllText": {"containsText": wanted, "replaceText": new}}
        )
        reply = answer.get("replies", [{}])[0]
        return int(reply.get("replaceAllText", {}).get("occurrencesChanged", 0))

    def _change(self, document_id: str, request: Json) -> Json:
        body = {"requests": [request]}
        return self._service.call(
            lambda api: api.documents().batchUpdate(documentId=document_id, body=body)
        )


# --- Google Sheets ---
#
# A sheet at Google has a grid of fixed size. Writing beyond it fails, so the grid is enlarged
# first; reading or clearing beyond it gives empty cells.

# Google's message for a range outside of the grid; there is no code for it.
_OUTSIDE = "exceeds grid limits"
_KNOWN = "spreadsheetId,spreadsheetUrl,properties,sheets(properties)"


class GoogleSheets:
    """The spreadsheets of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def spreadsheet(self, spreadsheet_id: str) -> Json:
        """Return its title and its sheets, without cells."""
        return self._service.call(
            lambda api: api.spreadsheets().get(spreadsheetId=spreadsheet_id, fields=_KNOWN)
        )

    def values(self, spreadsheet_id: str, range: str, *, render: str, major: str) -> Json:
        """Return the cells of a range as a ValueRange; dates are text."""
        empty: Json = {"range": range, "majorDimension": major}
        return _within_grid(
            empty,
            lambda: self._service.call(
                lambda api: (
                    api.spreadsheets()
                    .values()
                    .get(
                        spreadsheetId=spreadsheet_id,
                        range=range,
                        majorDimension=major,
                        valueRenderOption=render,
                        dateTimeRenderOption="FORMATTED_STRING",
                    )
                )
            ),
        )

    def write(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Write cells; enlarge the grid if they lie outside. An UpdateValuesResponse."""
        try:
            return self._update(spreadsheet_id, range, values, entered)
        except ToolError as error:
            if _OUTSIDE not in error.message:
                raise
        self._enlarge(spreadsheet_id, range, values)
        return self._update(spreadsheet_id, range, values, entered)

    def append(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Add rows below the table in that range; rows below it move down."""
        return self._service.call(
            lambda api: (
                api.spreadsheets()
                .values()
                .append(
                    spreadsheetId=spreadsheet_id,
                    range=range,
                    valueInputOption=entered,
                    insertDataOption="INSERT_ROWS",
                    body={"values": values},
                )
            )
        )

    def create(self, title: str, sheets: Sequence[str]) -> Json:
        """Make a spreadsheet with these sheets."""
        body: Json = {"properties": {"title": title}}
        if sheets:
            body["sheets"] = [{"properties": {"title": name}} for name in sheets]
        return self._service.call(lambda api: api.spreadsheets().create(body=body, fields=_KNOWN))

    def clear(self, spreadsheet_id: str, range: str) -> Json:
        """Empty the cells of a range. A ClearValuesResponse."""
        nothing: Json = {"spreadsheetId": spreadsheet_id, "clearedRange": range}
        return _within_grid(
            nothing,
            lambda: self._service.call(
                lambda api: (
                    api.spreadsheets()
                    .values()
                    .clear(spreadsheetId=spreadsheet_id, range=range, body={})
                ),
                repeatable=True,
            ),
        )

    def _update(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], entered: str
    ) -> Json:
        return self._service.call(
            lambda api: (
                api.spreadsheets()
                .values()
                .update(
                    spreadsheetId=spreadsheet_id,
                    range=range,
                    valueInputOption=entered,
                    body={"values": values},
                )
            )
        )

    def _enlarge(self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]]) -> None:
        """Enlarge the grid of a sheet for values from the start of a range on."""
        wanted = read_range(range)
        properties = _sheet(self.spreadsheet(spreadsheet_id), wanted.sheet)
        grid = properties["gridProperties"]
        top, left = wanted.start
        larger = {
            "rowCount": max(grid["rowCount"], top + len(values) - 1, wanted.bottom or 1),
            "columnCount": max(
                grid["columnCount"], left + max(map(len, values)) - 1, wanted.right or 1
            ),
        }
        change = {
            "properties": {"sheetId": properties["sheetId"], "gridProperties": larger},
            "fields": "gridProperties(rowCount,columnCount)",
        }
        body = {"requests": [{"updateSheetProperties": change}]}
        self._service.call(
            lambda api: api.spreadsheets().batchUpdate(spreadsheetId=spreadsheet_id, body=body),
            repeatable=True,
        )


def _within_grid(outside: Json, ask: Callable[[], Json]) -> Json:
    try:
        return ask()
    except ToolError as error:
        if _OUTSIDE not in error.message:
            raise
        return outside


def _sheet(book: Json, title: str) -> Json:
    """Return the properties of the sheet of that name; "" is the first."""
    sheets: list[Json] = [sheet["properties"] for sheet in book["sheets"]]
    named = (one for one in sheets if one["title"].casefold() == title.casefold())
    return next(named, sheets[0])

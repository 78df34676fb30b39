"""The office on Google Workspace; each service is created at its first use.

Gmail.

Calendars and events at Google (Calendar v3).
"""

# The client library has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import DOCUMENT, Json, Page
from callblocks.toolkits.office.google.google_service import Service
from callblocks.toolkits.office.mail_text import HEADERS
from callblocks.toolkits.office.tools.cells import read_range

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

__all__ = (
    "GoogleCalendars",
    "GoogleDocuments",
    "GoogleDrive",
    "GoogleMail",
    "GoogleOffice",
    "GoogleSheets",
    "GoogleTasks",
)

# --- Google Drive ---

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


# --- The office on Google Workspace; each service is created at its first use ---

# Size limit in bytes of a message sent within JSON; larger ones are uploaded as media.
_IN_JSON = 2_000_000


class GoogleMail:
    """The mail of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def address(self) -> str:
        """Return the address of the account."""
        profile = self._service.call(lambda api: api.users().getProfile(userId="me"))
        return str(profile.get("emailAddress", ""))

    def labels(self) -> list[Json]:
        """Return the labels of the account, Gmail's own and the person's."""
        found = self._service.call(lambda api: api.users().labels().list(userId="me"))
        return found.get("labels", [])

    def messages(
        self, *, query: str, labels: Sequence[str], spam_trash: bool, limit: int, page: str
    ) -> Page:
        """List messages: Gmail returns ids only, and each message is then requested by itself."""
        given = {"q": query, "labelIds": list(labels), "pageToken": page}
        wanted = {name: value for name, value in given.items() if value}
        found = self._service.call(
            lambda api: (
                api.users()
                .messages()
                .list(userId="me", maxResults=limit, includeSpamTrash=spam_trash, **wanted)
            )
        )
        ids = [str(one["id"]) for one in found.get("messages", [])]
        return Page(self._listed(ids), str(found.get("nextPageToken", "")))

    def message(self, message_id: str) -> Json:
        """Return one message with its parts."""
        return self._service.call(
            lambda api: api.users().messages().get(userId="me", id=message_id, format="full")
        )

    def thread(self, thread_id: str) -> Json:
        """Return a thread with its messages."""
        return self._service.call(
            lambda api: api.users().threads().get(userId="me", id=thread_id, format="full")
        )

    def attachment(self, message_id: str, attachment_id: str) -> bytes:
        """Return the content of an attachment."""
        found = self._service.call(
            lambda api: (
                api.users()
                .messages()
                .attachments()
                .get(userId="me", messageId=message_id, id=attachment_id)
            )
        )
        text = str(found.get("data", ""))
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    def send(self, raw: bytes, thread_id: str) -> Json:
        """Send a message; Gmail adds the sender and the date."""
        body: Json = {"threadId": thread_id} if thread_id else {}
        if len(raw) > _IN_JSON:
            media = {"media_body": _upload(raw)}
        else:
            body["raw"] = base64.urlsafe_b64encode(raw).decode()
            media = {}
        # `send` is a POST and is repeated only if nothing was sent: a mail must not arrive twice.
        return self._service.call(
            lambda api: api.users().messages().send(userId="me", body=body, **media)
        )

    def _listed(self, ids: Sequence[str]) -> list[Json]:
        asks = [_ask_listed(one) for one in ids]
        try:
            return self._service.calls(asks)
        except ToolError as error:
            if error.code != "not_found":
                raise
        # A message was deleted after it was listed. Ask one by one and leave it out.
        return [found for ask in asks if (found := self._if_there(ask)) is not None]

    def _if_there(self, ask: Callable[[Any], Any]) -> Json | None:
        try:
            return self._service.call(ask)
        except ToolError as error:
            if error.code != "not_found":
                raise
            return None


def _ask_listed(message_id: str) -> Callable[[Any], Any]:
    return lambda api: (
        api.users()
        .messages()
        .get(userId="me", id=message_id, format="metadata", metadataHeaders=list(HEADERS))
    )


def _upload(raw: bytes) -> Any:
    from googleapiclient.http import MediaInMemoryUpload

    return MediaInMemoryUpload(raw, mimetype="message/rfc822")


_POINT = ("date", "dateTime", "timeZone")


class GoogleCalendars:
    """The calendars of one account."""

    invites = True

    def __init__(self, service: Service) -> None:
        self._service = service

    def calendars(self, *, limit: int, page: str) -> Page:
        """Return the calendars that the person sees; one is `primary`."""
        wanted = {"maxResults": limit, **_given(pageToken=page)}
        return _page(self._service.call(lambda api: api.calendarList().list(**wanted)))

    def zone(self, calendar_id: str) -> str:
        """Return a calendar's time zone."""
        # From the events list and not from the calendar resource: the scope for reading events
        # suffices.
        answer = self._service.call(
            lambda api: api.events().list(calendarId=calendar_id, maxResults=1, fields="timeZone")
        )
        return str(answer.get("timeZone") or "UTC")

    def events(
        self,
        calendar_id: str,
        *,
        time_min: str,
        time_max: str,
        query: str,
        single: bool,
        zone: str,
        limit: int,
        page: str,
    ) -> Page:
        """Return events that overlap a time range; only expanded occurrences can be sorted by
        start.
        """
        wanted: dict[str, Any] = {
            "calendarId": calendar_id,
            "singleEvents": single,
            "maxResults": limit,
            **_given(timeMin=time_min, timeMax=time_max, q=query, timeZone=zone, pageToken=page),
            **({"orderBy": "startTime"} if single else {}),
        }
        return _page(self._service.call(lambda api: api.events().list(**wanted)))

    def event(self, calendar_id: str, event_id: str) -> Json:
        """Return one event, one occurrence, or a series, also a deleted one."""
        return self._service.call(
            lambda api: api.events().get(calendarId=calendar_id, eventId=event_id)
        )

    def create(self, calendar_id: str, event: Json, *, notify: str) -> Json:
        """Add an event; with an id of its own, repeating the call adds it only once."""
        return self._service.call(
            lambda api: api.events().insert(calendarId=calendar_id, body=event, sendUpdates=notify),
            repeatable="id" in event,
        )

    def update(self, calendar_id: str, event_id: str, changes: Json, *, notify: str) -> Json:
        """Change fields of an event; with `etag`, only if it is unchanged."""
        body = {name: _emptied(name, value) for name, value in changes.items() if name != "etag"}

        def ask(api: Any) -> Any:
            request = api.events().patch(
                calendarId=calendar_id, eventId=event_id, body=body, sendUpdates=notify
            )
            if changes.get("etag"):
                request.headers["If-Match"] = changes["etag"]
            return request

        # A repetition would send another email, and after a success that was not seen the etag
        # differs, so the retry would report a conflict.
        return self._service.call(ask, repeatable=notify == "none" and "etag" not in changes)

    def delete(self, calendar_id: str, event_id: str, *, notify: str) -> None:
        """Cancel an event, a series, or one occurrence."""
        self._service.call(
            lambda api: api.events().delete(
                calendarId=calendar_id, eventId=event_id, sendUpdates=notify
            )
        )


def _emptied(name: str, value: Any) -> Any:
    """Return a start or end with all parts set: a patch must clear the parts of the old value."""
    if name in ("start", "end"):
        point: Json = value
        return {part: point.get(part) for part in _POINT}
    return value


def _given(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _page(answer: Json) -> Page:
    return Page(answer.get("items", []), answer.get("nextPageToken", ""))


# --- Google Tasks ---


class GoogleTasks:
    """The tasks of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def lists(self, *, limit: int, page: str) -> Page:
        """Return the lists of the account."""
        paging = {"maxResults": limit, **_given(pageToken=page)}
        return _page(self._service.call(lambda api: api.tasklists().list(**paging)))

    def tasks(
        self,
        list_id: str,
        *,
        completed: bool,
        due_min: str,
        due_max: str,
        limit: int,
        page: str,
    ) -> Page:
        """Return tasks of a list; those completed in Google's own programs count as hidden."""
        wanted = {
            "tasklist": list_id,
            "showCompleted": completed,
            "showHidden": completed,
            "maxResults": limit,
            **_given(dueMin=due_min, dueMax=due_max, pageToken=page),
        }
        return _page(self._service.call(lambda api: api.tasks().list(**wanted)))

    def task(self, list_id: str, task_id: str) -> Json:
        """Return one task, also a deleted one."""
        return self._service.call(lambda api: api.tasks().get(tasklist=list_id, task=task_id))

    def create(self, list_id: str, task: Json, *, parent: str, previous: str) -> Json:
        """Add a task among those of its parent: first, or after `previous`."""
        place = _given(parent=parent, previous=previous)
        return self._service.call(
            lambda api: api.tasks().insert(tasklist=list_id, body=task, **place)
        )

    def update(self, list_id: str, task_id: str, changes: Json) -> Json:
        """Change fields of a task; `None` empties one."""
        return self._service.call(
            lambda api: api.tasks().patch(tasklist=list_id, task=task_id, body=changes),
            repeatable=True,
        )

    def delete(self, list_id: str, task_id: str) -> None:
        """Delete a task and those below it."""
        self._service.call(lambda api: api.tasks().delete(tasklist=list_id, task=task_id))


_Part = TypeVar("_Part")


class GoogleOffice:
    """All services of one account; `base` replaces Google's servers."""

    is_shared = True

    def __init__(
        self,
        credentials: Credentials,
        base: str = "",
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._credentials = credentials
        self._base = base
        self._sleep = sleep
        self._services: list[Service] = []
        self._parts: dict[Any, Any] = {}

    def close(self) -> None:
        """Close the connections that are kept open."""
        for service in self._services:
            service.close()

    def _part(self, kind: Callable[[Service], _Part], name: str, version: str) -> _Part:
        if kind not in self._parts:
            service = Service(name, version, self._credentials, base=self._base, sleep=self._sleep)
            self._services.append(service)
            self._parts[kind] = kind(service)
        return self._parts[kind]

    @property
    def mail(self) -> GoogleMail:
        """Gmail."""
        return self._part(GoogleMail, "gmail", "v1")

    @property
    def drive(self) -> GoogleDrive:
        """Google Drive."""
        return self._part(GoogleDrive, "drive", "v3")

    @property
    def calendars(self) -> GoogleCalendars:
        """Google Calendar."""
        return self._part(GoogleCalendars, "calendar", "v3")

    @property
    def documents(self) -> GoogleDocuments:
        """Google Docs."""
        return self._part(GoogleDocuments, "docs", "v1")

    @property
    def sheets(self) -> GoogleSheets:
        """Google Sheets."""
        return self._part(GoogleSheets, "sheets", "v4")

    @property
    def tasks(self) -> GoogleTasks:
        """Google Tasks."""
        return self._part(GoogleTasks, "tasks", "v1")

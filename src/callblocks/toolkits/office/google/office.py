"""The office on Google Workspace; each service is created at its first use.

Gmail.

Calendars and events at Google (Calendar v3).
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.google.google_service import Service
from callblocks.toolkits.office.mail_text import HEADERS

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

    from callblocks.toolkits.office.google.drive import GoogleDocuments, GoogleDrive, GoogleSheets

__all__ = (
    "GoogleCalendars",
    "GoogleMail",
    "GoogleOffice",
    "GoogleTasks",
)

# The client library has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false


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
        from callblocks.toolkits.office.google.office import GoogleMail

        return self._part(GoogleMail, "gmail", "v1")

    @property
    def drive(self) -> GoogleDrive:
        """Google Drive."""
        from callblocks.toolkits.office.google.drive import GoogleDrive

        return self._part(GoogleDrive, "drive", "v3")

    @property
    def calendars(self) -> GoogleCalendars:
        """Google Calendar."""
        from callblocks.toolkits.office.google.office import GoogleCalendars

        return self._part(GoogleCalendars, "calendar", "v3")

    @property
    def documents(self) -> GoogleDocuments:
        """Google Docs."""
        from callblocks.toolkits.office.google.drive import GoogleDocuments

        return self._part(GoogleDocuments, "docs", "v1")

    @property
    def sheets(self) -> GoogleSheets:
        """Google Sheets."""
        from callblocks.toolkits.office.google.drive import GoogleSheets

        return self._part(GoogleSheets, "sheets", "v4")

    @property
    def tasks(self) -> GoogleTasks:
        """Google Tasks."""
        from callblocks.toolkits.office.google.office import GoogleTasks

        return self._part(GoogleTasks, "tasks", "v1")

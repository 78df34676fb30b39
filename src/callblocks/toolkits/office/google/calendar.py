"""Calendars and events at Google (Calendar v3)."""

from __future__ import annotations

from typing import Any

from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.google.google_service import Service

__all__ = (
    "GoogleCalendars",
    "GoogleTasks",
)

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

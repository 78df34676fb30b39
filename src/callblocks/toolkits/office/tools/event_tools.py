"""The tools that change events: create, update and delete.

The person who approves a change sees the event, each field before and after, and who gets an email.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json, Office
from callblocks.toolkits.office.times import Given
from callblocks.toolkits.office.tools.event_fields import EventInput, changed_fields, new_fields
from callblocks.toolkits.office.tools.event_view import (
    change_text,
    event_text,
    shown_event,
    told_text,
)
from callblocks.toolkits.office.tools.id_suggestions import meant_event
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = ("EventCalendar", "event_tools")

# The id of a calendar.
EventCalendar: TypeAlias = Annotated[str, Field(min_length=1, max_length=1100)]

_Id = Annotated[str, Field(min_length=1, max_length=1100)]
_Notify = Literal["none", "all", "externalOnly"]
_Status = Literal["confirmed", "tentative"]
_Lines = str | list[str]
_People = str | list[str | dict[str, Any]]
_Minutes = list[int]

_TAINT = "calendar of others"


def event_tools(office: Office) -> tuple[Tool, ...]:
    """Return the tools that change the events of an office."""
    return (_create(office), _update(office), _delete(office))


def _create(office: Office) -> Tool:
    def preview(summary: str, start: Given, end: Given, **given: object) -> str:
        said = _said(given, summary=summary, start=start, end=end)
        calendar = str(given.get("calendarId"))
        return _new_text(office, new_fields(said, _zone_of(office, calendar)), given)

    @tool(
        destructive=False,
        idempotent=True,
        open_world=True,
        body="description",
        preview=preview,
        origin="builtin",
    )
    def calendar_create(  # noqa: PLR0913 what may be said of an event
        summary: str,
        start: Given,
        end: Given,
        context: Context,
        *,
        calendarId: EventCalendar = "primary",
        description: str = "",
        location: str = "",
        attendees: _People = [],  # noqa: B006 the schema shows it, and nothing changes it
        timeZone: str = "",
        recurrence: _Lines = [],  # noqa: B006 the schema shows it, and nothing changes it
        reminders: _Minutes | None = None,
        sendUpdates: _Notify = "none",
        full: bool = False,
    ) -> Json:
        """Add an event to a calendar; calling it again adds another.

        Args:
            summary: the title
            start: 2026-11-16T14:00, 2026-11-16T14:00:00+01:00, or 2026-11-16 for whole days
            end: as start; for whole days the day after the last one
            calendarId: the id of a calendar; primary is the main one
            description: more words on it
            location: where it is
            attendees: addresses of those who attend, such as ada@example.org
            timeZone: the zone of the times, such as Europe/Berlin; else that of the calendar
            recurrence: lines such as RRULE:FREQ=WEEKLY;COUNT=10 or EXDATE:20261123
            reminders: minutes before the start, such as 10
            sendUpdates: whether those who attend get an email: none, all, externalOnly
            full: all that is known of the new event
        """
        said = EventInput(
            summary=summary,
            start=start,
            end=end,
            description=description,
            location=location,
            attendees=attendees,
            timeZone=timeZone,
            recurrence=recurrence,
            reminders=reminders,
        )
        fields = new_fields(said, _zone_of(office, calendarId))
        made = _made(office, calendarId, fields, sendUpdates, context.key)
        _say_who_is_told(office, _people(made), sendUpdates, context)
        return shown_event(made, full)

    return calendar_create


def _update(office: Office) -> Tool:
    def preview(eventId: str, **given: object) -> str:
        return _change_preview(office, eventId, given)

    # The answer contains the whole event, which others may have written.
    @tool(
        destructive=True,
        open_world=True,
        kind="source",
        body="description",
        preview=preview,
        origin="builtin",
    )
    def calendar_update(  # noqa: PLR0913 what may be said of an event
        eventId: _Id,
        context: Context,
        *,
        summary: str | None = None,
        start: Given | None = None,
        end: Given | None = None,
        description: str | None = None,
        location: str | None = None,
        attendees: _People | None = None,
        timeZone: str = "",
        recurrence: _Lines | None = None,
        reminders: _Minutes | None = None,
        status: _Status | None = None,
        calendarId: EventCalendar = "primary",
        sendUpdates: _Notify = "none",
        full: bool = False,
    ) -> Json:
        """Change an event, a series, or one occurrence; what is not given stays as it is.

        Args:
            eventId: the id, as calendar_events gave it; recurringEventId is that of the series
            summary: the title
            start: as for calendar_create; without end, the event is as long as before
            end: as for calendar_create
            description: more words on it; "" removes them
            location: where it is; "" removes it
            attendees: the addresses of all who attend, also of those who did before
            timeZone: the zone of start and end, such as Europe/Berlin
            recurrence: the lines for the whole series; [] makes it a single event
            reminders: minutes before the start; [] removes them
            status: confirmed or tentative; this also restores an event that was deleted
            calendarId: the id of its calendar; primary is the main one
            sendUpdates: whether those who attend get an email: none, all, externalOnly
            full: all that is known of the event
        """
        said = EventInput(
            summary=summary,
            start=start,
            end=end,
            description=description,
            location=location,
            attendees=attendees,
            timeZone=timeZone,
            recurrence=recurrence,
            reminders=reminders,
            status=status,
        )
        old, changes = _changes(office, calendarId, eventId, said)
        done = office.calendars.update(calendarId, eventId, changes, notify=sendUpdates)
        context.taint(_TAINT)
        _say_who_is_told(office, [*_people(old), *_people(done)], sendUpdates, context)
        return shown_event(done, full)

    return calendar_update


def _delete(office: Office) -> Tool:
    def preview(eventId: str, calendarId: str = "primary", sendUpdates: str = "none") -> str:
        event = _present(office, calendarId, eventId)
        told = told_text(_people(event), sendUpdates, office.calendars.invites)
        return f"delete {event_text(event)}\n{told}"

    @tool(
        destructive=True,
        idempotent=True,
        open_world=True,
        kind="source",
        preview=preview,
        origin="builtin",
    )
    def calendar_delete(
        eventId: _Id,
        context: Context,
        calendarId: EventCalendar = "primary",
        sendUpdates: _Notify = "none",
    ) -> Json:
        """Delete an event, a series with all its occurrences, or one occurrence.

        Args:
            eventId: the id, as calendar_events gave it; recurringEventId is that of the series
            calendarId: the id of its calendar; primary is the main one
            sendUpdates: whether those who attend get an email: none, all, externalOnly
        """
        event = _present(office, calendarId, eventId)
        office.calendars.delete(calendarId, eventId, notify=sendUpdates)
        context.taint(_TAINT)
        _say_who_is_told(office, _people(event), sendUpdates, context)
        return {"id": eventId, "status": "cancelled", "summary": event.get("summary", "")}

    return calendar_delete


def _zone_of(office: Office, calendar: str) -> Callable[[], str]:
    return lambda: office.calendars.zone(calendar)


def _made(office: Office, calendar: str, fields: Json, notify: str, key: str) -> Json:
    """Create the event; a call that is repeated after a crash finds the one it made.

    This makes `calendar_create` idempotent: the same call of the same turn has the same key, and so
    the same event id. Another call has another key, and adds another event.
    """
    if not key:
        return office.calendars.create(calendar, fields, notify=notify)
    id = _own_id(key, fields)
    try:
        return office.calendars.create(calendar, fields | {"id": id}, notify=notify)
    except ToolError as error:
        if error.code != "conflict":
            raise
        # A conflict on our own id means that an earlier run of this very call created the event.
        return office.calendars.event(calendar, id)


def _own_id(key: str, fields: Json) -> str:
    # The fields are part of the id: a model that corrects its call within the same turn must not
    # get the first event back. Hex digits are valid in Google's base32hex alphabet of ids.
    said = json.dumps([key, fields], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def _event(office: Office, calendar: str, id: str) -> Json:
    with meant_event(office, calendar, id):
        return office.calendars.event(calendar, id)


def _present(office: Office, calendar: str, id: str) -> Json:
    event = _event(office, calendar, id)
    if event.get("status") == "cancelled":
        raise ToolError(
            "not_found",
            f"the event {brief(id)} was deleted; calendar_update with a status restores it",
        )
    return event


def _changes(office: Office, calendar: str, id: str, said: EventInput) -> tuple[Json, Json]:
    """Return the event as it is, and its changes."""
    old = _event(office, calendar, id) if said.status else _present(office, calendar, id)
    changes = changed_fields(said, old, _zone_of(office, calendar))
    # These changes are computed from the old event, so it must not have changed meanwhile (etag).
    derived = said.attendees is not None or (said.start is None) != (said.end is None)
    return old, changes | {"etag": old["etag"]} if derived and old.get("etag") else changes


def _said(given: dict[str, object], **more: object) -> EventInput:
    known = {name: value for name, value in given.items() if name in EventInput.__struct_fields__}
    return EventInput(**{**known, **more})  # pyright: ignore[reportArgumentType] the tool has checked them


def _new_text(office: Office, fields: Json, given: dict[str, object]) -> str:
    told = told_text(_people(fields), str(given.get("sendUpdates")), office.calendars.invites)
    place = f"in the calendar {brief(given.get('calendarId'))}"
    return "\n".join([f"create {event_text(fields)}, {place}", change_text({}, fields), told])


def _change_preview(office: Office, id: str, given: dict[str, object]) -> str:
    old, changes = _changes(office, str(given.get("calendarId")), id, _said(given))
    people = [*_people(old), *_people(changes)]
    told = told_text(people, str(given.get("sendUpdates")), office.calendars.invites)
    return "\n".join([f"change {event_text(old)}", change_text(old, changes) or "no change", told])


def _people(event: Json) -> list[Json]:
    return event.get("attendees", [])


def _say_who_is_told(office: Office, people: list[Json], notify: str, context: Context) -> None:
    if notify != "none" and people and not office.calendars.invites:
        context.notice("nobody_told", "this office sends no invitations: nobody was told")

"""The tools for calendars: list them, and list, create, update and delete events.

    calendar_list                                          the calendars, by id
    calendar_events   calendarId, timeMin, timeMax         each occurrence of a series by itself
    calendar_create   summary, start, end
    calendar_update   eventId, summary, start, end …       what is not given stays
    calendar_delete   eventId                              status `cancelled`: it can be restored

The id of a series changes or cancels all of it, that of an occurrence (`<id>_20261116T080000Z`)
only this one. What events say is text of others, so reading them taints the turn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json, Office, Page
from callblocks.toolkits.office.times import Given, Time, find_zone, invalid, read_time, settle
from callblocks.toolkits.office.tools.drive_view import tell_absent
from callblocks.toolkits.office.tools.event_fields import (
    EventInput,
    change_text,
    changed_fields,
    event_text,
    new_fields,
    shown_calendar,
    shown_event,
    told_text,
)
from callblocks.toolkits.office.tools.id_suggestions import meant_event
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = (
    "EventCalendar",
    "calendar_tools",
    "event_tools",
    "window_of",
)

# --- The time range of a list of events: `timeMin` and `timeMax`, as Google takes them ---
#
# A date as `timeMin` is its start, as `timeMax` its end: from 2026-11-16 to 2026-11-16 is that day.


def window_of(
    low: Given, high: Given, zone: str, calendar_zone: Callable[[], str]
) -> tuple[str, str]:
    """Both times as RFC 3339, "" where none is given."""
    zones = _Zones(zone, calendar_zone)
    first = zones.moment(low, "timeMin") if low else None
    last = zones.moment(high, "timeMax") if high else None
    if first and last and last <= first:
        raise invalid("timeMax", f"{last.isoformat()} is not after timeMin, {first.isoformat()}")
    return _text(first), _text(last)


class _Zones:
    """The zone of the calendar, requested at most once and only if it matters."""

    def __init__(self, zone: str, calendar_zone: Callable[[], str]) -> None:
        self._zone = zone
        self._ask = calendar_zone

    def moment(self, given: Given, field: str) -> datetime:
        read = read_time(given, field)
        if not isinstance(read.value, datetime):
            day = read.value
            day += timedelta(days=field == "timeMax")
            read = Time(datetime.combine(day, time()))
        if not read.is_settled and not read.zone and not self._zone:
            self._zone = self._ask()
        moment = settle(read, self._zone).value
        assert isinstance(moment, datetime)
        return moment


def _text(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


# --- The tools for calendars: list them, and list, create, update and delete events ---

_Count = Annotated[int, Field(ge=1, le=100)]

_TAINT = "calendar of others"


def calendar_tools(office: Office) -> tuple[Tool, ...]:
    """Return the tools for the calendars of an office."""
    return (_list(office), _events(office), *event_tools(office))


def _list(office: Office) -> Tool:
    # In a shared office some calendars belong to others, who chose their names.
    is_shared: bool = getattr(office, "is_shared", False)

    @tool(read_only=True, kind="source" if is_shared else "plain", origin="builtin")
    def calendar_list(
        context: Context, maxResults: _Count = 50, pageToken: str = "", full: bool = False
    ) -> Json:
        """List the calendars: their ids, names and time zones.

        Args:
            maxResults: how many at most
            pageToken: the nextPageToken of the answer before
            full: all that is known of each calendar
        """
        page = office.calendars.calendars(limit=maxResults, page=pageToken)
        tell_absent(office, context)
        if is_shared:
            context.taint(_TAINT)
        return _listed(page, [shown_calendar(one, full) for one in page.items], context)

    return calendar_list


def _events(office: Office) -> Tool:
    @tool(read_only=True, kind="source", origin="builtin")
    def calendar_events(  # noqa: PLR0913 what Google's own list takes
        context: Context,
        *,
        calendarId: EventCalendar = "primary",
        timeMin: Given = "",
        timeMax: Given = "",
        query: str = "",
        timeZone: str = "",
        singleEvents: bool = True,
        maxResults: _Count = 50,
        pageToken: str = "",
        full: bool = False,
    ) -> Json:
        """List events by their start; without timeMin from the oldest one on.

        Args:
            calendarId: the id of a calendar, as calendar_list gave it; primary is the main one
            timeMin: events that end after this time: 2026-11-16, or 2026-11-16T14:00:00+01:00
            timeMax: events that start before this time; of a day such as 2026-11-20, its end
            query: words that an event must have in its title, text, place or people
            timeZone: the zone of times without an offset, and of the answer, such as Europe/Berlin;
                else each event is in its own
            singleEvents: each occurrence of a series by itself; false: the series once
            maxResults: how many at most
            pageToken: the nextPageToken of the answer before
            full: all that is known of each event
        """
        if timeZone:
            find_zone(timeZone)
        low, high = window_of(timeMin, timeMax, timeZone, lambda: office.calendars.zone(calendarId))
        page = office.calendars.events(
            calendarId,
            time_min=low,
            time_max=high,
            query=query,
            single=singleEvents,
            zone=timeZone,
            limit=maxResults,
            page=pageToken,
        )
        tell_absent(office, context)
        context.taint(_TAINT)
        if page.next and not low and not pageToken:
            context.notice(
                "oldest_first", "these are the oldest events; give timeMin for later ones"
            )
        return _listed(page, [shown_event(one, full, timeZone) for one in page.items], context)

    return calendar_events


def _listed(page: Page, items: list[Json], context: Context) -> Json:
    for fault in page.faults:
        context.notice("workspace_damaged", fault)
    return {"items": items, "nextPageToken": page.next} if page.next else {"items": items}


# --- The tools that change events: create, update and delete ---
#
# The person who approves a change sees the event, each field before and after, and who gets an
# email.


# The id of a calendar.
EventCalendar: TypeAlias = Annotated[str, Field(min_length=1, max_length=1100)]

_Id = Annotated[str, Field(min_length=1, max_length=1100)]
_Notify = Literal["none", "all", "externalOnly"]
_Status = Literal["confirmed", "tentative"]
_Lines = str | list[str]
_People = str | list[str | dict[str, Any]]
_Minutes = list[int]


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

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

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Annotated

from pydantic import Field

from callblocks.toolkits.office.backend import Json, Office, Page
from callblocks.toolkits.office.times import Given, Time, find_zone, invalid, read_time, settle
from callblocks.toolkits.office.tools.drive_view import tell_absent
from callblocks.toolkits.office.tools.event_tools import EventCalendar, event_tools
from callblocks.toolkits.office.tools.event_view import shown_calendar, shown_event
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = (
    "calendar_tools",
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

"""The local calendars: one folder each, with one iCalendar file per event.

    office/calendar/primary/<uid>.ics

A deleted event gets the status CANCELLED and stays in its file. No invitations are sent: there is
no mail server.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.local.calendar_files import hold, own_address, write_file
from callblocks.toolkits.workspace.local.calendar_homes import Home, calendar_page, opened_home
from callblocks.toolkits.workspace.local.calendar_index import CalendarIndex
from callblocks.toolkits.workspace.local.calendar_pages import Asked, page_of, words_asked
from callblocks.toolkits.workspace.local.calendar_target import (
    changing_event,
    find_event,
    no_event,
    require_new_event,
)
from callblocks.toolkits.workspace.local.ics_changes import (
    cancel,
    cancel_occurrence,
    change,
    change_occurrence,
    new_event,
)
from callblocks.toolkits.workspace.local.ics_file import new_file
from callblocks.toolkits.workspace.local.occurrences import Counting
from callblocks.toolkits.workspace.local.series import Window, shown_event

__all__ = ("LocalCalendars",)

_ID = re.compile(r"[a-v0-9]{5,200}", re.ASCII)
_MOST_FAULTS = 20


class LocalCalendars:
    """The calendars below an office's folder."""

    invites = False

    def __init__(self, office: Path) -> None:
        self._office = office
        self._index = CalendarIndex(office)

    def calendars(self, *, limit: int, page: str) -> Page:
        """Return a page of the calendars; the primary one is listed even without a folder."""
        return calendar_page(self._office, limit=limit, page=page)

    def zone(self, calendar_id: str) -> str:
        """Return the zone in the calendar's file `timezone`, else that of the machine."""
        with opened_home(self._office, calendar_id) as home:
            return home.zone

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
        """Return events that overlap a time range, by start."""
        words = words_asked(query)
        with opened_home(self._office, calendar_id) as home:
            asked = Asked(
                window=_window(time_min, time_max),
                words=words,
                single=single,
                zone=home.zone,
                limit=limit,
                page=page,
            )
            if home.folder is None:
                return Page([])
            with self._index.fresh(home.folder, home.name) as rows:
                found = rows.overlapping(asked.window, words)
                faults = [fault for _, text in rows.faults() for fault in text.splitlines()]
        series = [row.series.settled(home.zone) for row in found]
        files = {row.series.id: row.place.name for row in found}
        counting = Counting(files)
        items, token = page_of(series, asked, counting)
        shown = [
            self._shown(one, home, files[one.get("recurringEventId") or one["id"]], zone)
            for one in items
        ]
        return Page(shown, token, _told(faults, counting, home.name))

    def event(self, calendar_id: str, event_id: str) -> Json:
        """Return one event, one occurrence of a series, or a series."""
        with opened_home(self._office, calendar_id) as home:
            row, event = find_event(self._index, home, event_id)
            return self._shown(event, home, row.place.name)

    def create(self, calendar_id: str, event: Json, *, notify: str) -> Json:
        """Add an event."""
        id = str(event.get("id") or secrets.token_hex(13))
        if not _ID.fullmatch(id):
            why = f"{brief(id)} is no id for an event; use 5 or more of a-v and 0-9"
            raise ToolError("invalid_input", why, id=why)
        with opened_home(self._office, calendar_id, make=True) as home:
            assert home.folder is not None
            fields = _zoned(event, home.zone) | self._organizer(event)
            made = new_event(id, fields, datetime.now(UTC))
            with hold(home.folder):
                require_new_event(self._index, home, id)
                write_file(home.folder, f"{id}.ics", new_file(made), new=True)
            return self.event(calendar_id, id)

    def update(self, calendar_id: str, event_id: str, changes: Json, *, notify: str) -> Json:
        """Change fields of an event, a series, or one occurrence."""
        now, etag = datetime.now(UTC), str(changes.get("etag") or "")
        with opened_home(self._office, calendar_id) as home:
            with changing_event(self._index, home, event_id, etag) as target:
                fields = _zoned(changes, home.zone)
                if target.is_occurrence:
                    occurrence = target.event
                    change_occurrence(target.file, target.group, occurrence, fields, home.zone, now)
                else:
                    change(target.group, fields, home.zone, now)
            return self.event(calendar_id, event_id)

    def delete(self, calendar_id: str, event_id: str, *, notify: str) -> None:
        """Cancel an event, a series, or one occurrence."""
        now = datetime.now(UTC)
        with (
            opened_home(self._office, calendar_id) as home,
            changing_event(self._index, home, event_id) as target,
        ):
            if target.event["status"] == "cancelled":
                raise no_event(event_id, "it was deleted before")
            if target.is_occurrence:
                cancel_occurrence(target.file, target.group, target.event, home.zone, now)
            else:
                cancel(target.group, now)

    def _organizer(self, event: Json) -> Json:
        """Return the organizer for an event with attendees; none if the office has no address."""
        address = own_address(self._office) if event.get("attendees") else ""
        return {"organizer": {"email": address}} if "@" in address else {}

    def _shown(self, event: Json, home: Home, file: str, zone: str = "") -> Json:
        path = self._office.absolute() / "calendar" / home.name / file
        link = f"file://{quote(str(path), errors='replace')}"
        # Floating times are in the calendar's zone, not in the viewer's.
        settled = shown_event(event, home.zone)
        return (shown_event(settled, zone) if zone else settled) | {"htmlLink": link}


def _zoned(fields: Json, zone: str) -> Json:
    """Return the fields with the calendar's zone for times that have none."""
    times = {
        name: {"timeZone": zone} | fields[name]
        for name in ("start", "end")
        if fields.get(name) and not fields[name].get("date")
    }
    return fields | times


def _window(time_min: str, time_max: str) -> Window:
    whole = Window()
    low = datetime.fromisoformat(time_min).astimezone(UTC) if time_min else whole.low
    high = datetime.fromisoformat(time_max).astimezone(UTC) if time_max else whole.high
    return Window(max(low, whole.low), min(high, whole.high))


def _told(faults: list[str], counting: Counting, calendar: str) -> tuple[str, ...]:
    given_up = [
        f"{calendar}/{counting.files[id]}: the series {id} is not shown to its end: "
        "its rule takes too many steps; ask for a shorter time"
        for id in sorted(counting.given_up)
    ]
    told = [*faults, *given_up]
    more = [f"and {len(told) - _MOST_FAULTS} more"] if len(told) > _MOST_FAULTS else []
    return (*told[:_MOST_FAULTS], *more)

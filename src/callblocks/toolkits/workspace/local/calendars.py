"""The calendars of a folder: one folder each, with one iCalendar file for each event.

    office/calendar/primary/displayname, color      as vdir has it; `timezone` is the zone's name
    office/calendar/primary/<uid>.ics

The folder named `primary` is the primary calendar, else the first one by name. What is deleted
has the status CANCELLED and stays in its file. Nobody is told of anything: there is no mail
server here.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Page
from callblocks.toolkits.workspace.local.calendar_files import (
    calendar_names,
    hold,
    open_calendar,
    own_address,
    read_file,
    read_line,
    write_file,
)
from callblocks.toolkits.workspace.local.calendar_index import CalendarIndex, Row, Rows
from callblocks.toolkits.workspace.local.calendar_pages import Asked, page_of, words_asked
from callblocks.toolkits.workspace.local.ics_changes import (
    cancel,
    cancel_occurrence,
    change,
    change_occurrence,
    new_event,
)
from callblocks.toolkits.workspace.local.ics_file import BROKEN, Group, IcsFile, new_file
from callblocks.toolkits.workspace.local.occurrences import Counting
from callblocks.toolkits.workspace.local.reading_events import etag_of
from callblocks.toolkits.workspace.local.series import (
    Series,
    Window,
    find_occurrence,
    shown_event,
    split,
)
from callblocks.toolkits.workspace.local.zones import known_zone, machine_zone

__all__ = ("LocalCalendars",)

_PRIMARY = "primary"
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_ID = re.compile(r"[a-v0-9]{5,200}", re.ASCII)
_MOST_FAULTS = 20


class _Home(msgspec.Struct, frozen=True):
    """A calendar whose folder is open; a primary one that is not there yet has none."""

    name: str
    zone: str
    folder: int | None


class _Target(msgspec.Struct, frozen=True):
    """What a change is made to: the file, its events of one UID, and maybe one occurrence."""

    row: Row
    event: Json
    file: IcsFile
    group: Group

    @property
    def is_occurrence(self) -> bool:
        """Whether it is one occurrence of a series."""
        return "recurringEventId" in self.event


class LocalCalendars:
    """The calendars below an office's folder."""

    invites = False

    def __init__(self, office: Path) -> None:
        self._office = office
        self._index = CalendarIndex(office)

    def calendars(self, *, limit: int, page: str) -> Page:
        """The calendars; the primary one is there even before it has a folder."""
        names = calendar_names(self._office) or [_PRIMARY]
        start = _read_number(page) if page else 0
        rest = names[start:]
        items = [self._entry(name, primary=name == names[0]) for name in rest[:limit]]
        return Page(items, str(start + limit) if len(rest) > limit else "")

    def zone(self, calendar_id: str) -> str:
        """The zone in the file `timezone` of the calendar, else that of this machine."""
        with self._opened(calendar_id) as home:
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
        """Events that overlap a time, by start."""
        words = words_asked(query)
        with self._opened(calendar_id) as home:
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
        counting = Counting()
        series = [row.series.settled(home.zone) for row in found]
        files = {row.series.id: row.place.name for row in found}
        items, token = page_of(series, asked, counting)
        shown = [
            self._shown(one, home, files[one.get("recurringEventId") or one["id"]], zone)
            for one in items
        ]
        return Page(shown, token, _told(faults, counting))

    def event(self, calendar_id: str, event_id: str) -> Json:
        """One event, one occurrence of a series, or a series."""
        with self._opened(calendar_id) as home:
            row, event = self._find(home, event_id)
            return self._shown(event, home, row.place.name)

    def create(self, calendar_id: str, event: Json, *, notify: str) -> Json:
        """Add an event; nobody is told."""
        id = str(event.get("id") or secrets.token_hex(13))
        if not _ID.fullmatch(id):
            why = f"{brief(id)} is no id for an event; use 5 or more of a-v and 0-9"
            raise ToolError("invalid_input", why, id=why)
        with self._opened(calendar_id, make=True) as home:
            assert home.folder is not None
            fields = _zoned(event, home.zone) | self._organizer(event)
            made = new_event(id, fields, datetime.now(UTC))
            with hold(home.folder):
                self._require_new(home, id)
                write_file(home.folder, f"{id}.ics", new_file(made), new=True)
            return self.event(calendar_id, id)

    def update(self, calendar_id: str, event_id: str, changes: Json, *, notify: str) -> Json:
        """Change fields of an event, a series, or one occurrence; nobody is told."""
        now = datetime.now(UTC)
        with self._opened(calendar_id) as home:
            with self._changing(home, event_id, str(changes.get("etag") or "")) as target:
                fields = _zoned(changes, home.zone)
                if target.is_occurrence:
                    occurrence = target.event
                    change_occurrence(target.file, target.group, occurrence, fields, home.zone, now)
                else:
                    change(target.group, fields, home.zone, now)
            return self.event(calendar_id, event_id)

    def delete(self, calendar_id: str, event_id: str, *, notify: str) -> None:
        """Cancel an event, a series, or one occurrence; nobody is told."""
        now = datetime.now(UTC)
        with self._opened(calendar_id) as home, self._changing(home, event_id, "") as target:
            if target.event["status"] == "cancelled":
                raise _not_found(event_id, "it was deleted before")
            if target.is_occurrence:
                cancel_occurrence(target.file, target.group, target.event, home.zone, now)
            else:
                cancel(target.group, now)

    @contextmanager
    def _opened(self, calendar_id: str, *, make: bool = False) -> Generator[_Home, None, None]:
        names = calendar_names(self._office)
        name = (names or [_PRIMARY])[0] if calendar_id == _PRIMARY else calendar_id
        if name not in (names or [_PRIMARY]):
            known = ", ".join(names[:10]) or _PRIMARY
            raise ToolError(
                "not_found", f"no calendar has the id {brief(calendar_id)}; there are: {known}"
            )
        with open_calendar(self._office, name, make=make) as folder:
            yield _Home(name, _zone_of(folder), folder)

    @contextmanager
    def _changing(self, home: _Home, event_id: str, etag: str) -> Generator[_Target, None, None]:
        """The event to be changed; what was done to it is written afterwards."""
        if home.folder is None:
            raise _not_found(event_id)
        with hold(home.folder):
            row, event = self._find(home, event_id)
            content = read_file(home.folder, row.place.name)
            try:
                file = IcsFile(content)
                group = file.groups[row.place.at]
            except BROKEN as error:
                raise _changed(event_id) from error
            if group.uid != row.series.uid or (etag and etag != etag_of(content)):
                raise _changed(event_id)
            yield _Target(row, event, file, group)
            write_file(home.folder, row.place.name, file.to_bytes(), new=False)

    def _find(self, home: _Home, event_id: str) -> tuple[Row, Json]:
        if home.folder is None:
            raise _not_found(event_id)
        with self._index.fresh(home.folder, home.name) as rows:
            row = rows.by_id(event_id)
            if row is not None and row.series.master is not None:
                return row, row.series.master
            parts = split(event_id)
            row = rows.by_id(parts[0]) if parts else row
            if row is None or parts is None:
                raise _missing(event_id, rows)
        series: Series = row.series.settled(home.zone)
        event = find_occurrence(series, parts[1], home.zone)
        if event is None:
            raise _not_found(event_id, "the series has no occurrence then")
        return row, event

    def _require_new(self, home: _Home, id: str) -> None:
        assert home.folder is not None
        with self._index.fresh(home.folder, home.name) as rows:
            if rows.by_id(id) is not None:
                raise ToolError("conflict", f"an event with the id {id} is there already")

    def _organizer(self, event: Json) -> Json:
        """Whose event it is, for those who attend; nobody where the office has no address."""
        address = own_address(self._office) if event.get("attendees") else ""
        return {"organizer": {"email": address}} if "@" in address else {}

    def _entry(self, name: str, *, primary: bool) -> Json:
        with open_calendar(self._office, name) as folder:
            title = read_line(folder, "displayname") if folder is not None else ""
            color = read_line(folder, "color") if folder is not None else ""
            zone = _zone_of(folder)
        entry: Json = {
            "kind": "calendar#calendarListEntry",
            "id": name,
            "summary": title or name,
            "timeZone": zone,
            "accessRole": "owner",
            "selected": True,
        }
        if _COLOR.match(color):
            entry["backgroundColor"] = color[:7]
        return entry | {"primary": True} if primary else entry

    def _shown(self, event: Json, home: _Home, file: str, zone: str = "") -> Json:
        path = self._office.absolute() / "calendar" / home.name / file
        link = f"file://{quote(str(path), errors='replace')}"
        # What is floating is in the zone of the calendar, whoever looks at it.
        settled = shown_event(event, home.zone)
        return (shown_event(settled, zone) if zone else settled) | {"htmlLink": link}


def _zone_of(folder: int | None) -> str:
    named = read_line(folder, "timezone") if folder is not None else ""
    return (known_zone(named) if named else "") or machine_zone()


def _zoned(fields: Json, zone: str) -> Json:
    """The fields with a zone for each time that has none: that of the calendar."""
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


def _told(faults: list[str], counting: Counting) -> tuple[str, ...]:
    given_up = [
        f"the series {id} is not shown to its end: its rule takes too many steps; "
        "ask for a shorter time"
        for id in sorted(counting.given_up)
    ]
    told = [*given_up, *faults]
    more = [f"and {len(told) - _MOST_FAULTS} more"] if len(told) > _MOST_FAULTS else []
    return (*told[:_MOST_FAULTS], *more)


def _missing(event_id: str, rows: Rows) -> ToolError:
    for name, faults in rows.faults():
        if name == f"{event_id}.ics":
            return ToolError("workspace_damaged", faults.splitlines()[0])
    return _not_found(event_id)


def _not_found(event_id: str, why: str = "calendar_events lists those that are there") -> ToolError:
    return ToolError("not_found", f"no event has the id {brief(event_id)}; {why}")


def _changed(event_id: str) -> ToolError:
    return ToolError(
        "conflict",
        f"the event {brief(event_id)} was changed meanwhile; read it again, then change it",
    )


def _read_number(page: str) -> int:
    if not (page.isascii() and page.isdigit() and len(page) < 9):
        why = f"{brief(page)} is no token of a page; give the nextPageToken of a list, or none"
        raise ToolError("invalid_input", why, pageToken=why)
    return int(page)

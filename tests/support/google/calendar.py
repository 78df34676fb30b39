"""Google Calendar, played: calendars, events, and series that are expanded by dateutil."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from support.google.state import Asked, Json, Method, Refused, State

__all__ = ("add_calendar", "calendar_methods")

_ID = re.compile(r"[a-v0-9]{5,1024}")
_MOST = 3_000


def add_calendar(state: State, id: str, summary: str, zone: str = "UTC", **more: Any) -> str:
    """Make a calendar, as a person does at Google; its id."""
    state.calendars[id] = {
        "kind": "calendar#calendarListEntry",
        "etag": '"1"',
        "id": id,
        "summary": summary,
        "timeZone": zone,
        "accessRole": "owner",
        "selected": True,
        "defaultReminders": [],
        **more,
    }
    state.events[id] = {}
    return id


def calendar_methods(state: State) -> dict[str, Method]:
    """The methods that the tools use."""
    add_calendar(state, state.owner, state.owner, primary=True)
    fake = _Fake(state)
    return {
        "calendar.calendarList.list": fake.calendars,
        "calendar.events.list": fake.list,
        "calendar.events.get": fake.get,
        "calendar.events.insert": fake.insert,
        "calendar.events.patch": fake.patch,
        "calendar.events.delete": fake.delete,
    }


class _Fake:
    def __init__(self, state: State) -> None:
        self.state = state

    def calendars(self, asked: Asked) -> Json:
        items, more = _cut(list(self.state.calendars.values()), asked, 100)
        return {"kind": "calendar#calendarList", "etag": '"1"', "items": items, **more}

    def list(self, asked: Asked) -> Json:
        calendar, query = self._calendar(asked), asked.query
        if query.get("orderBy") == "startTime" and not query.get("singleEvents"):
            raise Refused(400, "badRequest", "The requested ordering is not available")
        low, high = query.get("timeMin"), query.get("timeMax")
        window = (_moment(low) if low else None, _moment(high) if high else None)
        if window[0] and window[1] and window[1] <= window[0]:
            raise Refused(400, "timeRangeEmpty", "The specified time range is empty.")
        zone = query.get("timeZone") or calendar["timeZone"]
        found = [
            one
            for one in self._listed(calendar, query.get("singleEvents", False), window)
            if _has(one, query.get("q", ""))
        ]
        found.sort(key=lambda one: (_when(one["start"], calendar["timeZone"]), one["id"]))
        items, more = _cut(found, asked, 250)
        return {
            "kind": "calendar#events",
            "summary": calendar["summary"],
            "timeZone": zone,
            "accessRole": "owner",
            "defaultReminders": [],
            "items": [_shown(one, zone) for one in items],
            **more,
        }

    def get(self, asked: Asked) -> Json:
        calendar = self._calendar(asked)
        event = self._event(calendar, asked.path["eventId"])
        return _shown(event, asked.query.get("timeZone") or calendar["timeZone"])

    def insert(self, asked: Asked) -> Json:
        calendar = self._calendar(asked)
        id = asked.body.get("id") or self.state.new_id()
        if not _ID.fullmatch(id):
            raise Refused(400, "invalid", "Invalid resource id value.")
        if id in self.state.events[calendar["id"]]:
            raise Refused(409, "duplicate", "The requested identifier already exists.")
        owner = {"email": self.state.owner, "self": True}
        event: Json = {
            "kind": "calendar#event",
            "id": id,
            "status": "confirmed",
            "htmlLink": f"https://www.google.com/calendar/event?eid={id}",
            "created": _now(),
            "iCalUID": f"{id}@google.com",
            "sequence": 0,
            "reminders": {"useDefault": True},
            "eventType": "default",
            "creator": owner,
            "organizer": owner,
        }
        self._write(calendar, event, _merged(event, asked.body))
        return _shown(event, calendar["timeZone"])

    def patch(self, asked: Asked) -> Json:
        calendar = self._calendar(asked)
        event = self._event(calendar, asked.path["eventId"])
        wanted = asked.headers.get("if-match")
        if wanted and wanted != event["etag"]:
            raise Refused(412, "conditionNotMet", "Precondition Failed")
        if "recurringEventId" in event and asked.body.get("recurrence"):
            raise Refused(400, "invalid", "Recurring event instances cannot be recurring")
        self._write(calendar, event, _merged(event, asked.body))
        return _shown(event, calendar["timeZone"])

    def delete(self, asked: Asked) -> None:
        calendar = self._calendar(asked)
        event = self._event(calendar, asked.path["eventId"])
        if event["status"] == "cancelled":
            raise Refused(410, "deleted", "Resource has been deleted")
        self._write(calendar, event, event | {"status": "cancelled"})

    def _write(self, calendar: Json, event: Json, new: Json) -> None:
        _require(new, calendar["timeZone"])
        for person in new.get("attendees", []):
            person.setdefault("responseStatus", "needsAction")
        new["sequence"] = event["sequence"] + (event["id"] in self.state.events[calendar["id"]])
        event.clear()
        event.update(new, updated=_now(), etag=f'"{self.state.new_id()}"')
        self.state.events[calendar["id"]][event["id"]] = event

    def _calendar(self, asked: Asked) -> Json:
        given = asked.path["calendarId"]
        known = self.state.owner if given == "primary" else given
        if known not in self.state.calendars:
            raise Refused(404, "notFound", "Not Found")
        return self.state.calendars[known]

    def _event(self, calendar: Json, id: str) -> Json:
        held = self.state.events[calendar["id"]]
        if id in held:
            return held[id]
        series = held.get(id.rpartition("_")[0])
        if series is not None and series.get("recurrence"):
            wanted = _stamp_time(id.rpartition("_")[2])
            for one in _instances(series, calendar["timeZone"], wanted):
                if one["id"] == id:
                    return one
        raise Refused(404, "notFound", "Not Found")

    def _listed(
        self, calendar: Json, single: bool, window: tuple[datetime | None, datetime | None]
    ) -> Iterator[Json]:
        zone = calendar["timeZone"]
        held = self.state.events[calendar["id"]]
        for event in held.values():
            series = held.get(event.get("recurringEventId", ""), {})
            if "cancelled" in (event["status"], series.get("status")):
                continue
            if not event.get("recurrence"):
                if _overlaps(event, window, zone):
                    yield event
                continue
            inside = (
                one
                for one in _instances(event, zone, window[1])
                if one["id"] not in held and _overlaps(one, window, zone)
            )
            if single:
                yield from inside
            elif next(inside, None) is not None:
                yield event


def _instances(series: Json, zone: str, until: datetime | None) -> Iterator[Json]:
    start = series["start"]
    own = ZoneInfo(start.get("timeZone") or zone)
    days = "date" in start
    begin = _when(start, zone).astimezone(ZoneInfo(zone) if days else own)
    length = _when(series["end"], zone) - _when(start, zone)
    lines = [_plain(line, days) for line in series["recurrence"]]
    rule = rrulestr("\n".join(lines), dtstart=begin.replace(tzinfo=None) if days else begin)
    for at in islice(rule, _MOST):
        local = at.replace(tzinfo=ZoneInfo(zone)) if days else at
        if until is not None and local > until:
            return
        stamp = f"{at:%Y%m%d}" if days else f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        first = _point(at, days, start)
        event = {name: value for name, value in series.items() if name != "recurrence"}
        ended = at + length if days else (at.astimezone(UTC) + length).astimezone(own)
        yield event | {
            "id": f"{series['id']}_{stamp}",
            "recurringEventId": series["id"],
            "originalStartTime": first,
            "start": first,
            "end": _point(ended, days, start),
        }


def _plain(line: str, days: bool) -> str:
    """A line as dateutil takes it: days are midnights there, and times are in UTC."""
    if days:
        return re.sub(r"(EXDATE|RDATE);VALUE=DATE:", r"\1:", line)
    found = re.fullmatch(r"(EXDATE|RDATE);TZID=([^:]+):(.*)", line)
    if found is None:
        return line
    local = (datetime.strptime(one, "%Y%m%dT%H%M%S") for one in found[3].split(","))
    moments = (one.replace(tzinfo=_known(found[2])).astimezone(UTC) for one in local)
    return f"{found[1]}:{','.join(f'{one:%Y%m%dT%H%M%SZ}' for one in moments)}"


def _point(at: datetime, days: bool, start: Json) -> Json:
    if days:
        return {"date": f"{at:%Y-%m-%d}"}
    return {"dateTime": at.isoformat(), "timeZone": start["timeZone"]}


def _require(event: Json, zone: str) -> None:
    for name in ("start", "end"):
        point = event.get(name) or {}
        if not point.get("date") and not point.get("dateTime"):
            raise Refused(400, "required", f"Missing {name} time.")
        if point.get("date") and point.get("dateTime"):
            raise Refused(400, "invalid", f"Invalid {name} time.")
        if point.get("timeZone"):
            _known(point["timeZone"])
        moment = point.get("dateTime")
        if moment and _parsed(moment).tzinfo is None and not point.get("timeZone"):
            raise Refused(400, "required", f"Missing time zone definition for {name} time.")
        if moment and event.get("recurrence") and not point.get("timeZone"):
            raise Refused(400, "required", f"Missing time zone definition for {name} time.")
        if moment:
            point.setdefault("timeZone", zone)
    if ("date" in event["start"]) != ("date" in event["end"]):
        raise Refused(400, "invalid", "Start and end times must either both be date or dateTime.")
    start, end = _when(event["start"], zone), _when(event["end"], zone)
    if end < start or (end == start and "date" in event["start"]):
        raise Refused(400, "timeRangeEmpty", "The specified time range is empty.")
    if event.get("recurrence"):
        try:
            next(_instances(event, zone, None), None)
        except ValueError as error:
            raise Refused(400, "invalid", f"Invalid recurrence rule: {error}") from error


def _merged(old: Json, changes: Json) -> Json:
    """Patch semantics: objects are merged, lists replaced, and null takes a field away."""
    new = dict(old)
    for name, value in changes.items():
        if value is None or value == []:
            new.pop(name, None)
        elif isinstance(value, dict):
            new[name] = _merged(new.get(name, {}), value)
        else:
            new[name] = value
    return new


def _overlaps(event: Json, window: tuple[datetime | None, datetime | None], zone: str) -> bool:
    start, end = _when(event["start"], zone), _when(event["end"], zone)
    low, high = window
    return (low is None or end > low) and (high is None or start < high)


def _when(point: Json, zone: str) -> datetime:
    if point.get("date"):
        midnight = datetime.combine(date.fromisoformat(point["date"]), time())
        return midnight.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    moment = _parsed(point["dateTime"])
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(point["timeZone"]))
    return moment.astimezone(UTC)


def _shown(event: Json, zone: str) -> Json:
    """Times are shown in the zone that is asked for; the zone of the event is said beside."""
    shown = dict(event)
    for name in ("start", "end", "originalStartTime"):
        point = shown.get(name, {})
        if point.get("dateTime"):
            local = _when(point, zone).astimezone(_known(zone))
            shown[name] = point | {"dateTime": local.isoformat().replace("+00:00", "Z")}
    return shown


def _stamp_time(stamp: str) -> datetime:
    try:
        form = "%Y%m%dT%H%M%SZ" if "T" in stamp else "%Y%m%d"
        return datetime.strptime(stamp, form).replace(tzinfo=UTC) + timedelta(days=1)
    except ValueError:
        raise Refused(404, "notFound", "Not Found") from None


def _has(event: Json, query: str) -> bool:
    people = [*event.get("attendees", []), event.get("organizer", {})]
    texts = [event.get(name, "") for name in ("summary", "description", "location")]
    texts += [one.get(name, "") for one in people for name in ("email", "displayName")]
    text = "\n".join(texts).casefold()
    return all(word in text for word in query.casefold().split())


def _known(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (LookupError, ValueError, OSError):
        raise Refused(400, "invalid", f"Invalid time zone: {zone}") from None


def _moment(text: str) -> datetime:
    return _parsed(text).astimezone(UTC)


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise Refused(400, "invalid", f"Invalid value for: {text}") from None


def _cut(items: list[Json], asked: Asked, size: int) -> tuple[list[Json], Json]:
    token = asked.query.get("pageToken", "0")
    if not token.isdigit():
        raise Refused(400, "invalid", "Invalid page token value.")
    start, limit = int(token), asked.query.get("maxResults", size)
    more = {"nextPageToken": str(start + limit)} if len(items) > start + limit else {}
    return items[start : start + limit], more


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"

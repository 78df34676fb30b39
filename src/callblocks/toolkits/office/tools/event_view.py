"""Events as shown to a model, and to a person who approves a change.

Crew meeting, 2026-11-16T09:00:00+01:00 to 09:45 (Europe/Berlin), with 3 people
- location: Old quay
+ location: Town hall
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.times import Time, find_zone, is_day, point_of
from callblocks.toolkits.office.tools.drive_view import cut

__all__ = (
    "change_text",
    "event_text",
    "shown_calendar",
    "shown_event",
    "shown_time",
    "told_text",
)

_EVENT = (
    *("id", "status", "summary", "description", "location", "start", "end", "recurrence"),
    *("recurringEventId", "originalStartTime", "organizer", "attendees", "transparency"),
    *("visibility", "hangoutLink", "htmlLink"),
)
_CALENDAR = ("id", "summary", "description", "timeZone", "primary", "accessRole")
_PERSON = ("email", "displayName", "responseStatus", "optional", "self")
_FIELDS = (
    *("summary", "start", "end", "recurrence", "location", "description", "attendees"),
    *("reminders", "status"),
)
_TIMES = ("start", "end", "originalStartTime")
_LONGEST = 5_000


def shown_event(event: Json, full: bool, zone: str = "") -> Json:
    """Return the relevant fields of an event, with times in its own zone or in `zone`; or all."""
    if full:
        return event
    shown = {name: event[name] for name in _EVENT if event.get(name)}
    shown |= {name: shown_time(shown[name], zone) for name in _TIMES if name in shown}
    if "attendees" in shown:
        shown["attendees"] = [_chosen(one, _PERSON) for one in shown["attendees"]]
    if "organizer" in shown:
        shown["organizer"] = _chosen(shown["organizer"], _PERSON)
    overrides = event.get("reminders", {}).get("overrides")
    return shown | {"reminders": {"overrides": overrides}} if overrides else shown


def shown_time(point: Json, zone: str = "") -> Json:
    """Return a start or end with the offset of its zone, or of `zone`."""
    name = zone or str(point.get("timeZone") or "")
    if is_day(point) or not name:
        return point
    try:
        moment = datetime.fromisoformat(point["dateTime"]).astimezone(find_zone(name))
    # A zone that a file defines itself, or a time at the end of the calendar.
    except (ToolError, KeyError, ValueError, OverflowError):
        return point
    said = point_of(Time(moment, name))
    return said | {"dateTime": said["dateTime"].replace("+00:00", "Z")} if name == "UTC" else said


def shown_calendar(calendar: Json, full: bool) -> Json:
    """Return the relevant fields of a calendar, or all."""
    return calendar if full else _chosen(calendar, _CALENDAR)


def event_text(event: Json) -> str:
    """Describe an event in one line: title, time, number of attendees."""
    title = event.get("summary") or "(no title)"
    people = len(event.get("attendees", []))
    told = f", with {people} {'person' if people == 1 else 'people'}" if people else ""
    series = ", the whole series" if event.get("recurrence") else ""
    series = ", this occurrence alone" if event.get("recurringEventId") else series
    return f"{title}, {_when(event)}{series}{told}"


def change_text(old: Json, new: Json) -> str:
    """Describe the fields that differ, before and after."""
    lines: list[str] = []
    for name in _FIELDS:
        if name not in new or old.get(name) == new[name]:
            continue
        before, after = _value(name, old.get(name)), _value(name, new[name])
        if before != after:
            lines += [
                f"{sign} {name}: {text}" for sign, text in (("-", before), ("+", after)) if text
            ]
    return "\n".join(lines)


def told_text(people: list[Json], notify: str, invites: bool) -> str:
    """Describe who is notified of a change, by address."""
    addresses = dict.fromkeys(str(one.get("email", "")) for one in people)
    if not addresses or notify == "none":
        return "nobody is told"
    if not invites:
        return "nobody is told: this office sends no invitations"
    which = "those outside of" if notify == "externalOnly" else "all of"
    return f"an email goes to {which}: {', '.join(addresses)}"


def _chosen(value: Json, names: tuple[str, ...]) -> Json:
    return {name: value[name] for name in names if name in value}


def _when(event: Json) -> str:
    start, end = event.get("start", {}), event.get("end", {})
    if is_day(start):
        last = date.fromisoformat(end.get("date") or start["date"]) - timedelta(days=1)
        days = str(start["date"])
        return days if last.isoformat() <= days else f"{days} to {last.isoformat()}"
    first, last = _moment(start), _moment(end)
    if first[16:] == last[16:]:
        first = first[:16]
    return f"{first} to {last[11:] if first[:10] == last[:10] else last}"


def _value(name: str, value: Any) -> str:
    if not value:
        return ""
    if name in ("start", "end"):
        text = _moment(value)
    elif name == "attendees":
        text = ", ".join(map(_person, value))
    elif name == "reminders":
        text = _reminders(value)
    else:
        text = " ".join(map(str, value)) if name == "recurrence" else str(value)
    return cut(text, _LONGEST)


def _person(person: Json) -> str:
    named = f"{person['displayName']} " if person.get("displayName") else ""
    return f"{named}<{person.get('email', '')}>{' (optional)' * bool(person.get('optional'))}"


def _reminders(value: Json) -> str:
    if value.get("useDefault"):
        return "as the calendar has them"
    return ", ".join(f"{one['minutes']} min before" for one in value.get("overrides", ()))


def _moment(point: Json) -> str:
    """Return a time as local time of the event."""
    if is_day(point):
        return str(point["date"])
    said = shown_time(point)
    if "dateTime" not in said:
        return "(no time)"
    moment = datetime.fromisoformat(said["dateTime"])
    offset = moment.isoformat(timespec="minutes")[16:]
    seconds = f":{moment:%S}" if moment.second else ""
    return f"{moment:%Y-%m-%d %H:%M}{seconds} ({point.get('timeZone') or offset})"

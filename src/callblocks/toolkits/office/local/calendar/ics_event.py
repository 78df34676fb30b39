"""Conversion between a VEVENT and Google's event.

Unchanged properties stay as they were written, including those that Google does not have:
X-properties, categories, alarms with a sound. Text goes through the iCalendar library, which
escapes it, so no text can end the event that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

from icalendar import Alarm, Event, vCalAddress, vRecur, vText

from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.times import known_zone, place, read_time, split_line

__all__ = (
    "compact",
    "every",
    "instant",
    "local_time",
    "point",
    "point_of_instant",
    "read_alarms",
    "read_event",
    "read_people",
    "read_person",
    "read_point",
    "recurrence_lines",
    "shown",
    "to_utc",
    "write_alarms",
    "write_fields",
    "write_lines",
    "write_organizer",
    "write_people",
    "written",
)

# --- Times of events: in Google's form, in iCalendar's form, and as instants ---
#
# {"date": "2026-11-16"}                                 DTSTART;VALUE=DATE:20261116
# {"dateTime": "…T09:00:00+01:00", "timeZone": "Europe/Berlin"}
#                                                        DTSTART;TZID=Europe/Berlin:20261116T090000
# {"dateTime": "2026-11-16T09:00:00"}                    floating: in the zone of the calendar


_HOUR = timedelta(hours=1)


def point(value: object, tzid: str) -> Json:
    """Convert a DTSTART or DTEND to Google's form; `ValueError` if it is no time."""
    if isinstance(value, datetime):
        return _point_of_time(value, tzid)
    if isinstance(value, date):
        return {"date": value.isoformat()}
    raise ValueError(f"{value!r} is no time")


def _point_of_time(value: datetime, tzid: str) -> Json:
    offset = value.utcoffset()
    zone = known_zone(tzid) if tzid else ""
    if zone:
        local = value.replace(tzinfo=place(zone))
        return {"dateTime": local.isoformat(timespec="seconds"), "timeZone": zone}
    if offset is None:
        return {"dateTime": value.isoformat(timespec="seconds")}
    # A zone that the file defines itself: only its offset at that time can be expressed.
    said = value.replace(tzinfo=timezone(offset)).isoformat(timespec="seconds")
    return {"dateTime": said, "timeZone": _fixed(offset)}


def _fixed(offset: timedelta) -> str:
    if not offset or offset % _HOUR or abs(offset) > 12 * _HOUR:
        return "UTC"
    # POSIX names have the opposite sign: Etc/GMT-1 is one hour east of Greenwich.
    return f"Etc/GMT{-(offset // _HOUR):+d}"


def written(said: Json) -> date | datetime:
    """Return the value that the iCalendar library writes for a point."""
    if said.get("date"):
        return date.fromisoformat(said["date"])
    value = datetime.fromisoformat(said["dateTime"])
    zone = str(said.get("timeZone") or "")
    if value.tzinfo is None:
        return value.replace(tzinfo=_tz(zone)) if zone else value
    return value.astimezone(_tz(zone or "UTC"))


def _tz(zone: str) -> Any:
    return UTC if zone == "UTC" else place(zone)


def local_time(said: Json, zone: str) -> datetime:
    """Return a point as naive local time of its own zone, or of `zone`; a day is midnight."""
    if said.get("date"):
        return datetime.combine(date.fromisoformat(said["date"]), time())
    value = datetime.fromisoformat(said["dateTime"])
    if value.tzinfo is None:
        return value
    return value.astimezone(place(said.get("timeZone") or zone)).replace(tzinfo=None)


def instant(said: Json, zone: str) -> datetime:
    """Return a point as an instant in UTC; a day starts at midnight in `zone`."""
    if not said.get("date"):
        value = datetime.fromisoformat(said["dateTime"])
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        zone = said.get("timeZone") or zone
    return to_utc(local_time(said, zone), zone)


def to_utc(local: datetime, zone: str) -> datetime:
    """Convert local time to UTC; a time in a DST gap uses the offset before the change."""
    try:
        return local.replace(tzinfo=place(zone)).astimezone(UTC)
    except OverflowError:  # within a day of the ends of the calendar
        return local.replace(tzinfo=UTC)


def point_of_instant(when: datetime, zone: str) -> Json:
    """Return an instant as a point in a zone."""
    return {
        "dateTime": when.astimezone(place(zone)).isoformat(timespec="seconds"),
        "timeZone": zone,
    }


def shown(said: Json, zone: str) -> Json:
    """Return a point with the offset of `zone`, as Google shows it; its own zone name stays."""
    if said.get("date"):
        return {"date": said["date"]}
    try:
        local = instant(said, zone).astimezone(place(zone))
    except OverflowError:
        return said
    return {
        "dateTime": local.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "timeZone": said.get("timeZone") or zone,
    }


def compact(said: Json, zone: str) -> str:
    """Return the original start as in an occurrence's id: `20261116T080000Z`, `20261116`."""
    if said.get("date"):
        return str(said["date"]).replace("-", "")
    plain = instant(said, zone).isoformat(timespec="seconds")[:19]
    return plain.replace("-", "").replace(":", "") + "Z"


# --- Reminders: `VALARM` with a time before the start, and Google's form ---
#
#     {"useDefault": false, "overrides": [{"method": "popup", "minutes": 10}]}

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


_METHODS = {"DISPLAY": "popup", "AUDIO": "popup", "EMAIL": "email"}
_MINUTE = timedelta(minutes=1)


def read_alarms(event: Event) -> Json:
    """Return the reminders that are some minutes before the start."""
    overrides = [said for part in _alarms(event) if (said := _read(part))]
    return {"useDefault": False, "overrides": overrides} if overrides else {"useDefault": False}


def write_alarms(event: Event, reminders: Any) -> None:
    """Replace the reminders that `read_alarms` returns; others stay."""
    event.subcomponents[:] = [
        part for part in event.subcomponents if not (isinstance(part, Alarm) and _read(part))
    ]
    for one in (reminders or {}).get("overrides") or []:
        alarm = Alarm()
        alarm.add("action", "EMAIL" if one.get("method") == "email" else "DISPLAY")
        alarm.add("description", "Reminder")
        if one.get("method") == "email":
            alarm.add("summary", "Reminder")
        alarm.add("trigger", timedelta(minutes=-int(one["minutes"])))
        event.add_component(alarm)


def _alarms(event: Event) -> list[Alarm]:
    return [part for part in event.subcomponents if isinstance(part, Alarm)]


def _read(alarm: Alarm) -> Json:
    trigger = alarm.get("TRIGGER")
    before = getattr(trigger, "dt", None)
    method = _METHODS.get(str(alarm.get("ACTION", "")).upper())
    if method is None or not isinstance(before, timedelta) or before > timedelta():
        return {}
    if str(trigger.params.get("RELATED", "START")).upper() != "START":
        return {}
    return {"method": method, "minutes": -before // _MINUTE}


# --- Attendees: `ATTENDEE;CN=Ada;PARTSTAT=ACCEPTED:mailto:…`, and Google's form ---
#
#     {"email": "ada@example.org", "displayName": "Ada", "responseStatus": "accepted"}

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


_ANSWERS = {
    "NEEDS-ACTION": "needsAction",
    "ACCEPTED": "accepted",
    "DECLINED": "declined",
    "TENTATIVE": "tentative",
}
_STATES = {answer: state for state, answer in _ANSWERS.items()}
# Characters that a parameter value cannot hold.
_UNSAYABLE = re.compile('["\x00-\x1f\x7f]')


def read_person(found: Any) -> Json:
    """Return the person of an ORGANIZER or ATTENDEE; {} if it names nobody."""
    if found is None or isinstance(found, list):
        return {}
    address = str(found)
    email = address[7:] if address[:7].lower() == "mailto:" else address
    if not email:
        return {}
    name = _parameter(found, "CN")
    return {"email": email, "displayName": name} if name and name != email else {"email": email}


def read_people(found: list[Any]) -> list[Json]:
    """Return the attendees with their answers."""
    people: list[Json] = []
    for one in found:
        person = read_person(one)
        if not person:
            continue
        if _parameter(one, "ROLE").upper() == "OPT-PARTICIPANT":
            person["optional"] = True
        if _parameter(one, "CUTYPE").upper() in ("RESOURCE", "ROOM"):
            person["resource"] = True
        state = _parameter(one, "PARTSTAT").upper() or "NEEDS-ACTION"
        person["responseStatus"] = _ANSWERS.get(state, "needsAction")
        people.append(person)
    return people


def write_people(event: Event, people: Any) -> None:
    """Replace the attendees; those who stay keep their other parameters."""
    found = event.pop("ATTENDEE", None) or []
    known = {
        read_person(one).get("email", "").casefold(): one
        for one in (found if isinstance(found, list) else [found])
    }
    for person in people or []:
        old = known.get(str(person["email"]).casefold())
        event.add("ATTENDEE", _address(person, old), encode=False)


def write_organizer(event: Event, person: Any) -> None:
    """Set the organizer."""
    event.pop("ORGANIZER", None)
    if person:
        event.add("ORGANIZER", vCalAddress(f"mailto:{person['email']}"), encode=False)


def _address(person: Json, old: Any) -> vCalAddress:
    address = vCalAddress(f"mailto:{person['email']}")
    if old is not None:
        address.params.update(old.params)
    name = _UNSAYABLE.sub(" ", str(person.get("displayName") or "")).strip()
    if name:
        address.params["CN"] = vText(name)
    address.params["PARTSTAT"] = vText(
        _STATES.get(person.get("responseStatus", ""), "NEEDS-ACTION")
    )
    address.params["ROLE"] = vText(
        "OPT-PARTICIPANT" if person.get("optional") else "REQ-PARTICIPANT"
    )
    return address


def _parameter(found: Any, name: str) -> str:
    value = found.params.get(name, "")
    return str(value[0] if isinstance(value, list) and value else value)


# --- Conversion between a VEVENT and Google's event ---

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false


_TEXTS = ("summary", "description", "location")
_STATUS = {"CONFIRMED": "confirmed", "TENTATIVE": "tentative", "CANCELLED": "cancelled"}
_VISIBILITY = {"PUBLIC": "public", "PRIVATE": "private", "CONFIDENTIAL": "confidential"}
_AGAIN = ("RRULE", "RDATE", "EXDATE")


def every(event: Event, name: str) -> list[Any]:
    """Return all properties of one name."""
    found = event.get(name)
    if found is None:
        return []
    return list(found) if isinstance(found, list) else [found]


def read_point(event: Event, name: str) -> Json | None:
    """Return a time of an event in Google's form, or `None`."""
    found = every(event, name)
    if not found:
        return None
    tzid = str(found[0].params.get("TZID", ""))
    return point(found[0].dt, tzid)


def read_event(event: Event) -> Json:
    """Return the event without data of its file; `ValueError` if it has no start."""
    start = read_point(event, "DTSTART")
    if start is None:
        raise ValueError("it has no DTSTART")
    said: Json = {
        "kind": "calendar#event",
        "status": _STATUS.get(_text(event, "STATUS").upper(), "confirmed"),
        "start": start,
        "end": _end(event, start),
        "sequence": _number(event, "SEQUENCE"),
        "eventType": "default",
    }
    said |= {name: text for name in _TEXTS if (text := _text(event, name))}
    lines = recurrence_lines(event)
    if lines:
        said["recurrence"] = lines
    if _text(event, "TRANSP").upper() == "TRANSPARENT":
        said["transparency"] = "transparent"
    visibility = _VISIBILITY.get(_text(event, "CLASS").upper())
    if visibility and visibility != "public":
        said["visibility"] = visibility
    organizer = read_person(event.get("ORGANIZER"))
    if organizer:
        said["organizer"] = organizer
    people = read_people(every(event, "ATTENDEE"))
    if people:
        said["attendees"] = people
    said["reminders"] = read_alarms(event)
    return said | _stamps(event)


def write_fields(event: Event, fields: Json) -> None:
    """Write fields into a VEVENT; `None` removes a field."""
    for name, value in fields.items():
        if name in _WRITERS:
            _WRITERS[name](event, value)


def write_lines(event: Event, lines: list[str] | None) -> None:
    """Replace the recurrence lines."""
    for name in (*_AGAIN, "EXRULE"):
        event.pop(name, None)
    for line in lines or []:
        name, parameters, value = split_line(line)
        if name == "RRULE":
            event.add(name, vRecur.from_ical(value))
        else:
            event.add(name, _listed(value, parameters.get("TZID", "")))


def recurrence_lines(event: Event) -> list[str]:
    """Return the recurrence lines."""
    lines: list[str] = []
    for name in _AGAIN:
        for found in every(event, name):
            value = found.to_ical().decode()
            parameters = found.params.to_ical().decode() if found.params else ""
            lines.append(f"{name}{';' if parameters else ''}{parameters}:{value}")
    return lines


def _listed(value: str, tzid: str) -> list[date | datetime]:
    times = [read_time(one, "recurrence") for one in value.split(",")]
    if not tzid:
        return [one.value for one in times]
    named = (written({"dateTime": one.value.isoformat(), "timeZone": tzid}) for one in times)
    return list(named)


def _end(event: Event, start: Json) -> Json:
    end = read_point(event, "DTEND")
    if end is not None and bool(end.get("date")) == bool(start.get("date")):
        return end
    length = getattr(event.get("DURATION"), "dt", None)
    if not isinstance(length, timedelta):
        length = timedelta(days=1) if "date" in start else timedelta()
    if "date" in start:
        days = max(length.days, 1)
        return {"date": (date.fromisoformat(start["date"]) + timedelta(days=days)).isoformat()}
    moment = datetime.fromisoformat(start["dateTime"])
    value = moment + length
    if moment.tzinfo is not None:
        # A DURATION is elapsed time (RFC 5545, 3.3.6): it is added in UTC, across clock changes.
        value = (moment.astimezone(UTC) + length).astimezone(UTC)
    return start | {"dateTime": value.isoformat(timespec="seconds")}


def _text(event: Event, name: str) -> str:
    found = every(event, name)
    return str(found[0]) if found else ""


def _number(event: Event, name: str) -> int:
    text = _text(event, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _stamps(event: Event) -> Json:
    said: Json = {}
    for field, names in (("created", ("CREATED",)), ("updated", ("LAST-MODIFIED", "DTSTAMP"))):
        for name in names:
            value = getattr(event.get(name), "dt", None)
            if isinstance(value, datetime) and field not in said:
                aware = value if value.tzinfo else value.replace(tzinfo=UTC)
                plain = aware.astimezone(UTC).isoformat(timespec="milliseconds")
                said[field] = plain.replace("+00:00", "Z")
    return said


def _write_text(name: str) -> Callable[[Event, Any], None]:
    def write(event: Event, value: Any) -> None:
        event.pop(name, None)
        if value:
            event.add(name, str(value))

    return write


def _write_start(event: Event, value: Any) -> None:
    event.pop("DTSTART", None)
    event.add("DTSTART", written(value))


def _write_end(event: Event, value: Any) -> None:
    event.pop("DTEND", None)
    # DTEND and DURATION exclude each other (RFC 5545, 3.6.1).
    event.pop("DURATION", None)
    event.add("DTEND", written(value))


def _write_status(event: Event, value: Any) -> None:
    event.pop("STATUS", None)
    event.add("STATUS", str(value or "confirmed").upper())


def _write_transparency(event: Event, value: Any) -> None:
    event.pop("TRANSP", None)
    event.add("TRANSP", str(value or "opaque").upper())


def _write_visibility(event: Event, value: Any) -> None:
    event.pop("CLASS", None)
    if value and value != "default":
        event.add("CLASS", str(value).upper())


_WRITERS: dict[str, Callable[[Event, Any], None]] = {
    **{name: _write_text(name) for name in _TEXTS},
    "start": _write_start,
    "end": _write_end,
    "status": _write_status,
    "transparency": _write_transparency,
    "visibility": _write_visibility,
    "recurrence": write_lines,
    "organizer": write_organizer,
    "attendees": write_people,
    "reminders": write_alarms,
}
